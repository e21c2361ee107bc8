package engine

import (
	"fmt"
	"testing"

	"github.com/fairlead/fairlead/router/model"
)

// TestErrorTurns: a look is at so many backends at most; a namespace with thousands of them
// delays no other, and each backend has its turn.
func TestErrorTurns(t *testing.T) {
	t.Parallel()
	all := map[string]*model.Backend{}
	add := func(namespace string, n int) {
		for i := range n {
			all[fmt.Sprintf("%s:%04d", namespace, i)] = &model.Backend{Owner: model.Object{Namespace: namespace}}
		}
	}
	add("crowd", 1000)
	add("a", 1)
	add("z", 2)
	var l errorLooks
	seen := map[string]int{}
	for range 25 {
		names := l.choose(all)
		if len(names) > errorsTurn {
			t.Fatalf("%d backends in a look", len(names))
		}
		for _, n := range names {
			seen[n]++
		}
	}
	for _, n := range []string{"a:0000", "z:0000", "z:0001"} {
		if seen[n] != 25 {
			t.Errorf("%s had %d of 25 turns", n, seen[n])
		}
	}
	for i := range 150 {
		add(fmt.Sprint("small", i), 1+i%3)
	}
	for range 60 {
		for _, n := range l.choose(all) {
			seen[n]++
		}
	}
	for n := range all {
		if seen[n] == 0 {
			t.Errorf("%s had no turn", n)
		}
	}
}
