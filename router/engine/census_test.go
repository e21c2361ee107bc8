package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

func TestCensus(t *testing.T) {
	t.Parallel()
	a, b := model.Object{Kind: "Route", Namespace: "n", Name: "a"}, model.Object{Kind: "Route", Namespace: "n", Name: "b"}
	lost := api.Finding{Reason: api.ReasonHostAlreadyClaimed, Severity: api.SeverityError}
	kind := findingKind{lost.Reason, lost.Severity}
	c := newCensus()
	c.set(a, true, []api.Finding{lost, lost})
	c.set(b, false, []api.Finding{lost})
	c.set(a, true, []api.Finding{lost}) // again: nothing is counted twice
	if c.findings[kind] != 2 || c.lastGood != 1 {
		t.Errorf("two routes with a finding, one with its last good version: %v, %d", c.findings, c.lastGood)
	}
	c.set(a, false, nil)
	c.forget(b)
	c.forget(b)
	if n, known := c.findings[kind]; n != 0 || !known || c.lastGood != 0 || len(c.routes) != 0 {
		t.Errorf("after all is well: %+v", c)
	}
}

func TestLiveClock(t *testing.T) {
	t.Parallel()
	key := func(name string) model.Object { return model.Object{Kind: "Route", Namespace: "n", Name: name} }
	start := time.Unix(1_700_000_000, 0)
	var c liveClock
	c.seen(door.Changes{Objects: model.Objects{key("a"): {}}, Endpoints: model.Objects{key("b"): {}}}, start)
	c.seen(door.Changes{Objects: model.Objects{key("a"): {}}}, start.Add(time.Second)) // it waits since the first change
	waitsB := func(k model.Object) bool { return k == key("b") }
	if took := c.live(waitsB, start.Add(3*time.Second)); !slices.Equal(took, []time.Duration{3 * time.Second}) {
		t.Errorf("a is live after 3 s, b waits: %v", took)
	}
	if took := c.live(func(model.Object) bool { return false }, start.Add(4*time.Second)); !slices.Equal(took, []time.Duration{4 * time.Second}) {
		t.Errorf("b is live after 4 s: %v", took)
	}
	many := model.Objects{}
	for i := range 2 * mostTimed {
		many[key(string(rune('A'+i)))] = struct{}{}
	}
	if c.seen(door.Changes{Objects: many}, start); len(c.since) != mostTimed {
		t.Errorf("%d routes are measured at a time, at most %d", len(c.since), mostTimed)
	}
}
