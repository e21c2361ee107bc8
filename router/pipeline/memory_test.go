package pipeline_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
)

// TestRouteMemory bounds what the pipeline holds for a Route beside the object itself: a
// router with 10,000 of them has that 10,000 times, and half as much again as garbage.
//
//nolint:paralleltest // it looks at the whole heap
func TestRouteMemory(t *testing.T) {
	const n, most = 10_000, 2600
	c := newCrowd(n)
	i := 0
	for _, r := range c {
		i++
		r.Spec.Host = fmt.Sprintf("h%d.example.com", i)
	}
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	p := pipeline.New(doors.All(), c, door.Settings{}, &model.Certificate{})
	p.Update(door.Changes{All: true})
	each := int(live()-before) / n
	t.Logf("%d bytes for each route", each)
	if each > most {
		t.Errorf("%d bytes for each route, more than %d: keep what few routes need behind a pointer", each, most)
	}
	if len(p.Want().Backends) != n {
		t.Fatalf("%d backends", len(p.Want().Backends))
	}
}
