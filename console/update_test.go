package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/explain"
)

// routeAt is a Route of a cluster.
func routeAt(namespace, name, host, service string) *routev1.Route {
	return &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), CreationTimestamp: metav1.NewTime(testNow.Add(-time.Hour))},
		Spec:       routev1.RouteSpec{Host: host, To: routev1.RouteTargetReference{Kind: "Service", Name: service}},
	}
}

// read begins a reading if one is due, and returns when none is under way.
func (b *tenantsBed) read(ctx context.Context) {
	b.t.Helper()
	k := b.entrance.pages.readings.worlds
	k.get(ctx, b.t.Context())
	k.mu.Lock()
	ended := k.reading
	k.mu.Unlock()
	if ended == nil {
		return
	}
	select {
	case <-ended:
	case <-ctx.Done():
		b.t.Fatal("a reading does not end")
	}
}

// TestUpdatesOfTenants: what changes is taken into what is shown, a user is shown no more of it than
// before, and what does not concern a user is not decided again for that user, whose browser does
// not hear of it.
func TestUpdatesOfTenants(t *testing.T) {
	t.Parallel()
	o := explain.NewObjects()
	o.Add(routeAt("alpha", "own", "own.test", "s"))
	o.Add(routeAt(mark, mark, mark+".test", mark))
	tenant := newTenantsBed(t, o)
	admin := tenant.another()
	tenant.login("tenant-token")
	admin.login("admin-token")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	code, next := tenant.stream(ctx, t)
	if code != http.StatusOK {
		t.Fatal(code)
	}
	seen := next().data.Generation
	snapshot := tenant.source.snapshot.Load()
	change := func(before, now *routev1.Route) {
		t.Helper()
		c := explain.ObjectChange{Now: now}
		if before != nil {
			c.Before = before
		}
		tenant.read(ctx) // a reading of before would end after the clock has moved, and no other be due
		snapshot.Later([]explain.ObjectChange{c}, time.Time{})
		tenant.now.Add(6)
		tenant.read(ctx)
	}
	view := func() *explain.Snapshot {
		t.Helper()
		tenant.get("routes")
		views := &tenant.entrance.pages.views
		views.mu.Lock()
		defer views.mu.Unlock()
		if len(views.made) != 1 {
			t.Fatalf("%d views", len(views.made))
		}
		return views.made[0].world.snapshot
	}
	first, hidden := view(), routeAt(mark, mark, mark+".test", mark)
	for i := range 5 {
		now := routeAt(mark, mark, fmt.Sprintf("%s%d.test", mark, i), mark+"s")
		change(hidden, now)
		hidden = now
	}
	admin.says(t, "routes/"+mark+"/"+mark, 200, []string{mark + "4.test"}, []string{mark + "3.test"})
	if view() != first {
		t.Error("what a user sees was decided again after changes that do not concern the user")
	}
	if _, _, body := tenant.get("routes"); strings.Contains(body, mark) {
		t.Error("the user sees something of another namespace")
	}
	tenant.says(t, "routes", 200, []string{"own.test"}, []string{mark})

	rival := routeAt(mark, mark+"-rival", "own.test", mark)
	rival.CreationTimestamp = metav1.NewTime(testNow.Add(-2 * time.Hour))
	change(nil, rival)
	if view() == first {
		t.Error("another namespace has taken the host, and the user is not shown that")
	}
	tenant.says(t, "ask?url=http://own.test/", 200, []string{"a route of a namespace that you may not see"}, []string{mark})
	for e := next(); e.data.Generation == seen; e = next() {
		t.Log("data of the same generation")
	}

	second := view()
	change(routeAt("alpha", "own", "own.test", "s"), routeAt("alpha", "own", "moved.test", "s"))
	if view() == second {
		t.Error("the user is not shown what has changed in the own namespace")
	}
	tenant.says(t, "routes", 200, []string{"moved.test"}, []string{mark})
}
