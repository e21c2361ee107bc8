package main

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// againstSamples is how often a change of each kind is made in a turn, and againstStarts how many starts of both
// programs changes are compared in, for each one in which the rest is. Where the memory of a HAProxy lies
// decides more about a change than how often it is made: one program against itself shows 0.8 to 1.4 in a
// single start. So there are many starts with few samples.
const againstSamples, againstStarts = 4 * pool, 6

// againstProgram compares the router with another version of it. Both serve the same routes,
// beside the bench's own router, which stands still, as does the one that is not measured. After
// -only policies, every tenth of the routes has all of them.
func (b *bench) againstProgram(ctx context.Context) error {
	end, err := b.standStill(ctx)
	if err != nil {
		return err
	}
	defer end()
	shares, starts := map[string][]float64{}, make([][]float64, 2)
	for start := range b.starts {
		if err := b.againstOnce(ctx, start, shares, starts); err != nil {
			return err
		}
	}
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

// standStill stops the bench's own router until the function that it returns is called.
func (b *bench) standStill(ctx context.Context) (end func(), err error) {
	if b.against == "" {
		return nil, errors.New("name the other router with -against")
	}
	if b.starts < 2 || b.starts%2 != 0 {
		return nil, fmt.Errorf("-starts %d: give an even number, because the router that is started last answers up to a tenth sooner", b.starts)
	}
	if err := b.router.Signal(syscall.SIGSTOP); err != nil {
		return nil, err
	}
	return func() { _ = b.router.Signal(syscall.SIGCONT) }, b.leadNone(ctx) // it may have ended
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
// lies is decided by its start, so that one start of each says little about requests. Memory
// is measured with the first ones.
func (b *bench) againstOnce(ctx context.Context, start int, shares map[string][]float64, starts [][]float64) error {
	sides, end, err := b.startBoth(ctx, start, starts, func(s *side) error {
		if start > 0 {
			return nil
		}
		err := pause(ctx, settled)
		s.memory, s.proxyMemory = residentOf(s)
		return err
	})
	if err != nil {
		return err
	}
	defer end()
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
	return nil
}

// startBoth starts this router and the other one, each of them first every second time, looks at
// each when it is ready, and has it stand still.
func (b *bench) startBoth(ctx context.Context, start int, starts [][]float64, look func(*side) error) (sides []*side, end func(), err error) {
	sides = make([]*side, 2)
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	for n := range sides {
		i := (n + start) % len(sides)
		name, program := []string{"this", "other"}[i], []string{"", b.against}[i]
		b.progress("start %d of the %s router", start+1, name)
		s, stop, err := b.beside(ctx, program, fmt.Sprintf("%s%d", name, start), rig.Ports{HTTP: 8090 + i, HTTPS: 8453 + i, Stats: 1946 + i})
		if err != nil {
			end()
			return nil, nil, err
		}
		ends = append(ends, stop)
		starts[i] = append(starts[i], s.start.Seconds())
		if err := errors.Join(look(s), s.router.Signal(syscall.SIGSTOP)); err != nil {
			end()
			return nil, nil, err
		}
		sides[i] = s
	}
	return sides, end, nil
}

func residentOf(s *side) (router, proxy float64) {
	r, p := s.router.Usage()
	return report.Megabytes(r.Memory), report.Megabytes(p.Memory)
}

// changed is what all starts show of a kind of change: by how much this router takes longer, and how much more it
// computes, for each start.
type changed struct {
	took, computed []float64
	texts          []string
}

// changeNames are the kinds of changes that are compared, in the order of the report.
func changeNames() []string {
	return []string{"route add", "endpoint change", "weight change", "path change"}
}

// changesAgainst compares how long changes take to show.
func (b *bench) changesAgainst(ctx context.Context) error {
	end, err := b.standStill(ctx)
	if err != nil {
		return err
	}
	defer end()
	changes := map[string]*changed{}
	for _, name := range changeNames() {
		changes[name] = &changed{}
	}
	for start := range againstStarts * b.starts {
		sides, end, err := b.startBoth(ctx, start, make([][]float64, 2), func(*side) error { return nil })
		if err != nil {
			return err
		}
		err = b.compareChanges(ctx, start, changes, sides)
		end()
		if err != nil {
			return err
		}
	}
	for _, name := range changeNames() {
		c := changes[name]
		for _, line := range []struct {
			what   string
			ratios []float64
		}{{", p50, against the other router", c.took}, {", the router's processor time, against the other", c.computed}} {
			mean, off := meanRatio(line.ratios)
			b.report.Require(name+line.what, mean, "", report.AtMost(slow), fmt.Sprintf("±%.3f, of %d starts of both", off, len(line.ratios)))
		}
		b.progress("%s: %s", name, strings.Join(c.texts, ", "))
	}
	return nil
}

// meanRatio returns the geometric mean, and by how much it may be off (its standard error).
func meanRatio(ratios []float64) (mean, off float64) {
	sum, squares, n := 0.0, 0.0, float64(len(ratios))
	for _, r := range ratios {
		sum += math.Log(r)
		squares += math.Log(r) * math.Log(r)
	}
	spread := math.Sqrt(max(squares/n-sum/n*sum/n, 0) / max(n-1, 1))
	mean = math.Exp(sum / n)
	return mean, mean * spread
}

// compareChanges measures in turns how long changes take to show. Each router is first as often as the
// other one, because the second one of a round has it easier: with one round for each start, a program
// against itself showed 1.07 and 1.2.
func (b *bench) compareChanges(ctx context.Context, start int, changes map[string]*changed, sides []*side) error {
	seen, computed := map[string][][]float64{}, map[string][]float64{}
	for _, name := range changeNames() {
		seen[name], computed[name] = make([][]float64, len(sides)), make([]float64, len(sides))
	}
	for round := range sides {
		for n := range sides {
			i := (n + round) % len(sides)
			s := sides[i]
			if err := s.router.Signal(syscall.SIGCONT); err != nil {
				return err
			}
			err := b.changesOf(ctx, s, fmt.Sprintf("t%dr%ds%d-", start, round, i), func(name string, took []float64, spent float64) {
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
		c, this, other := changes[name], median(seen[name][0]), median(seen[name][1])
		c.took, c.computed = append(c.took, this/other), append(c.computed, computed[name][0]/computed[name][1])
		c.texts = append(c.texts, fmt.Sprintf("%.2f ms against %.2f", this, other))
	}
	return nil
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
