package route_test

import (
	"fmt"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// cluster is a Source in which every Service has one pod.
type cluster struct{}

func (cluster) All() []model.Object                               { return nil }
func (cluster) Object(model.Object) door.Version                  { return nil }
func (cluster) Service(model.Object) *backend.Service             { return &backend.Service{} }
func (cluster) Secret(model.Object) (*corev1.Secret, error)       { return nil, nil }
func (cluster) ConfigMap(model.Object) (*policy.ConfigMap, error) { return nil, nil }
func (cluster) Policies(string) *policy.Set                       { return nil }
func (cluster) AllPolicies() []model.Object                       { return nil }
func (cluster) Namespace(string) *policy.Namespace                { return nil }
func (cluster) Slices(model.Object) []*backend.Slice {
	port := int32(8080)
	return []*backend.Slice{backend.NewSlice(&discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	})}
}

// A Route becomes a claim with all that is needed to serve it, or a finding that
// says why not.
func ExampleRoute() {
	shop := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"}}
	shop.Spec.Host, shop.Spec.Path, shop.Spec.To.Name = "www.example.com", "/cart", "shop"
	result := route.Route(shop, cluster{}, door.Settings{}, door.Past{})
	for _, claim := range result.Claims {
		fmt.Println(claim.Host, claim.Path, "→", claim.Backend.Servers[0].Address)
	}

	shop.Spec.Host = "www_example.com"
	result = route.Route(shop, cluster{}, door.Settings{}, door.Past{})
	fmt.Println(len(result.Claims), result.Findings[0].Reason, result.Findings[0].Field)
	// Output:
	// www.example.com /cart → 10.0.0.1:8080
	// 0 InvalidHost spec.host
}
