package console

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/explain"
)

// hostileGateways adds objects of the Gateway API with hostile texts in what tenants control.
func hostileGateways(o *explain.Objects) {
	created := metav1.NewTime(testNow.AddDate(0, -1, 0))
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: created}
	}
	condition := func(text string) []metav1.Condition {
		return []metav1.Condition{{Type: evil(text), Status: metav1.ConditionStatus(evil(text)), Reason: evil(text), Message: evil(text)}}
	}
	all := gatewayv1.NamespacesFromAll
	listener := func(name string) gatewayv1.Listener {
		return gatewayv1.Listener{Name: gatewayv1.SectionName(name), Port: 80, Protocol: gatewayv1.HTTPProtocolType, AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &all}}}
	}
	host := gatewayv1.Hostname(evil("gwhost"))
	bad := listener(evil("gwlistener"))
	bad.Hostname, bad.Port = &host, 8081
	o.Add(&gatewayv1.Gateway{
		ObjectMeta: meta("gw", "gw"),
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: "fairlead", Listeners: []gatewayv1.Listener{listener("http"), bad},
			AllowedListeners: &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: &all}},
		},
		Status: gatewayv1.GatewayStatus{Conditions: condition("gwstatus"), Addresses: []gatewayv1.GatewayStatusAddress{{Value: evil("gwaddress")}}},
	})
	o.Add(&gatewayv1.Gateway{ObjectMeta: meta(evil("gwname"), evil("gwname")), Spec: gatewayv1.GatewaySpec{GatewayClassName: gatewayv1.ObjectName(evil("gwclass"))}})
	o.Add(&gatewayv1.ListenerSet{
		ObjectMeta: meta("gw", evil("setname")),
		Spec: gatewayv1.ListenerSetSpec{
			ParentRef: gatewayv1.ParentGatewayReference{Name: "gw"},
			Listeners: []gatewayv1.ListenerEntry{{Name: gatewayv1.SectionName(evil("lname")), Port: 8082, Protocol: gatewayv1.HTTPProtocolType}},
		},
	})
	section, prefix, path := gatewayv1.SectionName(evil("rsection")), gatewayv1.PathMatchPathPrefix, "/"+evil("rpath")
	route := func(name string, edit func(*gatewayv1.HTTPRoute)) {
		r := &gatewayv1.HTTPRoute{
			ObjectMeta: meta("gw", name),
			Spec: gatewayv1.HTTPRouteSpec{
				CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "gw"}}},
				Rules:           []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: "web"}}}}}},
			},
		}
		edit(r)
		o.Add(r)
	}
	route("plain", func(*gatewayv1.HTTPRoute) {})
	route(evil("rname"), func(r *gatewayv1.HTTPRoute) {
		r.Annotations = map[string]string{evil("rannotation"): evil("rannotation")}
	})
	route("host", func(r *gatewayv1.HTTPRoute) {
		r.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(evil("rhost")), "b.test"}
	})
	route("path", func(r *gatewayv1.HTTPRoute) {
		r.Spec.Rules[0].Matches = []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{Type: &prefix, Value: &path}, Headers: []gatewayv1.HTTPHeaderMatch{{Name: gatewayv1.HTTPHeaderName(evil("rheader")), Value: evil("rheader")}}}}
	})
	route("service", func(r *gatewayv1.HTTPRoute) {
		r.Spec.Rules[0].BackendRefs[0].Name = gatewayv1.ObjectName(evil("rservice"))
	})
	route("parent", func(r *gatewayv1.HTTPRoute) {
		r.Spec.ParentRefs = []gatewayv1.ParentReference{{Name: gatewayv1.ObjectName(evil("rparent"))}, {Name: "gw", SectionName: &section}}
	})
	route("status", func(r *gatewayv1.HTTPRoute) {
		r.Status.Parents = []gatewayv1.RouteParentStatus{{ParentRef: gatewayv1.ParentReference{Name: "gw"}, ControllerName: gatewayv1.GatewayController(evil("rstatus")), Conditions: condition("rstatus")}}
	})
}

// hostileNetwork has hostile texts in all that status objects could have.
func hostileNetwork() *Network {
	return &Network{
		Addresses: []Address{{
			Addresses: []string{evil("aaddress")}, Service: evil("aservice"), Pool: evil("apool"), State: Doubtful, Why: evil("awhy"),
			Announcers: []Announcer{{Node: evil("anode"), Interfaces: []string{evil("aiface")}}}, Next: []string{evil("anext")}, Excluded: []Excluded{{Node: evil("axnode"), Why: evil("axwhy")}},
			BGP: []Session{{Node: evil("anode"), Peer: evil("apeer"), State: evil("abgp"), BFD: evil("abfd"), Error: evil("aerror")}},
		}},
		Pools: []Pool{{Name: evil("pool"), Used: -5, Total: 3}, {Name: "x", Used: 9, Total: 0}},
		Notes: []string{evil("anote")},
	}
}

// hostileEvents have them in all that an event could have: those who may create events in a
// namespace writes what this likes.
func hostileEvents() *Events {
	return &Events{
		Items: []Event{
			{Source: evil("esource"), Kind: evil("ekind"), Namespace: evil("ens"), Name: evil("ename"), Reason: evil("ereason"), Message: evil("emessage"), Remedy: evil("emessage"), Type: evil("etype"), Count: -1},
			{Source: "router-default", Kind: "route", Namespace: "ns", Name: "plain", Type: "warning"},
		},
		Notes: []string{evil("enote")},
	}
}
