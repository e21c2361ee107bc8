package pipeline

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// TestMeasuresOfObjects: whatever objects ask for, lose and win, Measures has the backends of those that are served now,
// and says so when it is something else.
func TestMeasuresOfObjects(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same each time
	p := &Pipeline{measures: newMeasures()}
	got := map[string]model.Measure{}
	objects := map[model.Object]map[string]model.Measure{}
	for n := range 3000 {
		key := model.Object{Kind: route.Kind, Namespace: "a", Name: string(rune('a' + random.IntN(6)))}
		r := &tracked{result: &door.Result{Object: key}}
		objects[key] = map[string]model.Measure{}
		if random.IntN(3) > 0 {
			r.result.Measure = &model.Measure{Detail: true, Availability: int32(random.IntN(2))}
		}
		for range random.IntN(3) {
			c := &model.Claim{Backend: model.Backend{Kind: model.KindHTTP, Owner: key, Rule: string(rune('a' + random.IntN(2)))}}
			r.served = append(r.served, c)
			if r.result.Measure != nil {
				objects[key][c.Backend.Name()] = *r.result.Measure
			}
		}
		p.measures.note(key, r)
		want := map[string]model.Measure{}
		for _, of := range objects {
			maps.Copy(want, of)
		}
		if now, changed := p.Measures(); changed {
			got = now
		}
		if !maps.Equal(got, want) {
			t.Fatalf("after %d changes: %v, want %v", n, got, want)
		}
	}
}
