package rig

import (
	"context"
	"fmt"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Domain is that of all routes.
const Domain = "bench.example.com"

// Host returns the host of the route of that name.
func Host(name string) string { return name + "." + Domain }

// Address returns the n-th pod address.
func Address(n int) string {
	const first = 256 // 198.18.1.0
	n = first + n%(65000-first)
	return fmt.Sprintf("198.18.%d.%d", n/256, n%256)
}

// Service returns a Service and its EndpointSlice with one ready pod.
func Service(name, address string) (*corev1.Service, *discoveryv1.EndpointSlice) {
	port := corev1.ServicePort{Name: "http", Port: 80, TargetPort: intstr.FromInt32(PodPort)}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{port}},
	}
	ready, number, portName := true, int32(PodPort), "http"
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: name,
			Labels: map[string]string{discoveryv1.LabelServiceName: name},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{address},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &number}},
	}
	return svc, slice
}

// Route returns a Route without TLS to a Service of the same name.
func Route(name string) *routev1.Route {
	return &routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec: routev1.RouteSpec{
			Host: Host(name),
			To:   routev1.RouteTargetReference{Kind: "Service", Name: name},
		},
	}
}

// WithCertificate makes a route an edge route with a new certificate that also
// answers plain HTTP, and returns the certificate's serial number.
func (r *Rig) WithCertificate(route *routev1.Route) (string, error) {
	cert, key, serial, err := r.CA.Issue(route.Spec.Host)
	if err != nil {
		return "", err
	}
	route.Spec.TLS = &routev1.TLSConfig{
		Termination: routev1.TLSTerminationEdge, Certificate: cert, Key: key,
		InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyAllow,
	}
	return serial, nil
}

// UseCertificate changes a route to one WithCertificate.
func (r *Rig) UseCertificate(ctx context.Context, name string) error {
	cert, key, _, err := r.CA.Issue(Host(name))
	if err != nil {
		return err
	}
	return r.PatchRoute(ctx, name, fmt.Sprintf(`{"spec":{"tls":{"termination":"edge","insecureEdgeTerminationPolicy":"Allow","certificate":%q,"key":%q}}}`, cert, key))
}

// Create creates objects in order.
func (r *Rig) Create(ctx context.Context, objects ...client.Object) error {
	for _, o := range objects {
		if err := r.Client.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// CreateService creates a Service and its EndpointSlice.
func (r *Rig) CreateService(ctx context.Context, name, address string) error {
	svc, slice := Service(name, address)
	return r.Create(ctx, svc, slice)
}

// DeleteService deletes a Service and its EndpointSlice.
func (r *Rig) DeleteService(ctx context.Context, name string) error {
	svc, slice := Service(name, Address(0))
	for _, o := range []client.Object{slice, svc} {
		if err := r.Client.Delete(ctx, o); err != nil {
			return fmt.Errorf("delete %T %s: %w", o, name, err)
		}
	}
	return nil
}

// Patch merges a JSON document into an object of which only the name counts.
func (r *Rig) Patch(ctx context.Context, o client.Object, document string) error {
	if err := r.Client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(document))); err != nil {
		return fmt.Errorf("patch %T %s: %w", o, o.GetName(), err)
	}
	return nil
}

// PatchRoute merges a JSON document into a Route.
func (r *Rig) PatchRoute(ctx context.Context, name, document string) error {
	return r.Patch(ctx, &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}, document)
}

// SetEndpoint makes these addresses the only endpoints of a Service.
func (r *Rig) SetEndpoint(ctx context.Context, service string, addresses ...string) error {
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: service}}
	var endpoints []string
	for _, a := range addresses {
		endpoints = append(endpoints, fmt.Sprintf(`{"addresses":[%q],"conditions":{"ready":true}}`, a))
	}
	return r.Patch(ctx, slice, `{"endpoints":[`+strings.Join(endpoints, ",")+`]}`)
}

// DeleteRoute deletes a Route.
func (r *Rig) DeleteRoute(ctx context.Context, name string) error {
	route := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	if err := r.Client.Delete(ctx, route); err != nil {
		return fmt.Errorf("delete route %s: %w", name, err)
	}
	return nil
}
