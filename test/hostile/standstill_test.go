package hostile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A standstill is a time in which a processor ran nothing at all: not even a process that
// goes before all others, and wants to be run once in standstillTick. On a virtual machine
// that is what its host gave to others. No router answers meanwhile, so such a time is not
// the attackers' doing, and is not counted as the victim's waiting.
type standstill struct{ from, to time.Time }

const (
	standstillTick = 5 * time.Millisecond
	// standstillLeast is the shortest time that is one. Shorter ones are between any two
	// turns of a process.
	standstillLeast = 50 * time.Millisecond
	// standstillOf names the variable that makes this program one that watches a processor,
	// whose number it holds.
	standstillOf = "FAIRLEAD_STANDSTILL"
)

// watchProcessor writes a line for each standstill of this process, which the caller keeps
// on one processor, until its input ends.
func watchProcessor() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	runtime.LockOSThread()
	last := time.Now()
	for {
		time.Sleep(standstillTick)
		now := time.Now()
		if now.Sub(last) >= standstillTick+standstillLeast {
			fmt.Println(last.Add(standstillTick).UnixMicro(), now.UnixMicro())
		}
		last = now
	}
}

// standstills are those of all processors.
type standstills struct {
	mu  sync.Mutex
	all []standstill
}

// watchProcessors notes standstills until the test ends.
func watchProcessors(t *testing.T) *standstills {
	t.Helper()
	s := &standstills{}
	for _, n := range append(slices.Clone(ours), theirs...) {
		cmd := exec.CommandContext(t.Context(), "chrt", "--fifo", "50", "taskset", "--cpu-list", strconv.Itoa(n), os.Args[0])
		cmd.Env = append(os.Environ(), standstillOf+"=1", "GOMAXPROCS=1")
		out := startWatching(t, cmd)
		go s.read(bufio.NewScanner(out))
	}
	return s
}

// startWatching starts a process that watches a processor until the test ends, or its process.
func startWatching(t *testing.T, cmd *exec.Cmd) (out io.Reader) {
	t.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return out
}

func (s *standstills) read(lines *bufio.Scanner) {
	for lines.Scan() {
		var from, to int64
		if _, err := fmt.Sscan(lines.Text(), &from, &to); err == nil {
			s.add(standstill{time.UnixMicro(from), time.UnixMicro(to)})
		}
	}
}

func (s *standstills) add(of standstill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, of)
}

// within returns for how long some processor stood still within a time. Times in which
// several did count once.
func (s *standstills) within(from, to time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.all, func(a, b standstill) int { return a.from.Compare(b.from) })
	for _, of := range s.all {
		if of.from.After(from) {
			from = of.from
		}
		if end := earlier(of.to, to); end.After(from) {
			sum += end.Sub(from)
			from = end
		}
	}
	return sum
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// TestStandstills: what is counted is the time in which some processor stood still, once.
func TestStandstills(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	s := &standstills{}
	for _, of := range [][2]int{{300, 400}, {100, 200}, {150, 250}, {900, 1200}} {
		s.add(standstill{at(of[0]), at(of[1])})
	}
	for _, tt := range []struct{ from, to, want int }{
		{0, 1000, 350}, {0, 90, 0}, {120, 160, 40}, {210, 320, 60}, {1000, 1100, 100}, {1200, 1300, 0},
	} {
		if got := s.within(at(tt.from), at(tt.to)); got != time.Duration(tt.want)*time.Millisecond {
			t.Errorf("from %d to %d ms: %v, want %d ms", tt.from, tt.to, got, tt.want)
		}
	}
}

// TestProcessorIsWatched: a process that is stopped, as a host stops a processor, tells so.
func TestProcessorIsWatched(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), standstillOf+"=1")
	out := startWatching(t, cmd)
	stopped := time.AfterFunc(200*time.Millisecond, func() {
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		time.AfterFunc(300*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGCONT) })
	})
	defer stopped.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var from, to int64
		if _, err := fmt.Sscan(lines.Text(), &from, &to); err == nil && to-from >= 200_000 {
			return
		}
	}
	t.Error("a stop of 300 ms was not noticed")
}

// stolen returns how much processor time the machine's host gave to others, and all time, in the kernel's units. In small
// pieces it is no standstill that is noticed, and yet requests wait for it.
func stolen() (others, all float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:] {
		n, _ := strconv.ParseFloat(field, 64)
		if all += n; i == 7 { // proc(5): steal
			others = n
		}
	}
	return others, all
}

// TestStolen: the kernel's counters are read.
func TestStolen(t *testing.T) {
	t.Parallel()
	if others, all := stolen(); all <= 0 || others > all {
		t.Errorf("%v of %v", others, all)
	}
}
