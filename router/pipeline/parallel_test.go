package pipeline_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/policy"
)

// crowd is a cluster with many routes, each with a Service of its own; every
// third names a host that an older one has.
type crowd map[model.Object]*routev1.Route

func newCrowd(n int) crowd {
	c := crowd{}
	for i := range n {
		name := fmt.Sprintf("r%d", i)
		c[model.Object{Kind: route.Kind, Namespace: "ns", Name: name}] = &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(int64(i), 0)},
			Spec: routev1.RouteSpec{
				Host: fmt.Sprintf("h%d.example.com", i-i%3),
				To:   routev1.RouteTargetReference{Kind: "Service", Name: name},
			},
		}
	}
	return c
}

func (c crowd) All() []model.Object {
	var keys []model.Object
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

func (c crowd) Object(k model.Object) door.Version {
	if r := c[k]; r != nil {
		return r
	}
	return nil
}
func (c crowd) Service(model.Object) *backend.Service             { return &backend.Service{} }
func (c crowd) Secret(model.Object) (*corev1.Secret, error)       { return nil, nil }
func (c crowd) ConfigMap(model.Object) (*policy.ConfigMap, error) { return nil, nil }
func (c crowd) Slices(service model.Object) []*backend.Slice {
	port := int32(8080)
	return []*backend.Slice{backend.NewSlice(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.1"}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	})}
}

// TestManyRoutesAtOnce: many new routes, which are ingested beside each other,
// come to the same as one after the other.
func TestManyRoutesAtOnce(t *testing.T) {
	t.Parallel()
	c := newCrowd(2000)
	once := pipeline.New(doors.All(), c, door.Settings{}, &model.Certificate{})
	once.Update(door.Changes{All: true})
	single := pipeline.New(doors.All(), c, door.Settings{}, &model.Certificate{})
	for key := range c {
		single.Update(door.Changes{Objects: model.Objects{key: {}}})
	}
	if diff := cmp.Diff(single.Want(), once.Want(), cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
		t.Errorf("-one after the other +at once:\n%s", diff)
	}
	for key := range c {
		if diff := cmp.Diff(single.Status(key), once.Status(key)); diff != "" {
			t.Fatalf("status of %s: -one after the other +at once:\n%s", key, diff)
		}
	}
	if n := len(once.Want().Backends); n == 0 || n >= len(c) {
		t.Errorf("%d of %d routes are served", n, len(c))
	}
}

func (crowd) Policies(string) *policy.Set { return nil }

func (crowd) AllPolicies() []model.Object        { return nil }
func (crowd) Namespace(string) *policy.Namespace { return nil }
