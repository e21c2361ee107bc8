package kube

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

func newRoute(name, service, version string) *routev1.Route {
	return &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, ResourceVersion: version,
			ManagedFields: []metav1.ManagedFieldsEntry{{}},
		},
		Spec: routev1.RouteSpec{To: routev1.RouteTargetReference{Name: service}},
	}
}

// routeService is an index for these tests.
func routeService(key model.Object, r *routev1.Route) model.Object {
	return model.Object{Kind: door.KindService, Namespace: key.Namespace, Name: r.Spec.To.Name}
}

func TestStoreReportsRealChangesOnly(t *testing.T) {
	t.Parallel()
	var seen []string
	s := newStore(route.Kind, whole(stripRoute), func(key model.Object, before, after *routev1.Route) {
		switch {
		case before == nil:
			seen = append(seen, "add "+key.Name)
		case after == nil:
			seen = append(seen, "delete "+key.Name)
		default:
			seen = append(seen, "update "+key.Name+" "+before.ResourceVersion+"→"+after.ResourceVersion)
		}
	})
	s.index = routeService
	steps := []struct {
		name  string
		do    func() error
		seen  []string
		group []string
	}{
		{
			name: "first list",
			do:   func() error { return s.Replace([]any{newRoute("a", "web", "1"), newRoute("b", "web", "2")}, "2") },
			seen: []string{"add a", "add b"}, group: []string{"a@1", "b@2"},
		},
		{
			name: "same version again", do: func() error { return s.Update(newRoute("a", "web", "1")) },
			group: []string{"a@1", "b@2"},
		},
		{
			name: "update", do: func() error { return s.Update(newRoute("a", "web", "3")) },
			seen: []string{"update a 1→3"}, group: []string{"a@3", "b@2"},
		},
		{
			name: "list after an interruption",
			do:   func() error { return s.Replace([]any{newRoute("b", "web", "2"), newRoute("c", "web", "4")}, "4") },
			seen: []string{"add c", "delete a"}, group: []string{"b@2", "c@4"},
		},
		{
			name: "move to another service", do: func() error { return s.Update(newRoute("c", "api", "5")) },
			seen: []string{"update c 4→5"}, group: []string{"b@2"},
		},
		{
			name: "delete", do: func() error { return s.Delete(newRoute("b", "web", "6")) },
			seen: []string{"delete b"},
		},
		{name: "delete what is not known", do: func() error { return s.Delete(newRoute("b", "web", "6")) }},
	}
	for _, step := range steps {
		seen = nil
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		slices.Sort(seen)
		if diff := cmp.Diff(step.seen, seen); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", step.name, diff)
		}
		var group []string
		for _, o := range s.group(model.Object{Kind: door.KindService, Namespace: "ns", Name: "web"}) {
			if o.ManagedFields != nil {
				t.Errorf("%s: managedFields of %s are still there", step.name, o.Name)
			}
			group = append(group, o.Name+"@"+o.ResourceVersion)
		}
		slices.Sort(group)
		if diff := cmp.Diff(step.group, group); diff != "" {
			t.Errorf("%s: group (-want +got):\n%s", step.name, diff)
		}
	}
	if len(s.items) != 1 || len(s.groups) != 1 {
		t.Errorf("left over: %d items, %d groups", len(s.items), len(s.groups))
	}
}

func TestStoreGroupsDoNotChangeUnderReaders(t *testing.T) {
	t.Parallel()
	s := newStore(route.Kind, whole(stripRoute), func(model.Object, *routev1.Route, *routev1.Route) {})
	s.index = routeService
	for _, o := range []any{newRoute("a", "web", "1"), newRoute("b", "web", "2")} {
		if err := s.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	held := s.group(model.Object{Kind: door.KindService, Namespace: "ns", Name: "web"})
	copied := slices.Clone(held)
	for _, do := range []func() error{
		func() error { return s.Update(newRoute("a", "web", "3")) },
		func() error { return s.Add(newRoute("c", "web", "4")) },
		func() error { return s.Delete(newRoute("b", "web", "5")) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(held, copied) {
		t.Error("a group that a reader holds has changed")
	}
}

func TestStoreRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	s := newStore(kindSlice, part(backend.NewSlice), func(model.Object, *backend.Slice, *backend.Slice) {})
	if s.Add(&corev1.Service{}) == nil || s.Delete(&corev1.Service{}) == nil || s.Replace([]any{&corev1.Service{}}, "") == nil {
		t.Error("an object of another type was taken")
	}
}
