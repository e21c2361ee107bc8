package desired_test

import (
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// atRouter is a Gateway at the address of routers, 198.18.0.7, that permit it.
func atRouter(strategy operatorv1.EndpointPublishingStrategyType, changes ...func(*desired.Input)) desired.Input {
	return input(strategy, append([]func(*desired.Input){func(in *desired.Input) {
		in.Gateway.Annotations = map[string]string{gateway.AnnotationAddress: gateway.AddressRouter}
		in.Settings.SharedAddress = true
		in.Service, in.Slots = nil, nil
		in.Front = &corev1.Service{}
		in.Front.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.7"}}
	}}, changes...)...)
}

// TestShared: a Gateway at the address of the routers has theirs, and nothing of its own; it is
// refused where that is not permitted.
func TestShared(t *testing.T) {
	t.Parallel()
	const lb, private, nodePort = operatorv1.LoadBalancerServiceStrategyType, operatorv1.PrivateStrategyType, operatorv1.NodePortServiceStrategyType
	const served, refused = "Accepted=True/Accepted@3 Programmed=True/Programmed@3", "Accepted=False/InvalidParameters@3 Programmed=False/Invalid@3"
	former := func(in *desired.Input) {
		in.Service = &corev1.Service{}
		in.Service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}
	}
	forbidden := func(in *desired.Input) { in.Settings.SharedAddress = false }
	for _, test := range []struct {
		name     string
		strategy operatorv1.EndpointPublishingStrategyType
		change   func(*desired.Input)
		want     string
		says     string
		at       string
	}{
		{"served", lb, nil, served, "", "198.18.0.7"},
		{"an address of its own is left", lb, former, served, "", "198.18.0.7"},
		{"within the cluster", private, func(in *desired.Input) {
			in.Front = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIPs: []string{"10.96.0.7"}}}
		}, served, "", "10.96.0.7"},
		{"at nodes", nodePort, func(in *desired.Input) {
			in.Front = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 443, NodePort: 30443}, {Port: 80, NodePort: 30080}}}}
		}, served, "ports of the routers at ports of their own: 80 at port 30080, 443 at port 30443", "192.0.2.1"},
		{"not permitted", lb, forbidden, refused, "annotate the IngressController with fairlead.dev/shared-address", ""},
		{"not permitted, and an address of its own is left", lb, func(in *desired.Input) { forbidden(in); former(in) }, refused, "IngressController default", "198.18.0.1"},
		{"another word", lb, func(in *desired.Input) { in.Gateway.Annotations[gateway.AnnotationAddress] = "mine\n" }, refused, `"mine\n"`, ""},
		{"addresses of its own", lb, func(in *desired.Input) {
			in.Gateway.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Value: "198.18.0.7"}}
		}, "Accepted=False/UnsupportedAddress@3 Programmed=False/Invalid@3", "remove spec.addresses", ""},
		{"no address", lb, func(in *desired.Input) {
			in.Front.Status = corev1.ServiceStatus{Conditions: []metav1.Condition{{Type: api.ConditionAllocated, Status: metav1.ConditionFalse, Message: "there is no IPAddressPool"}}}
		}, "Accepted=True/Accepted@3 Programmed=False/AddressNotAssigned@3", "Service openshift-ingress/router-default of IngressController default has no address: there is no IPAddressPool", ""},
		{"no Service", lb, func(in *desired.Input) { in.Front = nil }, "Accepted=True/Accepted@3 Programmed=False/AddressNotAssigned@3", "has no address", ""},
		{"silent routers", lb, func(in *desired.Input) { in.Gateway.Status.Listeners = nil }, "Accepted=True/Accepted@3 Programmed=False/Pending@3", "have not said yet", "198.18.0.7"},
		{"another port", lb, func(in *desired.Input) { in.Gateway.Spec.Listeners[0].Port = 8080 }, "Accepted=False/ListenersNotValid@3 Programmed=False/Invalid@3", "use port 80", "198.18.0.7"},
		{"labels for a Service", lb, func(in *desired.Input) {
			in.Gateway.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{Labels: map[gatewayv1.LabelKey]gatewayv1.LabelValue{"a": "b"}}
		}, served, "spec.infrastructure has no effect", "198.18.0.7"},
		{"what clients show", lb, func(in *desired.Input) {
			in.Gateway.Spec.TLS = &gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{Default: gatewayv1.TLSConfig{Validation: &gatewayv1.FrontendTLSValidation{Mode: gatewayv1.AllowInsecureFallback}}}}
		}, served, "", "198.18.0.7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := atRouter(test.strategy)
			if test.change != nil {
				test.change(&in)
			}
			says(t, in, test.want, test.says)
			var at []string
			for _, a := range in.Addresses() {
				at = append(at, a.Value)
			}
			if strings.Join(at, " ") != test.at {
				t.Errorf("addresses %v, want %s", at, test.at)
			}
			wanted, _ := desired.WantedSlots(gateway.Join(in.Gateway, nil, nil))
			if s := in.DesiredService(); s != nil || len(wanted) > 0 {
				t.Errorf("slots %v, Service %v", wanted, s)
			}
		})
	}
}

// TestSharedSlots: the slots of a Gateway that moves to the address of the routers are freed.
func TestSharedSlots(t *testing.T) {
	t.Parallel()
	in := atRouter(operatorv1.LoadBalancerServiceStrategyType)
	wanted, tenants := desired.WantedSlots(gateway.Join(in.Gateway, nil, nil))
	table, changed, lacking := desired.Assign(gateway.Table{20000: slot("shop", "web", "1", 80, time.Time{})}, in.Gateway, wanted, tenants, in.Now)
	if !changed || len(lacking) > 0 || len(table.Slots(in.Gateway)) > 0 {
		t.Errorf("changed %t, lacking %v, slots %v", changed, lacking, table)
	}
}

// TestSharedAccess: routers read the certificates of a Gateway that they may serve.
func TestSharedAccess(t *testing.T) {
	t.Parallel()
	in := atRouter(operatorv1.LoadBalancerServiceStrategyType, func(in *desired.Input) {
		in.Gateway.Spec.Listeners = []gatewayv1.Listener{{Name: "tls", Port: 443, Protocol: "HTTPS", TLS: &gatewayv1.ListenerTLSConfig{CertificateRefs: []gatewayv1.SecretObjectReference{{Name: "c"}}}}}
	})
	if all := in.Access(); len(all) != 1 {
		t.Errorf("got %v", all)
	}
	if in.Settings.SharedAddress = false; len(in.Access()) != 0 {
		t.Error("they read certificates of what they do not serve")
	}
}

// TestFrontName: each way of publishing has the Service that the operator makes for it.
func TestFrontName(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[operatorv1.EndpointPublishingStrategyType]string{
		operatorv1.LoadBalancerServiceStrategyType: "router-edge", operatorv1.NodePortServiceStrategyType: "router-nodeport-edge", operatorv1.PrivateStrategyType: "router-internal-edge",
	} {
		if got := desired.FrontName(effective.Spec{Name: "edge", Strategy: operatorv1.EndpointPublishingStrategy{Type: strategy}}); got != want {
			t.Errorf("%s: %s", strategy, got)
		}
	}
}
