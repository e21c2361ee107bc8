package process_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// takenOver is what a process does in which an attacker runs code.
func takenOver(how string) {
	switch how {
	case "leaves one behind", "leaves one apart":
		spawn("stays", how == "leaves one apart")
		os.Exit(3)
	case "haunts":
		spawn("reports later", true)
		_ = os.Stdin.Close() // the next order does not reach it
		<-time.After(time.Hour)
	case "reports later":
		for parent := os.Getppid(); os.Getppid() == parent; {
			<-time.After(time.Millisecond)
		}
		for { // until the pipe is closed
			fmt.Fprintln(os.Stdout, `{"state":"Established","peerASN":2}`)
			<-time.After(time.Millisecond)
		}
	case "chatters":
		for i := 0; ; i++ {
			fmt.Fprintf(os.Stdout, `{"state":"Idle","problem":"%d"}`+"\n", i)
		}
	case "logs":
		for range loggedLines {
			fmt.Fprintf(os.Stderr, `{"level":"INFO","msg":%q}`+"\n", strings.Repeat("x", 100))
		}
		<-time.After(time.Hour)
	default:
		<-time.After(time.Hour)
	}
}

// loggedLines is what a process logs that has much to say.
const loggedLines = 20_000

// spawn starts a process of another kind, which has this one's output.
func spawn(how string, apart bool) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{asProcess + "=" + how}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// living returns the processes of a kind that this test's processes started.
func living(t *testing.T, how string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		var pid int
		environ, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(environ, []byte(asProcess+"="+how+"\x00")) {
			continue // it may just have ended
		}
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func alone() bgp.Session {
	return bgp.Session{Peer: bgp.Peer{Name: "tor", MyASN: 1, PeerASN: 2, Address: netip.MustParseAddr("127.0.0.1"), Port: 9}}
}

// TestGrandchildren: a process that started others, which hold its output open,
// is started again all the same, and those that stayed in its group end with it.
func TestGrandchildren(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"leaves one behind", "leaves one apart"} {
		t.Run(how, func(t *testing.T) {
			n := newNode(t, how)
			t.Cleanup(func() {
				for _, pid := range living(t, "stays") {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
				}
			})
			n.add(alone())
			st, err := n.becomes("tor", "told to have failed twice", func(st bgp.Status) bool { return st.Failures >= 2 })
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(st.Problem, "exit status 3") {
				t.Errorf("status %+v", st)
			}
			n.Close(true, patience)
			if left := living(t, "stays"); how == "leaves one behind" && len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

// TestLateReports: what a process left behind reports after its end counts for
// nothing.
func TestLateReports(t *testing.T) {
	t.Parallel()
	n := newNode(t, "haunts")
	n.add(alone())
	_, err := n.becomes("tor", "told to have failed twice", func(st bgp.Status) bool {
		n.metric("fairlead_lb_bgp_process_up") // which asks it
		if st.Up() {
			t.Errorf("an ended process reported %+v", st)
		}
		return st.Failures >= 2 || t.Failed()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFloodOfReports: a process that reports without a pause is ended, and the
// reason is told.
func TestFloodOfReports(t *testing.T) {
	t.Parallel()
	n := newNode(t, "chatters")
	n.add(alone())
	st, err := n.becomes("tor", "told to have failed", func(st bgp.Status) bool { return st.Failures >= 1 })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(st.Problem, "it reports more than") {
		t.Errorf("status %+v", st)
	}
}

// TestFloodOfLog: of what a process logs without a pause, most is dropped, which
// is counted and told once.
func TestFloodOfLog(t *testing.T) {
	t.Parallel()
	var out lines
	n := newLoggingNode(t, "logs", &out)
	n.add(alone())
	_, err := n.becomes("tor", "heard in full", func(bgp.Status) bool {
		return int(n.metric("fairlead_lb_bgp_process_dropped_lines_total"))+out.count() >= loggedLines
	})
	if err != nil {
		t.Fatal(err, out.count())
	}
	told := 0
	for line := range strings.Lines(out.String()) {
		var entry struct{ Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(entry.Msg, "dropped") {
			told++
		}
	}
	if out.count() > loggedLines/2 || told != 1 {
		t.Errorf("of %d lines, %d are logged; that others are not is told %d times", loggedLines, out.count(), told)
	}
}

// lines are what was logged.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.String()
}

func (l *lines) count() int { return strings.Count(l.String(), "\n") }
