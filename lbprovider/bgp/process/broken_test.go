package process_test

import (
	"bufio"
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// broken is a process that holds a session as it must not.
func broken(how string) {
	switch how {
	case "panics":
		bufio.NewScanner(os.Stdin).Scan() // an order
		panic("index out of range \x1b[2J")
	case "lies":
		fmt.Fprintln(os.Stdout, `{"state":"Est\u001b[2Jablished","problem":""}`)
	case "floods":
		for {
			fmt.Fprint(os.Stdout, strings.Repeat("x", 1<<16))
		}
	}
	if how != "stops" { // which Go's runtime notices
		<-time.After(time.Hour)
	}
	select {}
}

// TestBrokenProcess: however a process fails, its session alone is down, the
// reason is told, and it is started again.
func TestBrokenProcess(t *testing.T) {
	t.Parallel()
	again := map[string]int{"hangs": 1} // it takes long to notice
	for how, why := range map[string]string{
		"hangs":  "it did not answer for 20s",
		"panics": `panic: index out of range \u001b[2J`, "lies": "read a report: unknown state", "floods": "token too long", "stops": "fatal error: all goroutines are asleep",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			if how == "hangs" && testing.Short() {
				t.Skip("it takes 20 s to notice that a process hangs")
			}
			n := newNode(t, how)
			peer := bgp.Peer{Name: "tor", MyASN: 1, PeerASN: 2, Address: netip.MustParseAddr("127.0.0.1"), Port: 9}
			n.add(bgp.Session{Peer: peer})
			st, err := n.becomes("tor", "told to have failed", func(st bgp.Status) bool { return st.Failures >= cmp.Or(again[how], 2) })
			if err != nil {
				t.Fatal(err)
			}
			if st.Up() || !strings.Contains(st.Problem, why) || !strings.Contains(st.Problem, "it starts again in") {
				t.Errorf("status %+v", st)
			}
			if got := n.metric("fairlead_lb_bgp_process_failures_total"); got < 1 {
				t.Errorf("%v failures are counted", got)
			}
			if got := n.metric("fairlead_lb_bgp_process_up"); got != 0 && got != 1 {
				t.Errorf("process_up is %v", got)
			}
		})
	}
}

// TestProcessIsToldAgain: a process that is started again gets all that is
// wanted, and what was counted before stays counted.
func TestProcessIsToldAgain(t *testing.T) {
	t.Parallel()
	n := newNode(t, "session")
	r := newRouter(t)
	n.add(bgp.Session{Peer: r.peer("tor"), Routes: []bgp.Route{{Prefix: netip.MustParsePrefix("198.18.9.1/32")}}})
	n.up("tor")
	if got := n.metric("metallb_bgp_opens_sent"); got != 1 { // which asks the first process
		t.Errorf("%v OPENs are counted", got)
	}
	n.Suspend("tor", "for the attack")
	if st, err := n.becomes("tor", "suspended", func(st bgp.Status) bool { return !st.Up() }); err != nil {
		t.Fatal(st, err)
	}
	r.mu.Lock()
	r.attack = &attack{phase: established, bytes: message(99, nil)} // of which gobgp panics
	r.mu.Unlock()
	n.Resume("tor")
	<-r.done
	if st, err := n.becomes("tor", "up again", func(st bgp.Status) bool { return st.Up() && st.Failures > 0 }); err != nil || st.Routes != 1 {
		t.Fatal(st, err)
	}
	if got := n.metric("metallb_bgp_opens_sent"); got < 2 { // one of each process
		t.Errorf("%v OPENs are counted", got)
	}
	if got := n.metric("metallb_bgp_session_up"); got != 1 {
		t.Errorf("session_up is %v", got)
	}
}

// metric returns the value of the one series with this name.
func (n *node) metric(name string) float64 {
	n.t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(n.Host); err != nil {
		n.t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	n.t.Fatalf("there is no metric %s", name)
	return 0
}
