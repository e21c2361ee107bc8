package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/convert"
	"github.com/fairlead/fairlead/router/model"
)

// convertRoutes converts Routes to Services "web", of a router on which namespaces share hosts.
func convertRoutes(t *testing.T, options convert.Options, routes ...*routev1.Route) *Conversion {
	t.Helper()
	o := NewObjects()
	o.Offline, o.Complete = true, true
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: "default"}}
	ic.Spec.RouteAdmission = &operatorv1.RouteAdmissionPolicy{NamespaceOwnership: operatorv1.InterNamespaceAllowedOwnershipCheck}
	o.Controllers["default"] = ic
	for i, r := range routes {
		r.CreationTimestamp = metav1.NewTime(time.Unix(1700000000+int64(i), 0))
		r.Spec.To = routev1.RouteTargetReference{Kind: "Service", Name: "web"}
		o.Add(r)
		o.Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}}})
	}
	s, err := NewSnapshot(o, Options{Domain: "apps.test", Now: time.Unix(1800000000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	options.Class = "fairlead"
	out, err := s.Convert(ConvertArgs{Options: options})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func routeFor(namespace, name, path string, tls *routev1.TLSConfig) *routev1.Route {
	return &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: routev1.RouteSpec{Host: "shop.test", Path: path, TLS: tls}}
}

// reasons are those of the findings about a Route.
func (c *Conversion) reasons(namespace, name string) (all []api.Reason) {
	for _, f := range c.Findings {
		if f.Object.Namespace == namespace && f.Object.Name == name {
			all = append(all, f.Reason)
		}
	}
	return all
}

// TestConvertReencrypt: pods are verified as the Route has it, or nothing is sent to them.
func TestConvertReencrypt(t *testing.T) {
	t.Parallel()
	own, err := certfile.SelfSigned("pods.test")
	if err != nil {
		t.Fatal(err)
	}
	authority, _, _ := strings.Cut(own.PEM, "-----END CERTIFICATE-----\n")
	authority += "-----END CERTIFICATE-----\n"
	reencrypt := func(ca string) *routev1.TLSConfig {
		return &routev1.TLSConfig{Termination: routev1.TLSTerminationReencrypt, DestinationCACertificate: ca}
	}
	options := convert.Options{Certificate: model.Object{Name: "shop-tls"}}

	out := convertRoutes(t, options, routeFor("web", "shop", "", reencrypt(authority)))
	if out.Converted != 1 || out.Closed != 0 {
		t.Errorf("%d converted, %d closed: %v", out.Converted, out.Closed, out.Findings)
	}
	var p *gatewayv1.BackendTLSPolicy
	var ca *corev1.ConfigMap
	for _, o := range out.Objects {
		switch o := o.(type) {
		case *gatewayv1.BackendTLSPolicy:
			p = o
		case *corev1.ConfigMap:
			ca = o
		}
	}
	if p == nil || ca == nil || p.Spec.Validation.Hostname != "web.web.svc" || string(p.Spec.Validation.CACertificateRefs[0].Name) != ca.Name || strings.TrimSpace(ca.Data["ca.crt"]) != strings.TrimSpace(authority) {
		t.Errorf("the policy is %+v, its authorities %+v", p, ca)
	}

	for why, routes := range map[string][]*routev1.Route{
		"pods are not verified":                {routeFor("web", "shop", "", reencrypt(""))},
		"another Route speaks plain to a port": {routeFor("web", "first", "", reencrypt(authority)), routeFor("web", "shop", "/plain", &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge})},
	} {
		out := convertRoutes(t, options, routes...)
		if !slices.Contains(out.reasons("web", "shop"), api.ReasonConversionClosed) {
			t.Errorf("%s: %v", why, out.Findings)
		}
	}
}

// TestConvertSharedHost: namespaces that share a host have Gateways of their own. At one Gateway
// the second one's listener would conflict, so that its Route is closed, with a finding.
func TestConvertSharedHost(t *testing.T) {
	t.Parallel()
	out := convertRoutes(t, convert.Options{}, routeFor("one", "a", "/a", nil), routeFor("two", "b", "/b", nil))
	if out.Converted != 2 {
		t.Errorf("Gateways of their own: %d converted: %v", out.Converted, out.Findings)
	}
	out = convertRoutes(t, convert.Options{Gateway: model.Object{Namespace: "infra", Name: "web"}}, routeFor("one", "a", "/a", nil), routeFor("two", "b", "/b", nil))
	if out.Converted != 1 || !slices.Contains(out.reasons("two", "b"), api.ReasonConversionClosed) {
		t.Errorf("one Gateway: %d converted, %d closed: %v", out.Converted, out.Closed, out.Findings)
	}
}
