package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// What a version may cost more than another one: in requests for each second of a processor, in the
// time of a change, and in memory.
const fast, slow, large = 0.97, 1.03, 1.05

// settled is when a router has given back what its start needed, also one of a version that
// does so after a minute.
const settled = 75 * time.Second

// againstSamples is how often a change of each kind is made in a round. It is so large that a router collects
// garbage several times meanwhile: with thirty changes, which take 40 ms of a processor together, whether
// one collection of 100 ms fell among them decided what was measured.
const againstSamples = 20 * pool

// againstProgram compares the router with another version of it. Both serve the same routes,
// beside the bench's own router, which stands still, as does the one that is not measured. After
// -only policies, every tenth of the routes has all of them.
func (b *bench) againstProgram(ctx context.Context) error {
	if b.against == "" {
		return errors.New("name the other router with -against")
	}
	if b.starts < 2 || b.starts%2 != 0 {
		return fmt.Errorf("-starts %d: give an even number, because the router that is started last answers up to a tenth sooner", b.starts)
	}
	if err := b.router.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	defer func() { _ = b.router.Signal(syscall.SIGCONT) }() // it may have ended
	if err := b.leadNone(ctx); err != nil {
		return err
	}
	shares, starts, changes := map[string][]float64{}, make([][]float64, 2), map[string]*changed{}
	for start := range b.starts {
		if err := b.againstOnce(ctx, start, shares, starts, changes); err != nil {
			return err
		}
	}
	b.requireChanges(changes)
	this, other := median(starts[0]), median(starts[1])
	b.report.Require("cold start to ready, against the other router", this/other, "", report.AtMost(slow), fmt.Sprintf("%.2f s against %.2f, of %.3g and %.3g", this, other, starts[0], starts[1]))
	for _, c := range b.againstRivals() {
		texts := make([]string, 0, b.starts)
		for _, share := range shares[c.name] {
			texts = append(texts, fmt.Sprintf("%.3f", share))
		}
		b.report.Require(c.name, median(shares[c.name]), "", report.AtLeast(c.bound), "of so many starts of both: "+strings.Join(texts, ", "))
	}
	return nil
}

// leadNone keeps both routers from writing status: that is work of one side alone.
func (b *bench) leadNone(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperandNamespace, Name: "router-default-status"}}
	document := fmt.Sprintf(`{"spec": {"holderIdentity": "bench", "leaseDurationSeconds": %d}}`, int((24 * time.Hour).Seconds()))
	return b.rig.Patch(ctx, lease, document)
}

func (b *bench) againstRivals() []rival {
	return []rival{
		{"requests/s, 16 warm hosts, against the other router", 0, warmHosts, fast},
		{"requests/s, random hosts, against the other router", 0, b.routes, fast},
	}
}

// againstOnce starts both routers and compares what they serve. Where the memory of a HAProxy
// lies is decided by its start, so that one start of each says little about requests and changes. Memory
// is measured with the first ones.
func (b *bench) againstOnce(ctx context.Context, start int, shares map[string][]float64, starts [][]float64, changes map[string]*changed) error {
	sides := make([]*side, 2)
	for n := range sides {
		i := (n + start) % len(sides)
		name, program := []string{"this", "other"}[i], []string{"", b.against}[i]
		b.progress("start %d of the %s router", start+1, name)
		s, end, err := b.beside(ctx, program, fmt.Sprintf("%s%d", name, start), rig.Ports{HTTP: 8090 + i, HTTPS: 8453 + i, Stats: 1946 + i})
		if err != nil {
			return err
		}
		defer end()
		starts[i] = append(starts[i], s.start.Seconds())
		if start == 0 {
			if err := pause(ctx, settled); err != nil {
				return err
			}
			s.memory, s.proxyMemory = residentOf(s)
		}
		if err := s.router.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		sides[i] = s
	}
	this, other := sides[0], sides[1]
	if start == 0 {
		b.report.Require("router memory against the other router", this.memory/other.memory, "", report.AtMost(large), fmt.Sprintf("%.1f MB against %.1f", this.memory, other.memory))
		b.report.Require("HAProxy memory against the other router", this.proxyMemory/other.proxyMemory, "", report.AtMost(large), fmt.Sprintf("%.1f MB against %.1f", this.proxyMemory, other.proxyMemory))
	}
	for _, c := range b.againstRivals() {
		share, text, err := b.shareOf(ctx, c, this, other)
		if err != nil {
			return err
		}
		b.progress("%s: %.3f, %s", c.name, share, text)
		shares[c.name] = append(shares[c.name], share)
	}
	return b.compareChanges(ctx, changes, this, other)
}

func residentOf(s *side) (router, proxy float64) {
	r, p := s.router.Usage()
	return report.Megabytes(r.Memory), report.Megabytes(p.Memory)
}

// pair is what one start of both shows of a kind of change.
type pair struct{ this, other float64 }

// changed is what all starts show of a kind of change: medians of how long it took, in ms, and what the
// routers computed for each, in ms of processor time. The time depends on where HAProxy's memory lies and on
// what else the machine does: one program against itself shows 0.8 to 1.4. Processor time does so much less.
type changed struct{ took, computed []pair }

// changeNames are the kinds of changes that are compared, in the order of the report.
func changeNames() []string {
	return []string{"route add", "endpoint change", "weight change", "path change"}
}

// compareChanges measures how long changes take to show, in turns.
func (b *bench) compareChanges(ctx context.Context, changes map[string]*changed, sides ...*side) error {
	seen, computed := map[string][][]float64{}, map[string][]float64{}
	for _, name := range changeNames() {
		seen[name], computed[name] = make([][]float64, len(sides)), make([]float64, len(sides))
		if changes[name] == nil {
			changes[name] = &changed{}
		}
	}
	// Each of them is first as often as the other one, because the second one of a round has it easier: with one round
	// for each start, a program against itself showed 1.07 and 1.2.
	for round := range max(b.rounds/b.starts/len(sides), 1) * len(sides) {
		for n := range sides {
			i := (n + round) % len(sides)
			s := sides[i]
			if err := s.router.Signal(syscall.SIGCONT); err != nil {
				return err
			}
			err := b.changesOf(ctx, s, fmt.Sprintf("t%dr%ds%d-", len(changes[changeNames()[0]].took), round, i), func(name string, took []float64, spent float64) {
				if all := seen[name]; all != nil {
					all[i] = append(all[i], took...)
					computed[name][i] += spent
				}
			})
			if err := errors.Join(err, s.router.Signal(syscall.SIGSTOP)); err != nil {
				return err
			}
		}
	}
	for _, name := range changeNames() {
		all, c := seen[name], changes[name]
		c.took = append(c.took, pair{median(all[0]), median(all[1])})
		c.computed = append(c.computed, pair{computed[name][0] / float64(len(all[0])), computed[name][1] / float64(len(all[1]))})
	}
	return nil
}

// requireChanges reports what all starts show together.
func (b *bench) requireChanges(changes map[string]*changed) {
	for _, name := range changeNames() {
		c := changes[name]
		for _, line := range []struct {
			what  string
			pairs []pair
		}{{", p50, against the other router", c.took}, {", the router's processor time, against the other", c.computed}} {
			var ratios []float64
			var texts []string
			for _, p := range line.pairs {
				ratios = append(ratios, p.this/p.other)
				texts = append(texts, fmt.Sprintf("%.2f ms against %.2f", p.this, p.other))
			}
			b.report.Require(name+line.what, median(ratios), "", report.AtMost(slow), "of so many starts of both: "+strings.Join(texts, ", "))
		}
	}
}

// changesOf measures changes that one router shows, to routes of its own: how long each took in ms, and
// what the router computed meanwhile in ms of processor time.
func (b *bench) changesOf(ctx context.Context, s *side, prefix string, done func(name string, took []float64, computed float64)) error {
	router, _ := s.router.Usage()
	probe := rig.NewProbeAt(s.port, false)
	defer probe.Close()
	on := &subject{rig: b.rig, probe: probe, prefix: prefix, serials: map[string]string{}}
	for _, c := range []change{
		{"", on.service("add"), on.addRoute}, // what came while it stood still is taken in with the first ones
		{"route add", func(ctx context.Context, i int) error { return on.service("add")(ctx, i+pool) }, func(ctx context.Context, i int) (seen, error) { return on.addRoute(ctx, i+pool) }},
		{"endpoint change", nil, on.setEndpoint},
		{"weight change", on.weighted, on.setWeights},
		{"path change", nil, on.setPath},
	} {
		samples := againstSamples
		if c.name == "" {
			samples = pool
		}
		before, err := rig.Computed(router.PID)
		if err != nil {
			return err
		}
		var took []float64
		for i := range samples {
			d, err := b.sample(ctx, c, i)
			if err != nil {
				return fmt.Errorf("%s, sample %d: %w\n%s", c.name, i, err, s.router.LogEnd())
			}
			took = append(took, report.Milliseconds(d))
		}
		after, err := rig.Computed(router.PID)
		if err != nil {
			return err
		}
		done(c.name, took, report.Milliseconds(after-before))
	}
	return nil
}
