package snapshot_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// TestSelect: a namespace has a share and no more, whatever order its policies come in,
// and its former ones go before those of now.
func TestSelect(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", snapshot.MaxShare/2-100)
	items := []snapshot.Item{
		{ID: "old", Namespace: "greedy", Text: big, Old: true},
		{ID: "b", Namespace: "greedy", Text: big + "b"},
		{ID: "a", Namespace: "greedy", Text: big + "a"},
		{ID: "c", Namespace: "modest", Text: "{}"},
	}
	kept, generation, left := snapshot.Select(snapshot.Surroundings{}, slices.Clone(items))
	if len(kept) != 3 || len(left) != 1 || left["old"] == "" {
		t.Errorf("%d kept, left %v", len(kept), left)
	}
	slices.Reverse(items)
	if _, again, _ := snapshot.Select(snapshot.Surroundings{}, items); again != generation {
		t.Error("the generation depends on the order")
	}
	items[0].Text = "{ }"
	if _, other, _ := snapshot.Select(snapshot.Surroundings{}, items); other == generation {
		t.Error("another policy has the same generation")
	}
	var many []snapshot.Item
	for i := range 20 {
		many = append(many, snapshot.Item{ID: fmt.Sprint(i), Namespace: fmt.Sprint("n", i), Text: strings.Repeat("x", snapshot.MaxShare-10)})
	}
	kept, _, left = snapshot.Select(snapshot.Surroundings{}, many)
	if len(kept) != 8 || len(left) != 12 {
		t.Errorf("of all namespaces: %d kept, %d left", len(kept), len(left))
	}
	if none, generation, _ := snapshot.Select(snapshot.Surroundings{}, nil); len(none) != 0 || generation == 0 {
		t.Errorf("nothing: %v, generation %d", none, generation)
	}
}
