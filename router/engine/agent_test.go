package engine

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	agent "github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// decider is a policy agent in memory.
type decider struct {
	snapshot *snapshot.Snapshot
	// err is why it does not answer, and slow how long it takes.
	err  error
	slow time.Duration
	// onSend looks at the world when a snapshot is there.
	onSend       func()
	sends, looks int
}

func (d *decider) Send(ctx context.Context, whole []byte) (agent.Reply, error) {
	d.sends++
	select {
	case <-ctx.Done():
		return agent.Reply{}, ctx.Err()
	case <-time.After(d.slow):
	}
	if d.err != nil {
		return agent.Reply{}, d.err
	}
	s, err := snapshot.Decode(whole)
	if err != nil {
		return agent.Reply{Error: err.Error()}, nil
	}
	d.snapshot = s
	if d.onSend != nil {
		d.onSend()
	}
	return d.reply(), nil
}

func (d *decider) Ask(context.Context) (agent.Reply, error) {
	d.looks++
	return d.reply(), d.err
}

func (d *decider) reply() agent.Reply {
	if d.snapshot == nil {
		return agent.Reply{Generations: map[string]uint64{"a": 0, "b": 0}}
	}
	return agent.Reply{Generations: map[string]uint64{"a": d.snapshot.Generation, "b": d.snapshot.Generation}}
}

func (d *decider) knows(id string) bool {
	if d.snapshot == nil {
		return false
	}
	for i := range d.snapshot.Policies {
		if d.snapshot.Policies[i].ID == id {
			return true
		}
	}
	return false
}

// asks returns the policy that a host asks the agent about.
func (b *bench) asks(host string) string {
	_, record, _ := strings.Cut(b.haproxy.state.Entries[plan.Entry{Map: plan.MapHTTP, Key: host + "/"}], "|")
	return model.RecordField(record, model.FieldAsk)
}

// gauge returns a metric of the engine.
func (b *bench) gauge(name string) float64 {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

func withAgent(t *testing.T, test func(b *bench, d *decider)) {
	t.Helper()
	inBubble(t, func(b *bench) {
		b.stop()
		d := &decider{}
		b.agent, b.settings.Ingest.Agent, b.settings.Render.AgentDir = d, true, "/run/agent"
		b.start()
		b.pass(time.Second) // its skeleton is another one
		b.annotations = map[string]string{"fairlead.dev/auth-url": "auth/check"}
		test(b, d)
	})
}

// TestAgentFirst: the agent knows a policy before HAProxy asks for it, and for a while
// after HAProxy has stopped.
func TestAgentFirst(t *testing.T) {
	withAgent(t, func(b *bench, d *decider) {
		early := false
		d.onSend = func() { early = early || b.serves("web.test") }
		b.put("web", "web.test", "web")
		id := b.asks("web.test")
		if id == "" || !d.knows(id) || early {
			t.Fatalf("asked for %q, which the agent knows: %t; HAProxy had it before: %t", id, d.knows(id), early)
		}
		d.onSend = nil
		b.annotations = nil
		b.put("web", "web.test", "web")
		if b.asks("web.test") != "" || !d.knows(id) {
			t.Error("requests that have read the former record are refused")
		}
		b.pass(retirement + agentLook + time.Second)
		if d.knows(id) {
			t.Error("the agent keeps what nothing asks for")
		}
	})
}

// TestAgentUnchanged: a change that the agent has nothing to do with costs no snapshot.
func TestAgentUnchanged(t *testing.T) {
	withAgent(t, func(b *bench, d *decider) {
		b.put("web", "web.test", "web")
		sent := d.sends
		b.annotations = nil
		b.put("other", "other.test", "other")
		b.annotations = map[string]string{"fairlead.dev/auth-url": "auth/check"}
		b.put("web", "web.test", "web2")
		if d.sends != sent {
			t.Errorf("%d snapshots", d.sends-sent)
		}
	})
}

// TestAgentAway: without an answer of the agent other routes go live at once, and what
// needs it does too, closed; it is told as soon as it answers.
func TestAgentAway(t *testing.T) {
	withAgent(t, func(b *bench, d *decider) {
		b.put("first", "first.test", "web")
		for name, fail := range map[string]func(){"refuses": func() { d.err = errors.New("no such socket") }, "hangs": func() { d.slow = time.Hour }} {
			fail()
			b.put("web-"+name, name+".test", "web")
			b.pass(agentPatience)
			began := time.Now()
			b.annotations = nil
			b.put("other-"+name, "other-"+name+".test", "other")
			b.annotations = map[string]string{"fairlead.dev/auth-url": "auth/check"}
			if took := time.Since(began); took > 0 || !b.serves("other-"+name+".test") {
				t.Errorf("%s: another route waited %v for the agent", name, took)
			}
			id := b.asks(name + ".test")
			if id == "" || d.knows(id) {
				t.Errorf("%s: asked for %q, which the agent knows: %t", name, id, d.knows(id))
			}
			if b.gauge("fairlead_router_agent_behind") != 1 {
				t.Errorf("%s: no metric says it", name)
			}
			d.err, d.slow = nil, 0
			b.pass(agentTime + 2*agentPause)
			if !d.knows(id) || b.gauge("fairlead_router_agent_behind") != 0 {
				t.Errorf("%s: not told when it was back: %t", name, d.knows(id))
			}
		}
	})
}

// TestAgentForgets: an agent that restarts without its file gets the snapshot
// again, without a change of any object.
func TestAgentForgets(t *testing.T) {
	withAgent(t, func(b *bench, d *decider) {
		b.put("web", "web.test", "web")
		d.snapshot = nil
		b.pass(agentLook + agentPause)
		if !d.knows(b.asks("web.test")) {
			t.Error("the agent knows nothing")
		}
	})
}

// TestAgentNetworks: the agent is told which addresses it never connects to, again when
// they change, and without a change of any object.
func TestAgentNetworks(t *testing.T) {
	withAgent(t, func(b *bench, d *decider) {
		b.stop()
		node := netip.MustParsePrefix("198.18.1.1/32")
		networks := snapshot.Networks{Incomplete: true}
		b.networks = func() snapshot.Networks { return networks }
		b.start()
		b.put("web", "web.test", "web")
		if d.snapshot == nil || !d.snapshot.ByEndpoints || len(d.snapshot.Forbidden) != 0 {
			t.Fatalf("%+v", d.snapshot)
		}
		networks = snapshot.Networks{Forbidden: []netip.Prefix{node}}
		b.pass(agentLook + agentPause)
		if d.snapshot.ByEndpoints || !slices.Equal(d.snapshot.Forbidden, networks.Forbidden) {
			t.Errorf("%+v", d.snapshot)
		}
		sent := d.sends
		b.pass(10 * agentLook)
		if d.sends != sent {
			t.Errorf("%d snapshots without a change", d.sends-sent)
		}
	})
}

// TestAgentReplicas: the agent is told of the routers that count with it before any policy
// asks for it, when they become known, and when they change.
func TestAgentReplicas(t *testing.T) {
	withAgent(t, func(b *bench, d *decider) {
		b.stop()
		var replicas *snapshot.Replicas
		b.replicas = func() *snapshot.Replicas { return replicas }
		b.start()
		b.pass(2 * agentLook)
		if d.snapshot != nil {
			t.Fatalf("without anything to say: %+v", d.snapshot)
		}
		one, two := netip.MustParseAddr("198.18.1.1"), netip.MustParseAddr("198.18.1.2")
		replicas = &snapshot.Replicas{Self: one, Members: []netip.Addr{one}, Port: 9443, Certificates: [][]byte{{1}}}
		b.pass(agentLook + agentPause)
		if d.snapshot == nil || !d.snapshot.Replicas.Equal(replicas) {
			t.Fatalf("%+v", d.snapshot)
		}
		replicas = &snapshot.Replicas{Self: one, Members: []netip.Addr{one, two}, Port: 9443, Certificates: [][]byte{{1}}}
		b.pass(agentLook + agentPause)
		if !d.snapshot.Replicas.Equal(replicas) {
			t.Errorf("%+v", d.snapshot.Replicas)
		}
		sent := d.sends
		b.pass(10 * agentLook)
		if d.sends != sent {
			t.Errorf("%d snapshots without a change", d.sends-sent)
		}
	})
}
