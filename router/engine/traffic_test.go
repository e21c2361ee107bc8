package engine

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/traffic"
)

// counted is what a HAProxy in memory has counted: as much for each of its backends, and nothing once it is another
// process.
type counted struct {
	haproxy  *memory
	pid      int
	requests uint64
	single   []string
	// totals counts the readings without gauges.
	totals int
}

func (c *counted) set(requests uint64) { c.pid, c.requests = c.haproxy.pid, requests }

func (c *counted) Counters(each func(int, *traffic.Reading), backends ...string) error {
	c.single = append(c.single, backends...)
	if len(backends) == 0 {
		for name := range c.haproxy.state.Backends {
			backends = append(backends, name)
		}
	}
	if c.pid != c.haproxy.pid {
		c.set(0)
	}
	for _, name := range backends {
		if c.haproxy.state.Backends[name] != nil {
			each(c.haproxy.pid, &traffic.Reading{Backend: name, Counts: traffic.Counts{traffic.Status2xx: c.requests}})
		}
	}
	return nil
}

func (c *counted) Totals(each func(int, *traffic.Reading)) (bool, error) {
	c.totals++
	return true, c.Counters(func(pid int, r *traffic.Reading) {
		r.Partial = true
		each(pid, r)
	})
}

// total returns the requests of all routes, and of one in series of its own.
func (b *bench) total(route string) (all, own float64) {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "fairlead_router_requests_total" {
				all += m.GetCounter().GetValue()
			}
		}
	}
	var page strings.Builder
	if err := b.metrics.WriteRoutes(&page); err != nil {
		b.t.Fatal(err)
	}
	for l := range strings.Lines(page.String()) {
		series, value, _ := strings.Cut(strings.TrimSpace(l), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil && strings.HasPrefix(series, "fairlead_route_requests_total{") && strings.Contains(series, `route="`+route+`"`) {
			own += n
		}
	}
	return all, own
}

// TestTrafficOfRemovedBackends: what a backend has counted since the last look is taken in before it is removed, and
// before a reload ends the process that counts.
func TestTrafficOfRemovedBackends(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.stop()
		c := &counted{haproxy: b.haproxy}
		b.counters = c
		b.start()
		b.put("a", "a.example.com", "one")
		if all, own := b.total("a"); all != 0 || own != 0 {
			t.Errorf("before a request there are %v, %v of them in its series", all, own)
		}
		c.set(5)
		b.remove("a")
		b.pass(time.Minute)
		if len(b.haproxy.state.Backends) != 0 || len(c.single) == 0 {
			t.Fatalf("backends are %v, read before they went: %v", b.haproxy.state.Backends, c.single)
		}
		if all, own := b.total("a"); all != 5 || own != 5 {
			t.Errorf("after 5 requests and the end of the route there are %v, %v of them in its series", all, own)
		}

		c.set(0)
		b.put("b", "b.example.com", "one")
		c.set(7)
		b.settings.Render.MaxConn++
		b.changed <- struct{}{}
		b.pass(10 * time.Second)
		if b.haproxy.reloads == 0 {
			t.Fatal("the new settings caused no reload")
		}
		c.set(2) // of the new process
		b.pass(10 * time.Second)
		if all, own := b.total("b"); all != 5+7+2 || own != 7+2 {
			t.Errorf("after 7 requests, a reload and 2 more there are %v of all, %v of b; want 14 and 9", all, own)
		}
	})
}

// TestTrafficBudget: the setting counts at once.
func TestTrafficBudget(t *testing.T) {
	t.Parallel()
	inBubble(t, func(b *bench) {
		b.stop()
		b.counters = &counted{haproxy: b.haproxy}
		b.settings.Series = traffic.LeastSeries
		b.start()
		budget := func() (n float64) {
			families, err := b.registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range families {
				for _, m := range f.GetMetric() {
					if f.GetName() == "fairlead_router_series" && m.GetLabel()[0].GetValue() == "budget" {
						n = m.GetGauge().GetValue()
					}
				}
			}
			return n
		}
		if got := budget(); got != traffic.LeastSeries {
			t.Errorf("the budget is %v", got)
		}
		b.settings.Series = 0
		b.changed <- struct{}{}
		b.pass(time.Second)
		if got := budget(); got != traffic.Series {
			t.Errorf("without the setting the budget is %v", got)
		}
	})
}
