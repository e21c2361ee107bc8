package hostile

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/test/wait"
)

// closed is an allow-list that has no address of the client.
const closed = "haproxy.router.openshift.io/ip_allowlist"

// change is how long a change took to be live, and where the time went.
type change struct {
	route string
	want  int
	began time.Time
	// write is the API server's answer, told how long after it a watch of this
	// process had the change, and live how long after it, which was at began, requests saw
	// it. For still of that time a processor ran nothing.
	write, told, live, still time.Duration
}

func (c change) String() string {
	return fmt.Sprintf("%s → %d live after %v: a watch had it after %v, written in %v; the machine stood still for %v", c.route, c.want,
		c.live.Round(time.Millisecond), c.told.Round(time.Millisecond), c.write.Round(time.Millisecond), c.still.Round(time.Millisecond))
}

// watched is when a watch of the victim's Routes had which change. Its delay is
// the API server's part of the time until a change is live.
type watched struct {
	mu sync.Mutex
	at map[change]time.Time
}

func watchRoutes(t *testing.T) *watched {
	t.Helper()
	w := &watched{at: map[change]time.Time{}}
	to, err := config(victimUser)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(to, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for t.Context().Err() == nil {
			w.follow(t.Context(), c)
			<-time.After(100 * time.Millisecond)
		}
	}()
	return w
}

// follow notes changes until the API server ends the watch.
func (w *watched) follow(ctx context.Context, c client.WithWatch) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("route.openshift.io/v1")
	list.SetKind("RouteList")
	if err := c.List(ctx, list, client.InNamespace("demo")); err != nil {
		return
	}
	events, err := c.Watch(ctx, list, client.InNamespace("demo"), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	if err != nil {
		return
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		o, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		what := change{route: o.GetName(), want: http.StatusOK}
		switch {
		case event.Type == watch.Deleted:
			what.want = http.StatusNotFound
		case o.GetAnnotations()[closed] != "":
			what.want = http.StatusForbidden
		}
		w.mu.Lock()
		if w.at[what].IsZero() {
			w.at[what] = time.Now()
		}
		w.mu.Unlock()
	}
}

// after returns how long after a moment a change was told.
func (w *watched) after(began time.Time, route string, want int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.at[change{route: route, want: want}]
	if !ok {
		return -1 // not yet, though requests see it
	}
	return max(0, at.Sub(began))
}

// change makes one route after the other: open, then with an allow-list that
// has no address of the client, then gone. Each must be seen by requests.
func (v *victim) change(ctx context.Context, s *seen) {
	for ctx.Err() == nil {
		v.round++
		name := fmt.Sprintf("fresh%d", v.round)
		for _, step := range []struct {
			make func(context.Context) error
			want int
		}{
			{func(ctx context.Context) error { return apply(ctx, victimUser, victimRoute(name, false, "")) }, http.StatusOK},
			{func(ctx context.Context) error {
				return apply(ctx, victimUser, victimRoute(name, false, closed+": 203.0.113.7"))
			}, http.StatusForbidden},
			{func(ctx context.Context) error { return remove(ctx, victimUser, "demo", "route", name) }, http.StatusNotFound},
		} {
			c, err := v.live(context.WithoutCancel(ctx), name, step.want, step.make)
			s.mu.Lock()
			s.changes = append(s.changes, c)
			if err != nil {
				s.changeErr = err
			}
			s.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// live makes a change and returns how long after its acceptance by the API
// server the answer is the wanted one.
func (v *victim) live(ctx context.Context, name string, want int, do func(context.Context) error) (change, error) {
	c := change{route: name, want: want}
	asked := time.Now()
	if err := do(ctx); err != nil {
		return c, err
	}
	began := time.Now()
	c.began, c.write = began, began.Sub(asked)
	err := wait.Poll{Limit: 20 * time.Second, Every: 5 * time.Millisecond}.Until(ctx, "the change of "+name, func() error {
		status, _, err := v.get(ctx, v.looks, name, false)
		c.live = time.Since(began)
		c.told = v.watched.after(began, name, want)
		if err == nil && status != want {
			err = fmt.Errorf("status %d, want %d", status, want)
		}
		return err
	})
	return c, err
}
