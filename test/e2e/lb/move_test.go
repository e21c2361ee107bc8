package lb

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/netmonitor"
)

const (
	// plannedSilence is the longest time without an answer while an address
	// moves on purpose, on a machine that is busy testing: test/bench/lb
	// measures it on a quiet one.
	plannedSilence = 1500 * time.Millisecond
	// crashSilence is the longest when a node dies: 1 to 1.6 s until the others
	// notice, and as much again for a busy machine.
	crashSilence = 3500 * time.Millisecond
	// handoverTime is how long two nodes may answer for one address while it moves.
	handoverTime = 2500 * time.Millisecond
)

// watch starts a monitor of an address. Its check ends it.
func watch(t *testing.T, p *install.Product, address string, more ...string) *netmonitor.Monitor {
	t.Helper()
	w, err := netmonitor.Start(t.Context(), p.Cluster, netmonitor.Options{
		Addresses: append([]string{address}, more...), Target: address + ":80", Path: "/text", Host: "echo", Hosts: p.Cluster.Hosts(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = w.Stop() })
	observe(t, time.Second)
	return w
}

// limits are what a monitor may have seen at most.
type limits struct {
	silence time.Duration
	// crash allows for any number of lost requests: what was on its way to a
	// host that died.
	crash bool
	// moves is how often the client may turn to another host. Each time, the
	// requests that are under way break, because no host knows the connections
	// of another; nothing else may be lost.
	moves  int
	double time.Duration
}

// check ends the monitor and compares what it saw.
func check(t *testing.T, p *install.Product, w *netmonitor.Monitor, l limits) *netmonitor.Report {
	t.Helper()
	r, err := w.Stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	t.Cleanup(func() { decisions(t, p, r) })
	if silence, from := r.Silence(); silence > l.silence {
		t.Errorf("no request was answered for %v from %s on, allowed are %v", silence, from.Format(time.StampMilli), l.silence)
		if l.crash {
			tell(t, r, r.Lost())
		}
	}
	if lost := r.Lost(); len(lost) > 0 && !l.crash {
		t.Errorf("%d requests were lost", len(lost))
		tell(t, r, lost)
	}
	// Late answers are to requests whose first packet came while kube-proxy still wrote its rules. The limit of silence bounds
	// them; how many there are is for test/bench/lb to measure, on a quiet machine.
	if late := r.Slow(); len(late) > 0 && !l.crash {
		t.Logf("%d requests were answered late", len(late))
		tell(t, r, late[:1])
	}
	if n := r.Moves(); n > l.moves && !l.crash {
		t.Errorf("the client turned to another host %d times, allowed are %d: %v", n, l.moves, r.Sent)
		tell(t, r, r.Torn())
	}
	for _, d := range r.Doubles() {
		if length := d.To.Sub(d.From); length > l.double {
			t.Errorf("%s was answered by %v for %v from %s on, allowed are %v", d.Address, d.MACs, length, d.From.Format(time.StampMilli), l.double)
		}
	}
	return r
}

// tell logs where the packets of some requests went, and what the kernels counted.
func tell(t *testing.T, r *netmonitor.Report, requests []netmonitor.Request) {
	t.Helper()
	explained := slices.DeleteFunc(slices.Clone(requests), func(q netmonitor.Request) bool { return len(q.Path) == 0 })
	for _, q := range explained[:min(len(explained), 10)] {
		t.Logf("request at %s, after %v: %s\n%s", q.At.Format(time.StampMicro), q.Took, q.Error, strings.Join(q.Path, "\n"))
	}
	t.Logf("counted meanwhile:\n%s", strings.Join(r.Counters, "\n"))
}

// decisions logs, if the test has failed, what the speakers decided while the
// monitor looked: Kubernetes keeps the logs of pods that live.
func decisions(t *testing.T, p *install.Product, r *netmonitor.Report) {
	t.Helper()
	if !t.Failed() || len(r.Requests) == 0 {
		return
	}
	out, err := p.Cluster.Kubectl(context.WithoutCancel(t.Context()), "-n", "metallb-system", "logs", "--prefix", "--tail=-1",
		"-l", "app.kubernetes.io/component=speaker", "--since-time="+r.Requests[0].At.Add(-10*time.Second).UTC().Format(time.RFC3339))
	if err != nil {
		t.Log(err)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, " part=") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// awaitOwner waits until the node, or any other if it starts with "!", answers
// alone, and the client sends there. Its table alone would not do: the address
// may have been another Service's a moment ago.
func awaitOwner(t *testing.T, p *install.Product, address, node string) string {
	t.Helper()
	at, owner := *p, ""
	at.Address = address
	eventually(t, func() error {
		cards, err := netmonitor.Answering(p.Cluster, address, 200*time.Millisecond)
		if err != nil {
			return err
		}
		if owner, err = at.Owner(t.Context()); err != nil {
			return err
		}
		if other, not := strings.CutPrefix(node, "!"); not && owner == other || !not && owner != node {
			return fmt.Errorf("%s is announced by %s, want %s", address, owner, node)
		}
		link, err := p.Cluster.Exec(t.Context(), owner, "ip", "-o", "link", "show", "eth0")
		if err == nil && (len(cards) != 1 || !strings.Contains(link, " link/ether "+cards[0]+" ")) {
			err = fmt.Errorf("%s is answered by %v; %s has %s", address, cards, owner, link)
		}
		return err
	})
	return owner
}

// echo applies the echo Service of a policy, which stays, and returns its address once every kube-proxy
// knows of it, and the node answers that comes first of all: while pods become
// ready one by one, others may.
func echo(t *testing.T, p *install.Product, policy string) (address, owner string) {
	t.Helper()
	name := "echo-" + strings.ToLower(policy)
	leave(t, p, echoYAML(name, policy))
	kubectl(t, p, "-n", "default", "rollout", "status", "daemonset/"+name, "--timeout=180s")
	address = addressOf(t, p, name)
	delivered(t, p, name, address)
	return address, awaitOwner(t, p, address, firstFor(t, address, p.Cluster.Nodes()))
}

// firstFor is the one of the nodes that announces the address if all of them can.
func firstFor(t *testing.T, address string, nodes []string) string {
	t.Helper()
	addr, err := netip.ParseAddr(address)
	if err != nil {
		t.Fatal(err)
	}
	var all []election.Candidate
	for _, node := range nodes {
		all = append(all, election.Candidate{Node: node})
	}
	return election.Order(addr, all)[0]
}

// settled waits until every speaker works. One that has just come stands back
// for a while; awaitOwner tells when that is over.
func settled(t *testing.T, p *install.Product) {
	t.Helper()
	if err := p.Cluster.WaitNodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	kubectl(t, p, "-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=180s")
}

// TestMaintenance moves an address by annotation, away and back.
func TestMaintenance(t *testing.T) {
	p := installed(t)
	for _, policy := range []string{"Local", "Cluster"} {
		t.Run(policy, func(t *testing.T) {
			address, owner := echo(t, p, policy)
			w := watch(t, p, address)
			kubectl(t, p, "annotate", "node", owner, "lb.fairlead.dev/drain=new memory")
			t.Cleanup(func() {
				_, _ = p.Cluster.Kubectl(context.WithoutCancel(t.Context()), "annotate", "node", owner, "lb.fairlead.dev/drain-")
			})
			next := awaitOwner(t, p, address, "!"+owner)
			kubectl(t, p, "annotate", "node", owner, "lb.fairlead.dev/drain-")
			awaitOwner(t, p, address, owner)
			observe(t, time.Second)
			check(t, p, w, limits{silence: plannedSilence, moves: 2, double: handoverTime})
			t.Logf("%s moved from %s to %s and back", address, owner, next)
		})
	}
}

// TestSpeakerRollout replaces all speakers, one after the other. Each of the
// three may give the address up when it stops, and take it when it is back: the
// next one stops before the one before has settled.
func TestSpeakerRollout(t *testing.T) {
	p := installed(t)
	address, owner := echo(t, p, "Cluster")
	w := watch(t, p, address)
	kubectl(t, p, "-n", "metallb-system", "rollout", "restart", "daemonset/speaker")
	settled(t, p)
	awaitOwner(t, p, address, owner)
	observe(t, time.Second)
	check(t, p, w, limits{silence: plannedSilence, moves: 6, double: handoverTime})
}
