package kube

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// arrivalPause is how often to ask which kinds the API server has, while one is missing. The answer
// is small, and a user who has just installed the CRDs waits for them to be served.
const arrivalPause = 2 * time.Second

// arrivals knows which kinds of an API group's version the API server has. It asks only while
// a feed waits for one.
type arrivals struct {
	client *rest.RESTClient
	path   string

	mu      sync.Mutex
	waiting int
	has     map[string]bool
	// asked is closed by the next answer.
	asked chan struct{}
}

func newArrivals(client *rest.RESTClient, path string) *arrivals {
	return &arrivals{client: client, path: path, asked: make(chan struct{})}
}

// await returns once the API server says that it has a resource, at the earliest with its next
// answer, or after a time, or when ctx ends.
func (a *arrivals) await(ctx context.Context, resource string, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	a.count(1)
	defer a.count(-1)
	for {
		a.mu.Lock()
		asked := a.asked
		a.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-asked:
		}
		a.mu.Lock()
		has := a.has[resource]
		a.mu.Unlock()
		if has {
			return
		}
	}
}

func (a *arrivals) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting += n
}

// run asks until ctx ends.
func (a *arrivals) run(ctx context.Context) {
	tick := time.NewTicker(arrivalPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		a.mu.Lock()
		idle := a.waiting == 0
		a.mu.Unlock()
		if !idle {
			a.ask(ctx)
		}
	}
}

// ask tells those who wait what the API server has. An error says nothing: what is missing is
// asked for by itself after a time.
func (a *arrivals) ask(ctx context.Context) {
	var list struct {
		Resources []struct{ Name string }
	}
	text, err := a.client.Get().AbsPath(a.path).Do(ctx).Raw()
	if err != nil || json.Unmarshal(text, &list) != nil {
		return
	}
	has := make(map[string]bool, len(list.Resources))
	for _, r := range list.Resources {
		has[r.Name] = true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.has = has
	close(a.asked)
	a.asked = make(chan struct{})
}
