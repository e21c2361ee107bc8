package cluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/lbprovider/inspect"
	"github.com/fairlead/fairlead/lbprovider/service"
)

func nodeNamed(name string) corev1.Node {
	return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

// TestNetwork: addresses are announced by the word of status objects, and what does not fit is
// said.
func TestNetwork(t *testing.T) {
	t.Parallel()
	since := metav1.NewTime(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	status := func(node string) v1beta1.ServiceL2Status {
		return v1beta1.ServiceL2Status{Status: v1beta1.MetalLBServiceL2Status{Node: node, ServiceNamespace: "web", ServiceName: "shop", Since: &since, Interfaces: []v1beta1.InterfaceInfo{{Name: "eth0"}}}}
	}
	bgp := func(state string) ([]v1beta1.ServiceBGPStatus, []v1beta1.BGPSessionState) {
		return []v1beta1.ServiceBGPStatus{{Status: v1beta1.MetalLBServiceBGPStatus{Node: "a", ServiceNamespace: "web", ServiceName: "shop", Peers: []string{"198.51.100.1"}}}},
			[]v1beta1.BGPSessionState{{Status: v1beta1.BGPSessionStateStatus{Node: "a", Peer: "198.51.100.1", BGPStatus: state}}}
	}
	for name, test := range map[string]struct {
		edit  func(*inspect.Objects)
		state console.AddressState
		why   string
	}{
		"no node":   {func(*inspect.Objects) {}, console.NotAnnounced, ""},
		"one node":  {func(o *inspect.Objects) { o.L2 = []v1beta1.ServiceL2Status{status("a")} }, console.Announced, ""},
		"two nodes": {func(o *inspect.Objects) { o.L2 = []v1beta1.ServiceL2Status{status("a"), status("b")} }, console.Doubtful, "more than one node"},
		"BGP":       {func(o *inspect.Objects) { o.BGP, o.Sessions = bgp("Established") }, console.Announced, ""},
		"BGP down": {func(o *inspect.Objects) {
			o.BGP, o.Sessions = bgp("Idle")
			o.L2 = []v1beta1.ServiceL2Status{status("a")}
		}, console.Doubtful, "the session of a with 198.51.100.1"},
		"BGP down only": {func(o *inspect.Objects) { o.BGP, o.Sessions = bgp("Idle") }, console.NotAnnounced, ""},
		"no right":      {func(o *inspect.Objects) { o.Unreadable = []string{"ServiceL2Statuses"} }, console.Doubtful, "could not be read"},
	} {
		o := &inspect.Objects{Classes: service.DefaultClasses(), Nodes: []corev1.Node{nodeNamed("a"), nodeNamed("b")}}
		o.Services = []corev1.Service{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "shop"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
			Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}},
		}}
		o.Config.Pools = []v1beta1.IPAddressPool{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: v1beta1.IPAddressPoolStatus{AssignedIPv4: 1, AvailableIPv4: 3}}}
		test.edit(o)
		n := networkOf(o)
		if len(n.Addresses) != 1 || len(n.Pools) != 1 || n.Pools[0] != (console.Pool{Name: "p", Used: 1, Total: 4}) || len(n.Notes) != len(o.Unreadable) {
			t.Fatalf("%s: %+v", name, n)
		}
		if a := n.Addresses[0]; a.State != test.state || !strings.Contains(a.Why, test.why) || a.Service != "web/shop" || len(o.L2) > 0 && (a.Since == nil || a.Announcers[0].Interfaces[0] != "eth0") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestEventOf: only events of Fairlead's programs are shown.
func TestEventOf(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	e := &corev1.Event{
		InvolvedObject: corev1.ObjectReference{Kind: "Route", Namespace: "web", Name: "shop"}, Reason: "R", Message: "m", Type: corev1.EventTypeWarning, Count: 3,
		Source: corev1.EventSource{Component: "router-default"}, LastTimestamp: at,
	}
	got, is := eventOf(e)
	if !is || got.Kind != "route" || got.Type != "warning" || got.Time == nil || !got.Time.Equal(at.Time) || got.Count != 3 {
		t.Errorf("%+v", got)
	}
	e.Source.Component, e.ReportingController = "", "fairlead-speaker"
	if _, is := eventOf(e); !is {
		t.Error("an event of a speaker is left out")
	}
	for _, other := range []string{"kubelet", "default-scheduler", "", "my-router-x"} {
		e.ReportingController = other
		if _, is := eventOf(e); is {
			t.Errorf("an event of %q is shown", other)
		}
	}
}
