package cases

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/process"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/share/peers"
)

// sharedRoutes are Routes whose limits hold for all replicas. Owners begin with empty
// buckets, so limits of an hour would admit nothing in a test.
func sharedRoutes() string {
	one := func(more string) string {
		return "requests: [{name: one, requests: 1, per: 3s, scope: Shared" + more + "}]"
	}
	return strings.Join([]string{
		ratedRoute("together", "", `requests: [{name: all, requests: 50, burst: 20, key: {type: None}, scope: Shared}]`),
		ratedRoute("annotated", `fairlead.dev/limit: "20/m burst 1", fairlead.dev/limit-key: "header:X-User", fairlead.dev/limit-scope: Shared`, ""),
		ratedRoute("bycookie", "", one(`, key: {type: Cookie, name: sid}`)),
		ratedRoute("byquery", "", one(`, key: {type: Query, name: k}`)),
		ratedRoute("byhost", "", one(`, key: {type: Host}, headers: None`)),
		ratedRoute("unavailable", "", one(`, key: {type: None}, status: 503, headers: Legacy`)),
		ratedRoute("exempt", "", one(`, exempt: [127.0.0.2]`)),
		ratedRoute("dry", "", one(`, dryRun: true`)),
		ratedRoute("both", "", `requests: [{name: own, requests: 1, per: 1h}, {name: all, requests: 9, scope: Shared}]`),
		ratedRoute("free", "", ""),
	}, "---\n")
}

// replicaBeds are routers of one IngressController, each with HAProxy and an agent, that
// serve the same objects.
func replicaBeds(t *testing.T, network string, n int, objects string) (beds []*bed) {
	t.Helper()
	certificate, err := peers.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var members []netip.Addr
	for i := range n {
		members = append(members, netip.MustParseAddr(fmt.Sprintf("%s.%d", network, i+1)))
	}
	for i := range n {
		b := newBed(t, "haproxy", newMemory())
		b.agent = &agentBed{dir: b.layout.Run}
		b.agent.replicas.Store(&snapshot.Replicas{Self: members[i], Members: members, Port: 9443, Certificates: [][]byte{certificate}})
		b.startAgent()
		beds = append(beds, b)
	}
	for _, b := range beds {
		b.ratedBed(t, objects, "free.rt.test")
	}
	return beds
}

// shared returns a metric of the agent for shared limits, over both workers.
func (b *bed) shared(name, reason string) (n float64) {
	b.t.Helper()
	families, err := process.Gatherer(b.agent.dir).Gather()
	if err != nil {
		return -1
	}
	for _, f := range families {
		if f.GetName() != "fairlead_agent_shared_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			is := reason == ""
			for _, l := range m.GetLabel() {
				is = is || l.GetName() == "reason" && l.GetValue() == reason
			}
			if is {
				n += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// acting waits until keys have owners, and until those have earned their bursts.
func acting(t *testing.T, beds []*bed) {
	t.Helper()
	for _, b := range beds {
		b.eventually("an owner of each key", func() error {
			if status := b.ask1("together.rt.test"); status != http.StatusOK {
				return fmt.Errorf("status %d", status)
			}
			return nil
		})
	}
}

// TestSharedLimits: two routers with two workers each admit together what the limit says,
// with most of the load at one of them, also while workers are killed. Nothing gets
// through where nothing counts.
func TestSharedLimits(t *testing.T) {
	t.Parallel()
	beds := replicaBeds(t, "127.0.71", 2, sharedRoutes())
	acting(t, beds)
	const rate, burst = 50, 20
	// A busy machine may keep all clients waiting for longer than a burst lasts. What a bucket earns then, it loses.
	const full = burst * time.Second / rate
	load := func(took time.Duration) (admitted, asked, uncounted int64, lost time.Duration) {
		var ok, all, unavailable atomic.Int64
		var mu sync.Mutex
		answered := time.Now()
		var running sync.WaitGroup
		end := time.Now().Add(took)
		for i := range 8 {
			b := beds[0]
			if i == 0 {
				b = beds[1]
			}
			running.Go(func() {
				for time.Now().Before(end) {
					status := b.ask1("together.rt.test")
					all.Add(1)
					mu.Lock()
					lost += max(time.Since(answered)-full, 0)
					answered = time.Now()
					mu.Unlock()
					switch status {
					case http.StatusOK:
						ok.Add(1)
						continue
					case http.StatusServiceUnavailable:
						unavailable.Add(1)
					case http.StatusTooManyRequests:
					default:
						t.Errorf("status %d", status)
					}
					<-time.After(4 * time.Millisecond)
				}
			})
		}
		running.Wait()
		return ok.Load(), all.Load(), unavailable.Load(), lost
	}
	load(time.Second) // takes the bursts
	began := time.Now()
	admitted, asked, uncounted, lost := load(4 * time.Second)
	most := rate*time.Since(began).Seconds() + burst
	t.Logf("%d of %d requests admitted, at most %.0f are right; %d could not be counted, and for %s there was room for all", admitted, asked, most, uncounted, lost)
	if float64(admitted) > most {
		t.Errorf("%d of %d requests admitted, at most %.0f are right", admitted, asked, most)
	}
	// What an owner does not count within milliseconds is refused, as it should be: on a busy machine that
	// is in the place of requests that it would have admitted.
	if float64(admitted+uncounted) < 0.8*rate*(4*time.Second-lost).Seconds() || admitted < rate {
		t.Errorf("only %d of %d requests admitted, and %d not counted: %d each second are right", admitted, asked, uncounted, rate)
	}
	if beds[0].shared("refused_total", "limit")+beds[1].shared("refused_total", "limit") == 0 {
		t.Error("no refusal is counted")
	}

	began = time.Now()
	stop := background(func(ctx context.Context) {
		for ctx.Err() == nil {
			beds[1].signalWorkers(syscall.SIGKILL)
			select {
			case <-ctx.Done():
			case <-time.After(1500 * time.Millisecond):
			}
		}
	})
	admitted, asked, _, _ = load(5 * time.Second)
	stop()
	most = rate*time.Since(began).Seconds() + burst
	t.Logf("%d of %d requests admitted while workers were killed, at most %.0f are right", admitted, asked, most)
	if float64(admitted) > most {
		t.Errorf("%d of %d requests admitted while workers were killed, at most %.0f are right", admitted, asked, most)
	}

	beds[0].killWorkers()
	beds[0].eventually("nothing gets through", func() error {
		if status := beds[0].ask1("together.rt.test"); status != http.StatusServiceUnavailable {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
	if status := beds[0].ask1("free.rt.test"); status != http.StatusOK {
		t.Errorf("a Route without a limit: status %d", status)
	}
}

// TestSharedAnswers: what is counted together is as the key says, and clients are told as
// of limits of one replica.
func TestSharedAnswers(t *testing.T) {
	t.Parallel()
	b := replicaBeds(t, "127.0.72", 1, sharedRoutes())[0]
	acting(t, []*bed{b})
	<-time.After(earned)
	for _, lines := range [][]string{
		{
			`127.0.0.1 GET http://annotated.rt.test/ h:X-User=a -> 200 pod=web resp:RateLimit-Policy="\"requests\";q=1;w=3"`,
			`127.0.0.2 GET http://annotated.rt.test/ h:X-User=a -> 429 resp:Retry-After=3 resp:RateLimit="\"requests\";r=0;t=3" body~"Too many requests."`,
			`127.0.0.2 GET http://annotated.rt.test/ h:X-User=b -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 200`,
			`127.0.0.1 GET http://annotated.rt.test/ -> 429`,
		},
		{
			`127.0.0.1 GET http://bycookie.rt.test/ h:Cookie=sid=1 -> 200`,
			`127.0.0.1 GET http://bycookie.rt.test/ h:Cookie=sid=2 -> 200`,
			`127.0.0.2 GET http://bycookie.rt.test/ h:Cookie=sid=1 -> 429`,
		},
		{
			`127.0.0.1 GET http://byquery.rt.test/?k=1 -> 200`,
			`127.0.0.1 GET http://byquery.rt.test/?k=2 -> 200`,
			`127.0.0.2 GET http://byquery.rt.test/?a&k=1 -> 429`,
		},
		{
			`127.0.0.1 GET http://byhost.rt.test/ -> 200`,
			`127.0.0.2 GET http://byhost.rt.test/ -> 429`,
		},
		{
			`127.0.0.1 GET http://unavailable.rt.test/ -> 200 resp:X-RateLimit-Limit=1`,
			`127.0.0.2 GET http://unavailable.rt.test/ -> 503 resp:X-RateLimit-Remaining=0`,
		},
		{
			`127.0.0.1 GET http://exempt.rt.test/ -> 200`,
			`127.0.0.1 GET http://exempt.rt.test/ -> 429`,
			`127.0.0.2 GET http://exempt.rt.test/ -> 200`,
			`127.0.0.2 GET http://exempt.rt.test/ -> 200`,
		},
		{
			`127.0.0.1 GET http://dry.rt.test/ -> 200`,
			`127.0.0.1 GET http://dry.rt.test/ -> 200 resp:RateLimit="\"one\";r=0;t=3"`,
		},
		{
			`127.0.0.1 GET http://both.rt.test/ -> 200`,
			`127.0.0.1 GET http://both.rt.test/ -> 429`,
		},
	} {
		b.expectShared(lines)
	}
}

// earned is how long the bursts of sharedRoutes take to be full, and some more.
const earned = 3500 * time.Millisecond

// expectShared expects the answers of one Route's requests. What its owner does not count
// within 5 ms is refused, and a busy machine may need longer: then all of them are asked
// again with a full burst.
func (b *bed) expectShared(lines []string) {
	b.t.Helper()
	const attempts = 5
	for attempt := 1; ; attempt++ {
		before := b.uncounted()
		var wrong []error
		for _, line := range lines {
			if err := b.counted(line); err != nil {
				wrong = append(wrong, err)
			}
		}
		switch late := b.uncounted() - before; {
		case len(wrong) == 0:
			return
		case late == 0 || attempt == attempts:
			b.t.Errorf("attempt %d, %v not counted in time: %v", attempt, late, errors.Join(wrong...))
			return
		}
		<-time.After(earned)
	}
}

// uncounted returns how many requests were refused because nothing counted them in time.
func (b *bed) uncounted() float64 {
	b.t.Helper()
	return b.shared("refused_total", "late") + b.shared("refused_total", "no_owner")
}

// TestSharedAlone: a router that does not know who counts with it lets nothing through,
// and begins when it does.
func TestSharedAlone(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	b.ratedBed(t, sharedRoutes(), "free.rt.test")
	if status := b.ask1("together.rt.test"); status != http.StatusServiceUnavailable {
		t.Errorf("status %d without replicas", status)
	}
	if status := b.ask1("dry.rt.test"); status != http.StatusOK {
		t.Errorf("status %d of a dry run", status)
	}
	certificate, err := peers.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	self := netip.MustParseAddr("127.0.73.1")
	b.agent.replicas.Store(&snapshot.Replicas{Self: self, Members: []netip.Addr{self}, Port: 9443, Certificates: [][]byte{certificate}})
	acting(t, []*bed{b})
}
