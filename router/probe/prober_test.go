package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// pods are endpoints that answer as they are told, and count.
type pods struct {
	mu    sync.Mutex
	asked map[model.ProbeTarget]int
	sick  map[model.ProbeTarget]bool
	// hangs are namespaces whose endpoints never answer.
	hangs map[string]bool
	most  map[string]int
	now   map[string]int
}

func (p *pods) ask(ctx context.Context, probe *pipeline.Probe) error {
	p.mu.Lock()
	p.asked[probe.ProbeTarget]++
	p.now[probe.Namespace]++
	p.most[probe.Namespace] = max(p.most[probe.Namespace], p.now[probe.Namespace])
	sick, hangs := p.sick[probe.ProbeTarget], p.hangs[probe.Namespace]
	p.mu.Unlock()
	defer func() { p.mu.Lock(); p.now[probe.Namespace]--; p.mu.Unlock() }()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	if sick {
		return errors.New("sick")
	}
	return nil
}

func (p *pods) set(t model.ProbeTarget, sick bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sick[t] = sick
}

func (p *pods) count(t model.ProbeTarget) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[t]
}

func probeOf(namespace string, n int) pipeline.Probe {
	return pipeline.Probe{Every: 5 * time.Second, ProbeTarget: model.ProbeTarget{
		Namespace: namespace, Address: netip.MustParseAddrPort(fmt.Sprintf("198.18.%d.%d:80", n/250, n%250+1)),
		Probe: model.Probe{Type: model.ProbeTCP, Interval: 5 * time.Second, Timeout: 2 * time.Second, Rise: 2, Fall: 3},
	}}
}

// bench runs a prober with a clock of its own.
func bench(t *testing.T, test func(p *Prober, pods *pods, next func() []pipeline.ProbeResult)) {
	synctest.Test(t, func(t *testing.T) {
		pods := &pods{asked: map[model.ProbeTarget]int{}, sick: map[model.ProbeTarget]bool{}, hangs: map[string]bool{}, most: map[string]int{}, now: map[string]int{}}
		p := newProber(pods.ask, slog.New(slog.DiscardHandler), NewMetrics(prometheus.NewRegistry()))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- p.Run(ctx) }()
		test(p, pods, func() []pipeline.ProbeResult {
			synctest.Wait()
			select {
			case r := <-p.Results():
				return r
			default:
				return nil
			}
		})
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		pass(time.Minute) // probes under way end by their own time-outs
	})
}

// pass lets time pass, by the clock of the bubble.
func pass(d time.Duration) { <-time.After(d) }

// TestFallAndRise: an endpoint is sick after three failures in a row, and healthy after two
// good answers in a row.
func TestFallAndRise(t *testing.T) {
	bench(t, func(p *Prober, pods *pods, next func() []pipeline.ProbeResult) {
		one := probeOf("a", 1)
		p.Set([]pipeline.Probe{one})
		pass(time.Minute)
		if got := next(); got != nil {
			t.Fatalf("a healthy endpoint changed: %v", got)
		}
		for round := range 3 {
			pods.set(one.ProbeTarget, round%2 == 0)
			before := pods.count(one.ProbeTarget)
			var got []pipeline.ProbeResult
			for got == nil {
				pass(100 * time.Millisecond)
				got = next()
			}
			want := 3 - round%2
			if asked := pods.count(one.ProbeTarget) - before; asked != want || got[0] != (pipeline.ProbeResult{Target: one.ProbeTarget, Sick: round%2 == 0}) {
				t.Errorf("round %d: %v after %d probes, want %d", round, got, asked, want)
			}
		}
	})
}

// TestFlapping: fewer failures in a row than fall change nothing.
func TestFlapping(t *testing.T) {
	bench(t, func(p *Prober, pods *pods, next func() []pipeline.ProbeResult) {
		one := probeOf("a", 1)
		p.Set([]pipeline.Probe{one})
		for i := range 40 {
			before := pods.count(one.ProbeTarget)
			pods.set(one.ProbeTarget, i%3 != 2)
			for pods.count(one.ProbeTarget) == before {
				pass(50 * time.Millisecond)
				synctest.Wait()
			}
			if got := next(); got != nil {
				t.Fatalf("after %d answers: %v", i, got)
			}
		}
	})
}

// TestPace: targets are asked as often as they say, spread over the interval, and no more
// often when the list is replaced all the time.
func TestPace(t *testing.T) {
	bench(t, func(p *Prober, pods *pods, _ func() []pipeline.ProbeResult) {
		var all []pipeline.Probe
		for i := range 100 {
			all = append(all, probeOf("a", i))
		}
		for range 600 {
			p.Set(all)
			pass(100 * time.Millisecond)
		}
		total := 0
		for i := range all {
			n := pods.count(all[i].ProbeTarget)
			if total += n; n < 11 || n > 13 {
				t.Errorf("%s was asked %d times in a minute", all[i].Address, n)
			}
		}
		pods.mu.Lock()
		if pods.most["a"] > 20 {
			t.Errorf("%d probes at once", pods.most["a"])
		}
		pods.mu.Unlock()
		p.Set(all[:1])
		synctest.Wait()
		before := pods.count(all[1].ProbeTarget)
		pass(time.Minute)
		if got := pods.count(all[1].ProbeTarget); got != before {
			t.Errorf("an endpoint that is gone was asked %d times more", got-before)
		}
	})
}

// TestHangingNamespace: endpoints that never answer delay only the probes of their own
// namespace.
func TestHangingNamespace(t *testing.T) {
	bench(t, func(p *Prober, pods *pods, next func() []pipeline.ProbeResult) {
		pods.hangs["bad"] = true
		var all []pipeline.Probe
		for i := range 2000 {
			all = append(all, probeOf("bad", i))
		}
		good := probeOf("good", 1)
		p.Set(append(all, good))
		for range 60 {
			pass(time.Second)
			next()
		}
		pods.mu.Lock()
		defer pods.mu.Unlock()
		if n := pods.asked[good.ProbeTarget]; n < 11 {
			t.Errorf("the other namespace was asked %d times in a minute", n)
		}
		if pods.most["bad"] > atOnceOfNamespace {
			t.Errorf("%d probes of one namespace at once", pods.most["bad"])
		}
	})
}
