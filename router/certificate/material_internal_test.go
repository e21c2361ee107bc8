package certificate

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/fairlead/fairlead/router/model"
)

// TestMaterialBounded: a tenant that rewrites a route with texts as long as the
// API server takes makes the router remember a few megabytes at most.
func TestMaterialBounded(t *testing.T) {
	t.Parallel()
	m := &Material{}
	for n := range 20 {
		if _, err := m.Bundle(model.Object{}, fmt.Sprint(n, strings.Repeat("x", 900<<10))); err == nil {
			t.Fatal("nonsense was taken")
		}
		if got := m.bytes(); got > keptBytes {
			t.Fatalf("%d bytes are remembered after %d versions", got, n+1)
		}
	}
	if len(m.kept) < 2 {
		t.Errorf("%d texts are remembered; the newest and the last good one would be parsed at each look", len(m.kept))
	}
}

// TestMaterialHoldsNewest: what is remembered of a text that has not changed
// does not keep the object of before in memory.
func TestMaterialHoldsNewest(t *testing.T) {
	t.Parallel()
	m := &Material{}
	for range 2 {
		text := strings.Clone("nonsense")
		_, _ = m.Bundle(model.Object{}, text)
		if len(m.kept) != 1 || unsafe.StringData(m.kept[0].of.pem.CA) != unsafe.StringData(text) {
			t.Error("the text of an older object is held")
		}
	}
}
