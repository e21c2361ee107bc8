package desired_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/gateway/desired"
)

// input is a Gateway with one HTTP listener that is served at 198.18.0.1, on a router
// that publishes in the given way.
func input(strategy operatorv1.EndpointPublishingStrategyType, changes ...func(*desired.Input)) desired.Input {
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: "default"}}
	ic.Status.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{Type: strategy}
	g := named("shop", "web", "1")
	g.Spec = gatewayv1.GatewaySpec{GatewayClassName: "fairlead", Listeners: []gatewayv1.Listener{{Name: "http", Port: 80, Protocol: "HTTP"}}}
	routersSay(g, "http", metav1.ConditionTrue, "Programmed", "")
	in := desired.Input{
		Gateway: g, Now: now(),
		Class:    desired.Class{Object: &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "fairlead"}}, IC: ic, Bundle: "v1.6.3"},
		Settings: effective.Of(ic, effective.Cluster{}, effective.Defaults{Dialect: hook.NoDialect{}}),
		Slots:    map[gateway.Port]int32{{Number: 80}: 20000},
		Pods: []corev1.Pod{{Spec: corev1.PodSpec{NodeName: "n1"}, Status: corev1.PodStatus{
			PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}}},
		Nodes: []corev1.Node{{
			ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "a"}},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}},
		}},
	}
	in.Service = in.DesiredService()
	if in.Service != nil {
		in.Service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		in.Service.Spec.ClusterIPs = []string{"10.96.0.1"}
		in.Service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

// routersSay adds what the routers say of a listener of this generation.
func routersSay(g *gatewayv1.Gateway, listener gatewayv1.SectionName, status metav1.ConditionStatus, reason, message string) {
	g.Status.Listeners = append(g.Status.Listeners, gatewayv1.ListenerStatus{Name: listener, Conditions: []metav1.Condition{{
		Type: "Programmed", Status: status, Reason: reason, Message: message, ObservedGeneration: g.Generation,
	}}})
}

// says checks the conditions of a Gateway, and a part of their messages.
func says(t *testing.T, in desired.Input, want, part string) {
	t.Helper()
	if got, messages := said(in); got != want || !strings.Contains(messages, part) {
		t.Errorf("got %s\nwant %s\nmessages %s", got, want, messages)
	}
}

// said returns the conditions in short, and all messages.
func said(in desired.Input) (string, string) {
	var short, messages []string
	for _, c := range in.Conditions() {
		short = append(short, fmt.Sprintf("%s=%s/%s@%d", c.Type, c.Status, c.Reason, c.ObservedGeneration))
		messages = append(messages, c.Message)
	}
	return strings.Join(short, " "), strings.Join(messages, "\n")
}

// parameters names an IngressController by spec.infrastructure.parametersRef.
func parameters(ic string) *gatewayv1.GatewayInfrastructure {
	return &gatewayv1.GatewayInfrastructure{ParametersRef: &gatewayv1.LocalParametersReference{Group: gatewayv1.Group(operatorv1.GroupName), Kind: "IngressController", Name: ic}}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	const lb, private, nodePort = operatorv1.LoadBalancerServiceStrategyType, operatorv1.PrivateStrategyType, operatorv1.NodePortServiceStrategyType
	addresses := func(values ...string) func(*desired.Input) {
		return func(in *desired.Input) {
			for _, v := range values {
				in.Gateway.Spec.Addresses = append(in.Gateway.Spec.Addresses, gatewayv1.GatewaySpecAddress{Value: v})
			}
		}
	}
	for _, test := range []struct {
		name     string
		strategy operatorv1.EndpointPublishingStrategyType
		change   func(*desired.Input)
		want     string
		says     string
	}{
		{"served", lb, nil, "Accepted=True/Accepted@3 Programmed=True/Programmed@3", ""},
		{"served within the cluster", private, nil, "Accepted=True/Accepted@3 Programmed=True/Programmed@3", ""},
		{"node ports", nodePort, func(in *desired.Input) { in.Service.Spec.Ports[0].NodePort = 31234 }, "Accepted=True/Accepted@3 Programmed=True/Programmed@3", "80 at port 31234"},
		{"host network", operatorv1.HostNetworkStrategyType, nil, "Accepted=False/InvalidParameters@3 Programmed=False/Invalid@3", "HostNetwork"},
		{"no IngressController", lb, func(in *desired.Input) { in.Class.IC = nil }, "Accepted=False/InvalidParameters@3 Programmed=False/Invalid@3", "default"},
		{"old CRDs", lb, func(in *desired.Input) { in.Class.Bundle = "v1.4.1" }, "Accepted=False/Pending@3 Programmed=False/Invalid@3", "v1.4.1"},
		{
			"parameters", lb, func(in *desired.Input) {
				in.Gateway.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{ParametersRef: &gatewayv1.LocalParametersReference{Kind: "ConfigMap", Name: "x"}}
			},
			"Accepted=False/InvalidParameters@3 Programmed=False/Invalid@3", "ConfigMap",
		},
		{
			"an IngressController that does not permit it, or does not exist", lb, func(in *desired.Input) { in.Gateway.Spec.Infrastructure = parameters("internal") },
			"Accepted=False/InvalidParameters@3 Programmed=False/Invalid@3", "does not exist or does not permit Gateways of namespace",
		},
		{
			"an IngressController that permits it", lb, func(in *desired.Input) {
				in.Gateway.Spec.Infrastructure, in.Parameters = parameters("internal"), &operatorv1.IngressController{}
			},
			"Accepted=True/Accepted@3 Programmed=True/Programmed@3", "",
		},
		{
			"an IngressController on host network", lb, func(in *desired.Input) {
				in.Gateway.Spec.Infrastructure, in.Parameters = parameters("internal"), &operatorv1.IngressController{}
				in.Parameters.Status.EndpointPublishingStrategy = &operatorv1.EndpointPublishingStrategy{Type: operatorv1.HostNetworkStrategyType}
			},
			"Accepted=False/InvalidParameters@3 Programmed=False/Invalid@3", "HostNetwork",
		},
		{"not admitted yet", lb, func(in *desired.Input) { in.Settings.Strategy.Type = "" }, "Accepted=True/Accepted@3 Programmed=False/Pending@3", "not admitted"},
		{"a write was refused", lb, func(in *desired.Input) { in.Problem = "exceeded quota" }, "Accepted=True/Accepted@3 Programmed=False/Pending@3", "exceeded quota"},
		{"no slot", lb, func(in *desired.Input) { in.Lacking = []gateway.Port{{Number: 80}} }, "Accepted=True/Accepted@3 Programmed=False/NoResources@3", "no port left for 80"},
		{
			"no address", lb, func(in *desired.Input) {
				in.Service.Status = corev1.ServiceStatus{Conditions: []metav1.Condition{{Type: api.ConditionAllocated, Status: metav1.ConditionFalse, Message: "there is no IPAddressPool"}}}
			},
			"Accepted=True/Accepted@3 Programmed=False/AddressNotAssigned@3", "there is no IPAddressPool",
		},
		{"the address", lb, addresses("198.18.0.1"), "Accepted=True/Accepted@3 Programmed=True/Programmed@3", ""},
		{"any address", lb, addresses(""), "Accepted=True/Accepted@3 Programmed=True/Programmed@3", ""},
		{"another address", lb, addresses("198.18.0.2"), "Accepted=True/Accepted@3 Programmed=False/AddressNotUsable@3", "198.18.0.2"},
		{"two of a family", lb, addresses("198.18.0.1", "198.18.0.2"), "Accepted=True/Accepted@3 Programmed=False/AddressNotUsable@3", "one IPv4 and one IPv6"},
		{"an address within the cluster", private, addresses("10.96.0.1"), "Accepted=True/Accepted@3 Programmed=False/AddressNotUsable@3", "Private"},
		{"a cloud", lb, func(in *desired.Input) { in.Settings.CloudClass = "x"; addresses("198.18.0.1")(in) }, "Accepted=True/Accepted@3 Programmed=False/AddressNotUsable@3", "cloud"},
		{"no address at all", lb, addresses("x\n\t\r\x00\f"), "Accepted=False/UnsupportedAddress@3 Programmed=False/Invalid@3", `"x\n\t\r\x00\f" is no IP address`},
		{
			"a host name", lb, func(in *desired.Input) {
				in.Gateway.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Type: new(gatewayv1.HostnameAddressType), Value: "a.example.com"}}
			},
			"Accepted=False/UnsupportedAddress@3 Programmed=False/Invalid@3", "Hostname",
		},
		{"no router", lb, func(in *desired.Input) { in.Pods = nil }, "Accepted=True/Accepted@3 Programmed=False/Pending@3", "no router"},
		{
			"some listeners", lb, func(in *desired.Input) {
				in.Gateway.Spec.Listeners = append(in.Gateway.Spec.Listeners, gatewayv1.Listener{Name: "dns", Port: 53, Protocol: "ODD"})
				routersSay(in.Gateway, "dns", metav1.ConditionFalse, "Invalid", "odd")
			},
			"Accepted=True/ListenersNotValid@3 Programmed=True/Programmed@3", "listener dns",
		},
		{
			"silent routers", lb, func(in *desired.Input) { in.Gateway.Status.Listeners = nil },
			"Accepted=True/Accepted@3 Programmed=False/Pending@3", "have not said yet that they serve listener http",
		},
		{
			"an older generation", lb, func(in *desired.Input) { in.Gateway.Status.Listeners[0].Conditions[0].ObservedGeneration-- },
			"Accepted=True/Accepted@3 Programmed=False/Pending@3", "have not said yet that they serve listener http",
		},
		{
			"one router lacks it", lb, func(in *desired.Input) {
				in.Gateway.Status.Listeners = nil
				routersSay(in.Gateway, "http", metav1.ConditionFalse, "Pending", "1 of 2 routers do not have it yet, such as b")
			},
			"Accepted=True/Accepted@3 Programmed=False/Pending@3", "listener http: 1 of 2 routers do not have it yet, such as b",
		},
		{
			"one of two is pending", lb, func(in *desired.Input) {
				in.Gateway.Spec.Listeners = append(in.Gateway.Spec.Listeners, gatewayv1.Listener{Name: "more", Port: 81, Protocol: "HTTP"})
				routersSay(in.Gateway, "more", metav1.ConditionFalse, "Pending", "soon")
			},
			"Accepted=True/Accepted@3 Programmed=False/Pending@3", "listener more: soon",
		},
		{
			"no certificate", lb, func(in *desired.Input) {
				in.Gateway.Status.Listeners = nil
				routersSay(in.Gateway, "http", metav1.ConditionFalse, "Invalid", "no certificate")
			},
			"Accepted=True/Accepted@3 Programmed=False/Invalid@3", "the routers serve no listener; http: no certificate",
		},
		{
			"any client", lb, func(in *desired.Input) {
				in.Gateway.Spec.TLS = &gatewayv1.GatewayTLSConfig{Frontend: &gatewayv1.FrontendTLSConfig{PerPort: []gatewayv1.TLSPortConfig{{Port: 443, TLS: gatewayv1.TLSConfig{Validation: &gatewayv1.FrontendTLSValidation{Mode: gatewayv1.AllowInsecureFallback}}}}}}
			},
			"Accepted=True/Accepted@3 Programmed=True/Programmed@3 InsecureFrontendValidationMode=True/ConfigurationChanged@3", "perPort[0]",
		},
		{"no listener", lb, func(in *desired.Input) { in.Gateway.Spec.Listeners[0].Protocol = "ODD" }, "Accepted=False/ListenersNotValid@3 Programmed=False/Invalid@3", "UDP"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := input(test.strategy)
			if test.change != nil {
				test.change(&in)
			}
			says(t, in, test.want, test.says)
		})
	}
}

// TestPatience: a Gateway that was programmed stays so until the routers have had time to say
// what they have of its newest generation.
func TestPatience(t *testing.T) {
	t.Parallel()
	at := func(waited time.Duration, change func(*desired.Input)) string {
		in := input(operatorv1.LoadBalancerServiceStrategyType)
		in.Gateway.Status.Conditions = in.Conditions()
		in.Gateway.Generation++
		in.Waited = waited
		if change != nil {
			change(&in)
		}
		short, _ := said(in)
		return short
	}
	lacking := func(in *desired.Input) {
		in.Gateway.Status.Listeners = nil
		routersSay(in.Gateway, "http", metav1.ConditionFalse, "Pending", "x")
	}
	for _, test := range []struct {
		waited time.Duration
		change func(*desired.Input)
		want   string
	}{
		{0, nil, "Accepted=True/Accepted@4 Programmed=True/Programmed@3"},
		{desired.Patience, nil, "Accepted=True/Accepted@4 Programmed=False/Pending@4"},
		{0, lacking, "Accepted=True/Accepted@4 Programmed=False/Pending@4"},
		{0, func(in *desired.Input) { in.Lacking = []gateway.Port{{Number: 80}} }, "Accepted=True/Accepted@4 Programmed=False/NoResources@4"},
	} {
		if got := at(test.waited, test.change); got != test.want {
			t.Errorf("after %v: %s, want %s", test.waited, got, test.want)
		}
	}
}

// TestTransition: the time of a condition moves with its status only.
func TestTransition(t *testing.T) {
	t.Parallel()
	in := input(operatorv1.LoadBalancerServiceStrategyType)
	in.Gateway.Status.Conditions = in.Conditions()
	in.Now = in.Now.Add(time.Hour)
	if diff := cmp.Diff(in.Gateway.Status.Conditions, in.Conditions()); diff != "" || !desired.Same(in.Gateway.Status.Conditions, in.Conditions()) {
		t.Errorf("nothing happened, and (-before +after):\n%s", diff)
	}
	in.Gateway.Generation++
	in.Gateway.Status.Listeners = nil
	routersSay(in.Gateway, "http", metav1.ConditionTrue, "Programmed", "")
	if desired.Same(in.Gateway.Status.Conditions, in.Conditions()) {
		t.Error("the generation moved, and the conditions do not")
	}
	insecure := append(in.Conditions(), metav1.Condition{Type: string(gatewayv1.GatewayConditionInsecureFrontendValidationMode), Status: metav1.ConditionTrue})
	if desired.Same(insecure, in.Conditions()) {
		t.Error("a condition of a mode that was left would stay")
	}
	in.Pods = nil
	if c := in.Conditions(); !c[0].LastTransitionTime.Time.Equal(now()) || !c[1].LastTransitionTime.Time.Equal(in.Now) {
		t.Errorf("got %v", c)
	}
	in.Gateway.Generation = 1
	if !desired.Newer(in.Gateway.Status.Conditions, in.Conditions()) {
		t.Error("an old state would be written over a newer one")
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	asks := func(in *desired.Input) {
		in.Gateway.Spec.Addresses = []gatewayv1.GatewaySpecAddress{{Value: "198.18.0.2"}, {Value: "fd00::2"}}
		in.Gateway.Spec.Infrastructure = &gatewayv1.GatewayInfrastructure{
			Labels:      map[gatewayv1.LabelKey]gatewayv1.LabelValue{"team": "shop", gateway.LabelManagedBy: "me", gateway.LabelGateway: "other"},
			Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{"note": "x", api.AnnotationProbe: ":80/", "metallb.universe.tf/loadBalancerIPs": "198.18.0.9", api.AnnotationAddressPool: "edge"},
		}
	}
	in := input(operatorv1.LoadBalancerServiceStrategyType, asks)
	in.Settings.SourceRanges = []string{"192.0.2.0/24"}
	s := in.DesiredService()
	if s.Labels[gateway.LabelManagedBy] != gateway.ManagedBy || s.Labels[gateway.LabelGateway] != "web" || s.Labels["team"] != "shop" {
		t.Errorf("labels %v", s.Labels)
	}
	if s.Annotations[api.AnnotationLoadBalancerIPs] != "198.18.0.2,fd00::2" || s.Annotations[api.AnnotationProbe] != ":1936/healthz/ready" || s.Annotations["note"] != "x" ||
		s.Annotations[api.AnnotationAddressPool] != "edge" || s.Annotations["metallb.universe.tf/loadBalancerIPs"] != "" {
		t.Errorf("annotations %v", s.Annotations)
	}
	if !cmp.Equal(s.Spec.LoadBalancerSourceRanges, in.Settings.SourceRanges) || *s.Spec.IPFamilyPolicy != corev1.IPFamilyPolicyRequireDualStack {
		t.Errorf("spec %+v", s.Spec)
	}
	live, changed := desired.ChangedService(s, s)
	if changed {
		t.Error("a Service that is as it should be is changed")
	}
	live.Annotations["other.example.com/x"], live.Spec.Ports[0].NodePort = "stays", 31000
	live.Spec.Ports[0].TargetPort.IntVal = 20001
	plain := input(operatorv1.LoadBalancerServiceStrategyType)
	updated, changed := desired.ChangedService(live, plain.DesiredService())
	want := map[string]string{"other.example.com/x": "stays", api.AnnotationProbe: ":1936/healthz/ready"}
	if diff := cmp.Diff(want, updated.Annotations); diff != "" || !changed || updated.Labels["team"] != "" || updated.Spec.Ports[0].NodePort != 31000 || updated.Spec.Ports[0].TargetPort.IntVal != 20000 {
		t.Errorf("changed %t, labels %v, ports %v, annotations (-want +got):\n%s", changed, updated.Labels, updated.Spec.Ports, diff)
	}
	nodePort := input(operatorv1.NodePortServiceStrategyType, func(in *desired.Input) {
		in.Slots = map[gateway.Port]int32{{Number: 80}: 20000, {Number: 30080}: 20001}
	}).DesiredService()
	if nodePort.Spec.Ports[0].NodePort != 0 || nodePort.Spec.Ports[1].NodePort != 30080 {
		t.Errorf("ports %+v", nodePort.Spec.Ports)
	}
	if s := input(operatorv1.LoadBalancerServiceStrategyType, func(in *desired.Input) { in.Slots = nil }).DesiredService(); s != nil {
		t.Errorf("without slots there is %v", s)
	}
}

func TestSlices(t *testing.T) {
	t.Parallel()
	in := input(operatorv1.LoadBalancerServiceStrategyType)
	ending := *in.Pods[0].DeepCopy()
	ending.DeletionTimestamp, ending.Status.PodIPs = new(metav1.NewTime(now())), []corev1.PodIP{{IP: "10.0.0.0"}}
	ended := *ending.DeepCopy()
	ended.Status.Phase = corev1.PodFailed
	in.Pods = append(in.Pods, ending, ended)
	var got []string
	for _, s := range in.DesiredSlices() {
		for _, e := range s.Endpoints {
			zone := ""
			if e.Zone != nil {
				zone = *e.Zone
			}
			got = append(got, fmt.Sprintf("%s %s port %d on %s in %q ready %t serving %t terminating %t", s.Name, e.Addresses[0], *s.Ports[0].Port, *e.NodeName, zone, *e.Conditions.Ready, *e.Conditions.Serving, *e.Conditions.Terminating))
			if _, err := netip.ParseAddr(e.Addresses[0]); err != nil {
				t.Error(err)
			}
		}
	}
	want := []string{
		`gateway-web-ipv4 10.0.0.0 port 20000 on n1 in "a" ready false serving true terminating true`,
		`gateway-web-ipv4 10.0.0.1 port 20000 on n1 in "a" ready true serving true terminating false`,
		`gateway-web-ipv6 fd00::1 port 20000 on n1 in "a" ready true serving true terminating false`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	in.Slots = nil
	for _, s := range in.DesiredSlices() {
		if len(s.Endpoints) > 0 {
			t.Errorf("without slots %s leads to %v", s.Name, s.Endpoints)
		}
	}
}

// TestDatagramPorts: a port of UDP can have the number of another one, and Service, slots and
// EndpointSlices keep the two apart.
func TestDatagramPorts(t *testing.T) {
	t.Parallel()
	g := named("shop", "web", "1")
	g.Spec.Listeners = []gatewayv1.Listener{{Name: "tcp", Port: 53, Protocol: "TCP"}, {Name: "udp", Port: 53, Protocol: "UDP"}, {Name: "game", Port: 30777, Protocol: "UDP"}}
	wanted, _ := desired.WantedSlots(gateway.Join(g, nil, nil))
	table, _, lacking := desired.Assign(nil, g, wanted, nil, now())
	in := input(operatorv1.NodePortServiceStrategyType, func(in *desired.Input) { in.Gateway, in.Slots = g, table.Slots(g) })
	in.Service = in.DesiredService()
	var got []string
	for _, p := range in.Service.Spec.Ports {
		got = append(got, fmt.Sprintf("%s %s %d to %d node %d", p.Name, p.Protocol, p.Port, p.TargetPort.IntVal, p.NodePort))
	}
	in.Service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	for _, s := range in.DesiredSlices() {
		for _, p := range s.Ports {
			got = append(got, fmt.Sprintf("%s %s %d", *p.Name, *p.Protocol, *p.Port))
		}
	}
	want := []string{
		"port-53 TCP 53 to 23000 node 0", "port-53-udp UDP 53 to 24000 node 0", "port-30777-udp UDP 30777 to 24001 node 30777",
		"port-53 TCP 23000", "port-53-udp UDP 24000", "port-30777-udp UDP 24001",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(lacking) > 0 {
		t.Errorf("%v lack a slot; ports (-want +got):\n%s", lacking, diff)
	}
	in.Lacking = []gateway.Port{{Number: 53, UDP: true}}
	if _, messages := said(in); !strings.Contains(messages, "no port left for 53/UDP") {
		t.Errorf("without a slot: %s", messages)
	}
}

func TestBundles(t *testing.T) {
	t.Parallel()
	for bundle, want := range map[string]bool{"": true, "v1.5.0": true, "v1.6.3": true, "v1.7.0-rc.1": true, "v1.4.1": false, "v1.8.0": false, "v2.6.0": false, "1.6.0": false, "v1.": false, "v1.x": false} {
		in := input(operatorv1.LoadBalancerServiceStrategyType)
		in.Class.Bundle = bundle
		if got := in.Class.Accepted(); got != want {
			t.Errorf("%q: %t", bundle, got)
		}
	}
}
