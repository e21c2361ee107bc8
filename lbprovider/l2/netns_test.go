package l2_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/test/wait"
)

// asRole in the environment makes the test binary something else than a test.
const asRole = "FAIRLEAD_L2_TEST_ROLE"

// TestMain lets the test start itself again inside a network namespace: the
// sockets of an Announcer belong to the namespace of the thread that opens
// them, and Go has many threads.
func TestMain(m *testing.M) {
	roles := map[string]func(args []string) error{"host": host, "server": server, "sender": sender}
	name, child := os.LookupEnv(asRole)
	if !child {
		os.Exit(m.Run())
	}
	if err := roles[name](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// host announces what it reads, one set of claims per line, until its input ends.
// For the line "metrics" it writes what it counted. With an argument it logs
// errors only.
func host(args []string) error {
	level := slog.LevelInfo
	if len(args) > 0 {
		level = slog.LevelError
	}
	in, out := os.Stdin, os.Stdout
	registry := prometheus.NewRegistry()
	metrics, err := l2.NewMetrics(registry)
	if err != nil {
		return err
	}
	a, err := l2.New(l2.Options{
		Metrics: metrics, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
		LinksChanged: func(names, _ []string) { fmt.Fprintln(out, "links", strings.Join(names, ",")) },
		Conflict:     func(c l2.Conflict) { fmt.Fprintln(out, "conflict", c.Address, c.MAC, c.Interface) },
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if lines.Text() == "metrics" {
			if err := tell(registry, out); err != nil {
				return err
			}
			continue
		}
		claims := map[netip.Addr]l2.Claim{}
		if err := json.Unmarshal(lines.Bytes(), &claims); err != nil {
			return err
		}
		a.Announce(claims)
	}
	cancel()
	<-done
	return lines.Err()
}

// tell writes all metrics as one line.
func tell(from prometheus.Gatherer, out io.Writer) error {
	families, err := from.Gather()
	if err != nil {
		return err
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
			for _, l := range m.GetLabel() {
				all[f.GetName()+" "+l.GetValue()] = value
			}
			all[f.GetName()] += value
		}
	}
	line, err := json.Marshal(all)
	fmt.Fprintln(out, "metrics", string(line))
	return err
}

// segment is a client and two hosts on one bridge, each in its own namespace.
type segment struct {
	t testing.TB
	// as precedes the command of a child.
	as     []string
	prefix string
}

func newSegment(t testing.TB) *segment {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	for _, program := range []string{"ip", "arping", "ndisc6", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
	s := &segment{t: t, prefix: fmt.Sprintf("fl2-%d-", os.Getpid())}
	for _, ns := range []string{"lan", "client", "a", "b"} {
		s.run("ip", "netns", "add", s.prefix+ns)
		t.Cleanup(func() { s.run("ip", "netns", "del", s.prefix+ns) })
		s.run("ip", "-n", s.prefix+ns, "link", "set", "lo", "up")
	}
	s.run("ip", "-n", s.prefix+"lan", "link", "add", "name", "lan0", "type", "bridge", "forward_delay", "0")
	s.run("ip", "-n", s.prefix+"lan", "link", "set", "lan0", "up")
	for i, ns := range []string{"client", "a", "b"} {
		s.cable(ns, "eth0")
		s.run("ip", "-n", s.prefix+ns, "addr", "add", fmt.Sprintf("198.18.77.%d/24", i+1), "dev", "eth0")
	}
	return s
}

// cable joins a host to the bridge by an interface of the given name.
func (s *segment) cable(ns, name string) {
	s.t.Helper()
	s.run("ip", "-n", s.prefix+"lan", "link", "add", "p-"+ns+"-"+name, "type", "veth", "peer", "name", name, "netns", s.prefix+ns)
	s.run("ip", "-n", s.prefix+"lan", "link", "set", "p-"+ns+"-"+name, "master", "lan0", "up")
	s.run("ip", "-n", s.prefix+ns, "link", "set", name, "up")
}

func (s *segment) run(args ...string) string {
	s.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *segment) link(ns, name string) string {
	s.t.Helper()
	var links []struct {
		Address string `json:"address"`
	}
	if err := json.Unmarshal([]byte(s.run("ip", "-n", s.prefix+ns, "-json", "link", "show", name)), &links); err != nil || len(links) != 1 {
		s.t.Fatalf("link %s of %s: %v", name, ns, err)
	}
	return links[0].Address
}

// announcer is a host that announces.
type announcer struct {
	s     *segment
	input io.WriteCloser
	lines *bufio.Scanner
}

// child starts the test binary in a network namespace.
func (s *segment) child(ns, role string, args ...string) (cmd *exec.Cmd, out io.Reader) {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd = exec.Command("nsenter", slices.Concat([]string{"--net=/run/netns/" + s.prefix + ns}, s.as, []string{self}, args)...)
	cmd.Env = append(os.Environ(), asRole+"="+role)
	cmd.Stderr = s.t.Output()
	if out, err = cmd.StdoutPipe(); err != nil {
		s.t.Fatal(err)
	}
	return cmd, out
}

// announcer starts a host and waits until it reports its usable interfaces.
func (s *segment) announcer(ns, interfaces string, args ...string) *announcer {
	s.t.Helper()
	cmd, output := s.child(ns, "host", args...)
	input, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	a := &announcer{s: s, input: input, lines: bufio.NewScanner(output)}
	a.lines.Buffer(nil, 1<<20)
	s.t.Cleanup(func() {
		input.Close()
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("announcer in %s: %v", ns, err)
		}
	})
	a.links(interfaces)
	return a
}

// links waits until the announcer reports these usable interfaces.
func (a *announcer) links(want string) {
	a.s.t.Helper()
	a.says("links " + want)
}

// says waits for a line of the announcer.
func (a *announcer) says(want string) {
	a.s.t.Helper()
	for a.lines.Scan() {
		if a.lines.Text() == want {
			return
		}
	}
	a.s.t.Fatalf("announcer ended before it said %q", want)
}

func (a *announcer) announce(claims map[string]l2.Claim) {
	a.s.t.Helper()
	line, err := json.Marshal(claims)
	if err != nil {
		a.s.t.Fatal(err)
	}
	if _, err := a.input.Write(append(line, '\n')); err != nil {
		a.s.t.Fatal(err)
	}
}

// who asks with the real arping which hardware addresses answer for addr.
func (s *segment) who(addr string, count int) []string {
	s.t.Helper()
	cmd := exec.Command("nsenter", "--net=/run/netns/"+s.prefix+"client", "arping", "-r", "-c", fmt.Sprint(count), "-W", "0.1", "-w", fmt.Sprint(1+count/5), "-i", "eth0", addr)
	out, _ := cmd.Output() // it fails where nobody answers
	return strings.Fields(strings.ToLower(string(out)))
}

// owner polls until exactly the given hardware address answers ("" for nobody).
func (s *segment) owner(addr, want string) {
	s.t.Helper()
	wait.Poll{Limit: 15 * time.Second, Every: wait.NoPause}.For(s.t, "the owner of "+addr, func() error {
		if got := s.who(addr, 1); strings.Join(got, ",") != want {
			return fmt.Errorf("it is at %v, want %q", got, want)
		}
		return nil
	})
}

// neighbour returns what the client's kernel believes about addr.
func (s *segment) neighbour(addr string) string {
	s.t.Helper()
	return s.run("ip", "-n", s.prefix+"client", "neigh", "show", addr)
}

func TestAnnounceOnRealSegment(t *testing.T) {
	s := newSegment(t)
	const vip = "198.18.77.100"
	a, b := s.announcer("a", "eth0"), s.announcer("b", "eth0")
	macA, macB := s.link("a", "eth0"), s.link("b", "eth0")

	s.owner(vip, "")
	a.announce(map[string]l2.Claim{vip: {}})
	s.owner(vip, macA)
	if got := s.who(vip, 3); len(got) != 3 {
		t.Errorf("3 requests had %d answers: %v", len(got), got)
	}
	s.owner("198.18.77.101", "")

	t.Run("a neighbour learns at once that the address moved", func(t *testing.T) {
		// The kernel of the client holds an entry, as if it had traffic.
		s.run("ip", "-n", s.prefix+"client", "neigh", "replace", vip, "lladdr", macA, "dev", "eth0", "nud", "stale")
		start := time.Now()
		a.announce(nil)
		b.announce(map[string]l2.Claim{vip: {}})
		wait.Poll{Limit: 3 * time.Second, Every: wait.NoPause}.For(t, "the client learns the new owner", func() error {
			if entry := s.neighbour(vip); !strings.Contains(entry, macB) {
				return fmt.Errorf("its kernel has %q", entry)
			}
			return nil
		})
		t.Logf("the client's kernel learned it after %v", time.Since(start).Round(time.Millisecond))
		s.owner(vip, macB)
	})
	t.Run("only on the interfaces that the claim names", func(*testing.T) {
		b.announce(map[string]l2.Claim{vip: {Interfaces: []string{"eth9"}}})
		s.owner(vip, "")
		b.announce(map[string]l2.Claim{vip: {Interfaces: []string{"eth0", "eth9"}}})
		s.owner(vip, macB)
	})
	t.Run("an interface vanishes and comes back", func(*testing.T) {
		s.run("ip", "-n", s.prefix+"lan", "link", "set", "p-b-eth0", "down")
		b.links("")
		s.run("ip", "-n", s.prefix+"lan", "link", "set", "p-b-eth0", "up")
		b.links("eth0")
		s.owner(vip, macB)
	})
	t.Run("an interface appears", func(*testing.T) {
		s.cable("a", "eth1")
		a.links("eth0,eth1")
		a.announce(map[string]l2.Claim{"198.18.77.102": {Interfaces: []string{"eth1"}}})
		s.owner("198.18.77.102", s.link("a", "eth1"))
	})
	t.Run("a changed hardware address is announced", func(*testing.T) {
		const changed = "02:00:00:00:77:01"
		s.run("ip", "-n", s.prefix+"b", "link", "set", "eth0", "down")
		s.run("ip", "-n", s.prefix+"b", "link", "set", "eth0", "address", changed)
		s.run("ip", "-n", s.prefix+"b", "link", "set", "eth0", "up")
		s.owner(vip, changed)
	})
	t.Run("how long an address of a dead node was nowhere is measured", func(t *testing.T) {
		const metric = "fairlead_lb_failover_duration_seconds"
		before := a.metrics()[metric]
		a.announce(map[string]l2.Claim{"198.18.77.104": {OwnerDiedAt: time.Now().Add(-time.Minute)}})
		took := 0.0
		s.eventually(func() string {
			if took = a.metrics()[metric] - before; took < 60 {
				return fmt.Sprintf("an address of a node that died a minute ago counts as %v seconds", took)
			}
			return ""
		})
		a.announce(map[string]l2.Claim{"198.18.77.104": {}, "198.18.77.105": {}})
		s.eventually(func() string {
			if a.metric("metallb_layer2_gratuitous_sent", "198.18.77.105") == 0 {
				return "the second address is not announced"
			}
			return ""
		})
		if again := a.metrics()[metric] - before; again != took {
			t.Errorf("an address that nobody died for counts too: %v after %v seconds", again, took)
		}
		a.announce(nil)
	})
	t.Run("who gives up an address answers until another has it", func(t *testing.T) {
		const moving = "198.18.77.103"
		macA, macB := s.link("a", "eth0"), s.link("b", "eth0")
		only := map[string]l2.Claim{moving: {Interfaces: []string{"eth0"}}}
		b.announce(only)
		s.owner(moving, macB)
		b.announce(map[string]l2.Claim{moving: {Yield: true}})
		s.owner(moving, macB) // nobody else has it yet
		a.announce(only)
		s.owner(moving, macA)
		// Whoever never had it does not answer either.
		b.announce(map[string]l2.Claim{moving: {Yield: true}})
		if got := s.who(moving, 3); strings.Join(got, ",") != strings.Join([]string{macA, macA, macA}, ",") {
			t.Errorf("answers of %v, want three of %s", got, macA)
		}
		// One that hears of the move after the new owner has come stops at once.
		a.announce(nil)
		b.announce(only)
		s.owner(moving, macB)
		a.announce(only)
		s.eventually(func() string {
			if !slices.Contains(s.who(moving, 2), macA) {
				return "the new owner does not answer"
			}
			return ""
		})
		b.announce(map[string]l2.Claim{moving: {Yield: true}})
		if got := s.who(moving, 3); strings.Join(got, ",") != strings.Join([]string{macA, macA, macA}, ",") {
			t.Errorf("answers of %v, want three of %s", got, macA)
		}
		// Nobody takes it over: then it ends by itself.
		a.announce(map[string]l2.Claim{moving: {Yield: true}})
		s.owner(moving, macA)
		s.owner(moving, "")
	})
}
