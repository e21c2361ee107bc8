package bfd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/bfd"
	"github.com/fairlead/fairlead/test/wait"
)

// asHost in the environment makes the test binary a host with a BFD engine.
const asHost = "FAIRLEAD_BFD_TEST_HOST"

// TestMain lets the test start itself again inside a network namespace: sockets
// belong to the namespace of the thread that opens them, and Go has many threads.
func TestMain(m *testing.M) {
	if _, child := os.LookupEnv(asHost); child {
		if err := host(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if _, child := os.LookupEnv(asSender); child {
		if err := sendDatagram(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// order is one line that a host reads.
type order struct {
	// Do is "add", "profile", "close" or "status".
	Do        string
	Peer      netip.Addr
	Local     netip.Addr
	Interface string
	Multihop  bool
	Profile   bfd.Profile
}

// answer is one line that a host writes: what an order led to, or a change.
type answer struct {
	Peer    netip.Addr
	Change  string
	Failed  bool
	At      time.Time
	Error   string
	Status  bfd.Status
	Metrics map[string]float64
}

// host obeys orders until its input ends.
func host(in io.Reader, out io.Writer) error {
	registry := prometheus.NewRegistry()
	engine, err := bfd.New(bfd.Options{Registerer: registry, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	defer engine.Close()
	var mu sync.Mutex
	say := func(a answer) {
		mu.Lock()
		defer mu.Unlock()
		line, err := json.Marshal(a)
		if err == nil {
			fmt.Fprintln(out, string(line))
		}
	}
	sessions := map[netip.Addr]*bfd.Session{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		a := answer{Peer: o.Peer}
		switch o.Do {
		case "add":
			s, err := engine.Add(bfd.Config{
				Peer: o.Peer, Local: o.Local, Interface: o.Interface, Multihop: o.Multihop, Profile: o.Profile,
				Changed: func(c bfd.Change) {
					say(answer{Peer: o.Peer, Change: fmt.Sprintf("%v→%v %v", c.From, c.To, c.Diag), Failed: c.Failed(), At: time.Now()})
				},
			})
			if err != nil {
				a.Error = err.Error()
				break
			}
			sessions[o.Peer] = s
		case "profile":
			if err := sessions[o.Peer].SetProfile(o.Profile); err != nil {
				a.Error = err.Error()
			}
		case "close":
			sessions[o.Peer].Close()
		case "status":
			if s := sessions[o.Peer]; s != nil {
				a.Status = s.Status()
			}
			if a.Metrics, err = gather(registry); err != nil {
				return err
			}
		}
		say(a)
	}
	return lines.Err()
}

func gather(g prometheus.Gatherer) (map[string]float64, error) {
	families, err := g.Gather()
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out, nil
}

// peerHost is a running host.
type peerHost struct {
	t       *testing.T
	input   io.WriteCloser
	answers chan answer
	changes chan answer
	killed  bool
	process *os.Process
}

// start runs a host in a network namespace.
func start(t *testing.T, ns string) *peerHost {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	// Without any capability: none is needed.
	cmd := exec.Command("nsenter", "--net=/run/netns/"+ns, "setpriv", "--bounding-set=-all", self)
	cmd.Env = append(os.Environ(), asHost+"=1")
	cmd.Stderr = t.Output()
	h := &peerHost{t: t, answers: make(chan answer, 1), changes: make(chan answer, 1000)}
	h.input, err = cmd.StdinPipe()
	must(t, err)
	output, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	h.process = cmd.Process
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(h.answers)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			var a answer
			if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
				t.Errorf("host says %q: %v", lines.Text(), err)
				return
			}
			if a.Change != "" {
				h.changes <- a
			} else {
				h.answers <- a
			}
		}
	}()
	t.Cleanup(func() {
		h.input.Close()
		<-read
		if err := cmd.Wait(); err != nil && !h.killed {
			t.Errorf("host in %s: %v", ns, err)
		}
	})
	return h
}

// kill ends the host as a crash would.
func (h *peerHost) kill() {
	h.t.Helper()
	h.killed = true
	must(h.t, h.process.Kill())
}

func (h *peerHost) do(o order) answer {
	h.t.Helper()
	line, err := json.Marshal(o)
	must(h.t, err)
	if _, err := h.input.Write(append(line, '\n')); err != nil {
		h.t.Fatal(err)
	}
	a, open := <-h.answers
	if !open {
		h.t.Fatal("the host ended")
	}
	return a
}

func (h *peerHost) status(peer string) answer {
	h.t.Helper()
	return h.do(order{Do: "status", Peer: netip.MustParseAddr(peer)})
}

// becomes polls until the session with peer satisfies ok.
func (h *peerHost) becomes(peer, what string, ok func(bfd.Status) bool) bfd.Status {
	h.t.Helper()
	var st bfd.Status
	eventually(h.t, func() string {
		if st = h.status(peer).Status; !ok(st) {
			return fmt.Sprintf("the session with %s is not %s: %+v", peer, what, st)
		}
		return ""
	})
	return st
}

func isUp(st bfd.Status) bool { return st.State == bfd.Up && st.PeerState == bfd.Up }

// changed returns the changes since the last call.
func (h *peerHost) changed() (all []answer) {
	for {
		select {
		case a := <-h.changes:
			all = append(all, a)
		default:
			return all
		}
	}
}

// eventually polls until check returns "", and ends the test otherwise.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	wait.Poll{Limit: 15 * time.Second}.For(t, "the session", func() error { return wait.Reason(check()) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
