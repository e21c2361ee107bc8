package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// TestLastGoodBounded: a namespace with thousands of routes that cannot be served
// leaves the others their place in the file, and costs them nothing.
//
//nolint:paralleltest // it counts allocations
func TestLastGoodBounded(t *testing.T) {
	l := newLastGood()
	add := func(namespace, name string) {
		k := pipeline.Saved{Object: model.Object{Kind: route.Kind, Namespace: namespace, Name: name}, UID: "1", Good: &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "1"},
			Spec:       routev1.RouteSpec{Host: "a.test", Path: "/" + strings.Repeat("x", 10_000)},
		}}
		l.set(k.Object, k, true)
	}
	for i := range 1000 {
		add("flood", fmt.Sprintf("r%04d", i))
	}
	add("victim", "r")
	text := l.file()
	kept, err := pipeline.New(doors.All(), nil, door.Settings{}, &model.Certificate{}).ParseSaved(text)
	if err != nil {
		t.Fatal(err)
	}
	if last := kept[len(kept)-1]; last.Object.Namespace != "victim" || last.Good == nil {
		t.Errorf("the last kept route is %s", last.Object)
	}
	if full := l.newlyFull(); len(text) > lastGoodShare+20_000 || len(kept) < 150 || !slices.Equal(full, []string{"flood"}) || l.newlyFull() != nil {
		t.Errorf("%d routes in %d bytes; full: %v", len(kept), len(text), full)
	}
	if len(l.texts) != len(kept) || len(l.kept) != len(kept) {
		t.Errorf("%d texts and %d versions of %d routes are in memory", len(l.texts), len(l.kept), len(kept))
	}
	i := 0
	if n := testing.AllocsPerRun(20, func() { i++; add("victim", fmt.Sprint("q", i)) }); n > 200 {
		t.Errorf("a further route takes %.0f allocations", n)
	}
	for key := range l.kept {
		l.set(key, pipeline.Saved{}, false)
	}
	if text := l.file(); string(text) != "[]" || l.total != 0 || len(l.used) > 0 || len(l.full) > 0 || !l.due {
		t.Errorf("%s is left of %d bytes: %v, %v", text, l.total, l.used, l.full)
	}
	l.due = false
	if l.set(model.Object{Kind: route.Kind, Namespace: "flood", Name: "r"}, pipeline.Saved{}, false); l.due {
		t.Error("a route that was not kept is a reason to write the file")
	}
}

// TestLastGoodDue: what could have been written already has no turn of its own: a turn that waits
// for a reload leaves it out, and the next one would begin at once, again and again.
func TestLastGoodDue(t *testing.T) {
	t.Parallel()
	now := time.Now()
	e := &Engine{pid: 1, lastGood: lastGood{due: true, next: now.Add(time.Second)}}
	if wait, due := e.lastGoodDue(now); !due || wait != time.Second {
		t.Errorf("due %t in %s, a second before it may be written", due, wait)
	}
	if _, due := e.lastGoodDue(now.Add(time.Second)); due {
		t.Error("it may be written, and has a turn of its own")
	}
}
