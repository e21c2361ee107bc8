package engine_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/engine"
	"github.com/fairlead/fairlead/lbprovider/bgp/process"
	"github.com/fairlead/fairlead/lbprovider/bgp/sandbox"
	"github.com/fairlead/fairlead/test/bgprouter"
	"github.com/fairlead/fairlead/test/wait"
)

// asNode in the environment makes the test binary a node that talks BGP; its
// value is "restarting" if an earlier one did so before.
const asNode = "FAIRLEAD_BGP_TEST_NODE"

// asProcess makes it a process that holds one session.
const asProcess = "FAIRLEAD_BGP_TEST_PROCESS"

// patience is how long anything may take before a test fails.
const patience = 15 * time.Second

// TestMain lets the test start itself again inside a network namespace, because
// gobgp dials from whatever thread it is on.
func TestMain(m *testing.M) {
	if _, child := os.LookupEnv(asProcess); child {
		if err := confined(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if mode, child := os.LookupEnv(asNode); child {
		if err := node(mode, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// confined holds a session as speaker-bgp does.
func confined() error {
	if err := sandbox.Enter(sandbox.Limits{Data: 128 << 20, Files: 64}); err != nil {
		return err
	}
	return engine.Serve(os.Stdin, os.Stdout, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
}

// node applies the sessions that it reads, one set per line, and prints their
// states whenever they change, until its input ends.
func node(mode string, in io.Reader, out io.Writer) error {
	var mu sync.Mutex
	var e *process.Host
	show := func() {
		mu.Lock()
		defer mu.Unlock()
		if e == nil {
			return
		}
		line, err := json.Marshal(e.Status())
		if err == nil {
			fmt.Fprintln(out, string(line))
		}
	}
	mu.Lock()
	e = process.New(process.Options{
		Program: "/proc/self/exe", Env: []string{asProcess + "=1"},
		Restarting: mode == "restarting", Now: time.Now,
		// The host holds no lock of ours, but Status takes its own.
		Changed: func() { go show() },
		Output:  os.Stderr, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	mu.Unlock()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if peer, why, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "suspend "), ": "); ok && strings.HasPrefix(lines.Text(), "suspend ") {
			e.Suspend(peer, why)
			continue
		}
		if lines.Text() == "metrics" {
			fmt.Fprintln(out, "metrics "+gathered(e))
			continue
		}
		var wanted []bgp.Session
		if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
			return err
		}
		e.Apply(wanted, nil)
	}
	e.Close(false, 5*time.Second)
	return lines.Err()
}

// gathered are the host's metrics as JSON, or why there are none.
func gathered(e *process.Host) string {
	reg := prometheus.NewRegistry()
	if err := reg.Register(e); err != nil {
		return err.Error()
	}
	families, err := reg.Gather()
	if err != nil {
		return err.Error()
	}
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += " " + l.GetValue()
			}
			all[f.GetName()+labels] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	line, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

// network is a router and a node, or two, on one cable.
//
//	node 198.18.60.2 fd00:60::2 ─ 198.18.60.1 fd00:60::1 tor 198.18.61.1 ─ 198.18.61.2 far
type network struct {
	t      *testing.T
	prefix string
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	if why := bgprouter.Missing(); why != "" {
		t.Skip(why)
	}
	n := &network{t: t, prefix: fmt.Sprintf("fbgp-%d-", os.Getpid())}
	for _, ns := range []string{"tor", "node", "far"} {
		n.run("ip", "netns", "add", n.prefix+ns)
		t.Cleanup(func() { n.run("ip", "netns", "del", n.prefix+ns) })
		n.run("ip", "-n", n.prefix+ns, "link", "set", "lo", "up")
	}
	n.cable("node", "eth0", "198.18.60.2/24", "fd00:60::2/64", "to-node", "198.18.60.1/24", "fd00:60::1/64")
	n.cable("far", "eth0", "198.18.61.2/24", "fd00:61::2/64", "to-far", "198.18.61.1/24", "fd00:61::1/64")
	for _, ns := range []string{"node", "far"} {
		via := map[string]string{"node": "60", "far": "61"}[ns]
		n.run("ip", "-n", n.prefix+ns, "route", "add", "default", "via", "198.18."+via+".1")
		n.run("ip", "-n", n.prefix+ns, "-6", "route", "add", "default", "via", "fd00:"+via+"::1")
	}
	n.run("nsenter", "--net=/run/netns/"+n.prefix+"tor", "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
	return n
}

// cable joins a host to tor.
func (n *network) cable(host, name, v4, v6, far, far4, far6 string) {
	n.t.Helper()
	n.run("ip", "-n", n.prefix+"tor", "link", "add", far, "type", "veth", "peer", "name", name, "netns", n.prefix+host)
	for _, end := range [][]string{{host, name, v4, v6}, {"tor", far, far4, far6}} {
		n.run("ip", "-n", n.prefix+end[0], "addr", "add", end[2], "dev", end[1])
		n.run("ip", "-n", n.prefix+end[0], "addr", "add", end[3], "dev", end[1], "nodad")
		n.run("ip", "-n", n.prefix+end[0], "link", "set", end[1], "up")
	}
}

// in returns the network for a part of the test.
func (n *network) in(t *testing.T) *network {
	return &network{t: t, prefix: n.prefix}
}

func (n *network) run(args ...string) {
	n.t.Helper()
	n.output(args...)
}

func (n *network) output(args ...string) string {
	n.t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("%v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// linkLocal returns the link-local address of an interface.
func (n *network) linkLocal(host, name string) string {
	n.t.Helper()
	out := n.output("ip", "-n", n.prefix+host, "-6", "-brief", "address", "show", "dev", name, "scope", "link")
	for field := range strings.FieldsSeq(out) {
		if prefix, err := netip.ParsePrefix(field); err == nil {
			return prefix.Addr().String()
		}
	}
	n.t.Fatalf("%s of %s has no link-local address: %s", name, host, out)
	return ""
}

// has says that text lacks words, if it does.
func (n *network) has(text, words string) error {
	if !strings.Contains(text, words) {
		return fmt.Errorf("%q lacks %q", text, words)
	}
	return nil
}

func (n *network) frr(ns, config string) *bgprouter.Router {
	n.t.Helper()
	r, err := bgprouter.FRR(n.t.Context(), n.prefix+ns, n.dir(), config, n.t.Output())
	return n.router(r, err)
}

func (n *network) bird(ns, config string) *bgprouter.Router {
	n.t.Helper()
	r, err := bgprouter.BIRD(n.t.Context(), n.prefix+ns, n.dir(), config, n.t.Output())
	return n.router(r, err)
}

// dir is short, as the path of a socket has to be.
func (n *network) dir() string {
	n.t.Helper()
	dir, err := os.MkdirTemp("", "tor")
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (n *network) router(r *bgprouter.Router, err error) *bgprouter.Router {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			n.t.Error(err)
		}
	})
	return r
}

// speaker is the node's process.
type speaker struct {
	cmd   *exec.Cmd
	input io.WriteCloser

	mu     sync.Mutex
	states map[string]bgp.Status
	told   string // of its metrics
}

func (n *network) speaker(mode string) *speaker {
	n.t.Helper()
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	s := &speaker{cmd: exec.Command("nsenter", "--net=/run/netns/"+n.prefix+"node", self), states: map[string]bgp.Status{}}
	s.cmd.Env = append(os.Environ(), asNode+"="+mode)
	s.cmd.Stderr = n.t.Output()
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		n.t.Fatal(err)
	}
	output, err := s.cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	go s.read(output)
	n.t.Cleanup(func() { s.stop(n) })
	return s
}

func (s *speaker) read(output io.Reader) {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var all []bgp.Status
		if told, ok := strings.CutPrefix(lines.Text(), "metrics "); ok {
			s.mu.Lock()
			s.told = told
			s.mu.Unlock()
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &all); err != nil {
			continue
		}
		s.mu.Lock()
		s.states = map[string]bgp.Status{}
		for _, st := range all {
			s.states[st.Peer.Name] = st
		}
		s.mu.Unlock()
	}
}

// stop ends the speaker as SIGTERM ends the real one.
func (s *speaker) stop(n *network) {
	if s.cmd.ProcessState != nil {
		return
	}
	s.input.Close()
	if err := s.cmd.Wait(); err != nil {
		n.t.Errorf("the node's process: %v", err)
	}
}

// kill ends it as a crash does.
func (s *speaker) kill() {
	_ = s.cmd.Process.Kill() // it may have crashed
	_ = s.cmd.Wait()         // it was killed
}

func (s *speaker) apply(wanted ...bgp.Session) {
	line, err := json.Marshal(wanted)
	if err != nil {
		panic(err)
	}
	s.say(string(line))
}

func (s *speaker) suspend(peer, why string) { s.say("suspend " + peer + ": " + why) }

func (s *speaker) say(line string) {
	if _, err := io.WriteString(s.input, line+"\n"); err != nil {
		panic(fmt.Sprintf("the node's process is gone: %v", err))
	}
}

// state polls until the session is as wanted.
func (n *network) state(s *speaker, peer string, want func(bgp.Status) bool) bgp.Status {
	n.t.Helper()
	var last bgp.Status
	n.until(func() error {
		s.mu.Lock()
		last = s.states[peer]
		s.mu.Unlock()
		if !want(last) {
			return fmt.Errorf("session %s: %+v", peer, last)
		}
		return nil
	})
	return last
}

func (n *network) up(s *speaker, peer string) bgp.Status {
	n.t.Helper()
	return n.state(s, peer, bgp.Status.Up)
}

// metrics polls until the speaker's metrics are as wanted.
func (n *network) metrics(s *speaker, want func(map[string]float64) error) {
	n.t.Helper()
	n.until(func() error {
		s.say("metrics")
		s.mu.Lock()
		told := s.told
		s.mu.Unlock()
		all := map[string]float64{}
		if err := json.Unmarshal([]byte(told), &all); err != nil {
			return fmt.Errorf("metrics %q: %w", told, err)
		}
		return want(all)
	})
}

// problem polls until the session has a problem with these words.
func (n *network) problem(s *speaker, peer, words string) {
	n.t.Helper()
	n.state(s, peer, func(st bgp.Status) bool { return !st.Up() && strings.Contains(st.Problem, words) })
}

// until polls.
func (n *network) until(check func() error) {
	n.t.Helper()
	wait.Poll{Limit: patience, Every: 50 * time.Millisecond}.For(n.t, "the network", check)
}

// frrRoute is what FRR says of a route.
type frrRoute struct {
	Valid     bool   `json:"valid"`
	Stale     bool   `json:"stale"`
	LocalPref uint32 `json:"locPrf"`
	AsPath    struct {
		String string `json:"string"`
	} `json:"aspath"`
	Communities struct {
		List []string `json:"list"`
	} `json:"community"`
	Large struct {
		List []string `json:"list"`
	} `json:"largeCommunity"`
	NextHops []struct {
		IP string `json:"ip"`
	} `json:"nexthops"`
}

// line is the route in a form that tests compare.
func (r frrRoute) line() string {
	var hops []string
	for _, h := range r.NextHops {
		hops = append(hops, h.IP)
	}
	slices.Sort(hops)
	parts := []string{"via " + strings.Join(hops, ","), "path " + r.AsPath.String}
	if r.LocalPref != 0 {
		parts = append(parts, fmt.Sprint("pref ", r.LocalPref))
	}
	if c := slices.Concat(r.Communities.List, r.Large.List); len(c) > 0 {
		parts = append(parts, strings.Join(c, " "))
	}
	if !r.Valid {
		parts = append(parts, "not valid")
	}
	if r.Stale {
		parts = append(parts, "stale")
	}
	return strings.Join(parts, "; ")
}

// prefixes returns the prefixes that FRR has of a family, "ipv4" or "ipv6".
func (n *network) prefixes(r *bgprouter.Router, family string) ([]string, error) {
	var table struct {
		Routes map[string]json.RawMessage `json:"routes"`
	}
	if err := r.JSON(n.t.Context(), "show bgp "+family+" unicast json", &table); err != nil {
		return nil, err
	}
	var out []string
	for p := range table.Routes {
		out = append(out, p)
	}
	slices.Sort(out)
	return out, nil
}

// route polls until FRR has the prefix as wanted; an empty want is for no route.
func (n *network) route(r *bgprouter.Router, prefix, want string) {
	n.t.Helper()
	family := "ipv4"
	if netip.MustParsePrefix(prefix).Addr().Is6() {
		family = "ipv6"
	}
	n.until(func() error {
		var answer struct {
			Paths []frrRoute `json:"paths"`
		}
		if err := r.JSON(n.t.Context(), "show bgp "+family+" unicast "+prefix+" json", &answer); err != nil {
			return err
		}
		var got []string
		for _, p := range answer.Paths {
			got = append(got, p.line())
		}
		slices.Sort(got)
		if joined := strings.Join(got, " | "); joined != want {
			return fmt.Errorf("%s:\n got %q\nwant %q", prefix, joined, want)
		}
		return nil
	})
}

// seen polls until the output of a router's command holds all the words.
func (n *network) seen(r *bgprouter.Router, command string, words ...string) {
	n.t.Helper()
	n.until(func() error {
		out, err := r.Command(context.WithoutCancel(n.t.Context()), command)
		if err != nil {
			return err
		}
		for _, w := range words {
			if !strings.Contains(out, w) {
				return errors.New(command + " lacks " + w + ":\n" + out)
			}
		}
		return nil
	})
}

func routes(prefixes ...string) []bgp.Route {
	var out []bgp.Route
	for _, p := range prefixes {
		out = append(out, bgp.Route{Prefix: netip.MustParsePrefix(p)})
	}
	return out
}
