package controller

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReplaced: what goes before the desired Routes are written serves nothing
// that these ask for.
func TestReplaced(t *testing.T) {
	t.Parallel()
	route := func(name, host, path string) *routev1.Route {
		return &routev1.Route{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: routev1.RouteSpec{Host: host, Path: path}}
	}
	owned := map[string]*routev1.Route{}
	for _, r := range []*routev1.Route{
		route("kept", "h", "/kept"), route("moves", "h", "/moves"), route("moved", "h", "/moved"), route("new-of-moved", "h", "/moved"), route("gone", "h", "/gone"), route("elsewhere", "i", "/moves"),
	} {
		owned[r.Name] = r
	}
	desired := []*routev1.Route{route("kept", "h", "/kept"), route("new-of-moves", "h", "/moves"), route("new-of-moved", "h", "/moved"), route("new", "h", "/new")}
	got := slices.Sorted(maps.Keys(replaced(owned, desired)))
	if d := cmp.Diff([]string{"elsewhere", "gone", "moved"}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
