package collect

import (
	"context"
	"sync"
	"time"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/router/traffic/top"
	"github.com/fairlead/fairlead/router/traffic/top/cluster"
)

// trafficPause is the time between the two readings that a rate is made of.
const trafficPause = time.Second

// trafficPatience bounds both readings, so that a router that hangs does not keep the rest waiting.
const trafficPatience = 6 * time.Second

// mostTraffic is how many IngressControllers are asked what they serve.
const mostTraffic = 8

// traffic reads twice what the routers have counted. Those that cannot be asked are left out: nothing is judged by it, and
// not every user may.
func (r *reader) traffic(ctx context.Context) {
	if !r.options.Traffic {
		return
	}
	s := r.snapshot
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range s.Controllers[:min(len(s.Controllers), mostTraffic)] {
		name := s.Controllers[i].Name
		wg.Go(func() {
			if t, ok := r.trafficOf(ctx, name); ok {
				mu.Lock()
				defer mu.Unlock()
				s.Traffic = append(s.Traffic, t)
			}
		})
	}
	wg.Wait()
}

func (r *reader) trafficOf(ctx context.Context, name string) (t check.Traffic, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, trafficPatience)
	defer cancel()
	source, err := cluster.New(r.config, name)
	if err != nil {
		return t, false
	}
	before, _, err := source.Read(ctx)
	if err != nil {
		return t, false
	}
	select {
	case <-ctx.Done():
		return t, false
	case <-time.After(trafficPause):
	}
	after, unread, err := source.Read(ctx)
	if err != nil {
		return t, false
	}
	return trafficOf(name, before, after, unread), true
}

// trafficOf is what the replicas served between two readings. One that has only one counts as not asked.
func trafficOf(name string, before, after map[string]*top.Reading, unread []string) check.Traffic {
	var pairs []top.Pair
	for pod, now := range after {
		if was := before[pod]; was != nil {
			pairs = append(pairs, top.Pair{Before: was, After: now})
		}
	}
	_, total, _ := top.Rates(pairs)
	return check.Traffic{
		Router: name, Requests: total.Requests, ErrorPercent: total.Errors, Connections: total.Connections,
		Replicas: len(pairs), Silent: len(unread) + len(after) - len(pairs),
	}
}
