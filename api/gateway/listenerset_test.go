package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api/gateway"
)

// namespaceLabels knows the namespaces a and b.
func namespaceLabels(namespace string) (map[string]string, bool) {
	has := map[string]map[string]string{"a": {"team": "a"}, "b": {}}[namespace]
	return has, has != nil
}

func gatewayOf(t *testing.T, spec string) *gatewayv1.Gateway {
	t.Helper()
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "gw"}}
	if err := yaml.Unmarshal([]byte(spec), &g.Spec); err != nil {
		t.Fatal(err)
	}
	return g
}

// setOf makes a ListenerSet of a namespace, by its age in hours and its listeners.
func setOf(t *testing.T, namespace, name string, age int, listeners string) *gatewayv1.ListenerSet {
	t.Helper()
	s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 9, 0, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Hour)),
	}}
	if err := yaml.Unmarshal([]byte("parentRef: {name: gw, namespace: a}\nlisteners: "+listeners), &s.Spec); err != nil {
		t.Fatal(err)
	}
	return s
}

func verdictsOf(j *gateway.Joint) (all []string) {
	for _, s := range j.Sets {
		text := s.Set.Namespace + "/" + s.Set.Name + " " + string(s.Reason)
		for _, l := range s.Listeners {
			text += fmt.Sprintf(" %s=%s", l.Name, l.Reason)
			if l.Accepted() != (l.Block.Count > 0) || l.Accepted() != (l.Message == "") {
				text += fmt.Sprintf("(%+v)", l)
			}
			if l.Conflict != gatewayv1.ListenerReasonNoConflicts && l.Conflict != l.Reason {
				text += "/" + string(l.Conflict)
			}
		}
		all = append(all, text)
	}
	return all
}

func TestAllowsSets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ allowed, from string }{
		{"{}", ""},
		{"{allowedListeners: {}}", ""},
		{"{allowedListeners: {namespaces: {}}}", ""},
		{"{allowedListeners: {namespaces: {from: None}}}", ""},
		{"{allowedListeners: {namespaces: {from: all}}}", ""},
		{"{allowedListeners: {namespaces: {from: Same}}}", "a"},
		{"{allowedListeners: {namespaces: {from: All}}}", "a b unknown"},
		{"{allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {team: a}}}}}", "a"},
		{"{allowedListeners: {namespaces: {from: Selector, selector: {}}}}", "a b"},
		{"{allowedListeners: {namespaces: {from: Selector}}}", ""},
		{"{allowedListeners: {namespaces: {from: Selector, selector: {matchExpressions: [{key: team, operator: Is, values: [a]}]}}}}", ""},
	} {
		g := gatewayOf(t, test.allowed)
		var from []string
		for _, namespace := range []string{"a", "b", "unknown"} {
			if gateway.AllowsSets(g, namespace, namespaceLabels) {
				from = append(from, namespace)
			}
		}
		if got := strings.Join(from, " "); got != test.from {
			t.Errorf("%s allows %q, want %q", test.allowed, got, test.from)
		}
	}
}

const allowing = "allowedListeners: {namespaces: {from: All}}\nlisteners: "

func TestJoin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, gateway string
		sets          []*gatewayv1.ListenerSet
		want          []string
	}{
		{
			"none unless allowed", "listeners: [{name: x, port: 80, protocol: HTTP}]",
			[]*gatewayv1.ListenerSet{setOf(t, "a", "s", 1, "[{name: l, port: 81, protocol: HTTP}]")},
			[]string{"a/s NotAllowed"},
		},
		{
			"age, then name", allowing + "[{name: x, port: 80, protocol: HTTP}]",
			[]*gatewayv1.ListenerSet{
				setOf(t, "b", "young", 1, "[{name: l, port: 81, protocol: HTTP}]"),
				setOf(t, "a-b", "s", 2, "[{name: l, port: 82, protocol: HTTP}]"),
				setOf(t, "a", "s", 2, "[{name: l, port: 82, protocol: HTTP}, {name: m, port: 81, protocol: HTTP}]"),
			},
			[]string{"a-b/s Accepted l=Accepted", "a/s Accepted l=HostnameConflict m=Accepted", "b/young Accepted l=HostnameConflict"},
		},
		{
			"what the Gateway asks for is its own, served or not", allowing + "[{name: x, port: 80, protocol: HTTP, hostname: a.test}, {name: y, port: 81, protocol: HTTP}, {name: z, port: 81, protocol: HTTP}, {name: tcp, port: 90, protocol: TCP}]",
			[]*gatewayv1.ListenerSet{setOf(t, "b", "s", 1, "[{name: l, port: 80, protocol: HTTP, hostname: A.test}, {name: m, port: 81, protocol: HTTP}, {name: k, port: 90, protocol: HTTP}, {name: o, port: 80, protocol: HTTPS, hostname: b.test}, {name: p, port: 80, protocol: HTTP}, {name: q, port: 80, protocol: TCP}]")},
			[]string{"b/s Accepted l=HostnameConflict m=HostnameConflict k=ProtocolConflict o=ProtocolConflict p=Accepted q=ProtocolConflict"},
		},
		{
			"an entry that is not served holds nothing", allowing + "[{name: x, port: 80, protocol: HTTP}]",
			[]*gatewayv1.ListenerSet{
				setOf(t, "b", "old", 3, "[{name: tcp, port: 82, protocol: TLS, tls: {mode: Odd}}, {name: udp, port: 82, protocol: UDP}, {name: twice, port: 82, protocol: UDP}, {name: odd, port: 82, protocol: example.com/odd}]"),
				setOf(t, "b", "next", 2, "[{name: l, port: 82, protocol: HTTP}, {name: m, port: 82, protocol: HTTPS, hostname: a.test}]"),
				setOf(t, "a", "young", 1, "[{name: l, port: 82, protocol: HTTP, hostname: a.test}]"),
			},
			[]string{"b/old Accepted tcp=UnsupportedValue udp=Accepted twice=HostnameConflict odd=UnsupportedProtocol", "b/next Accepted l=Accepted m=ProtocolConflict", "a/young Accepted l=Accepted"},
		},
		{
			"HTTPS and TLS on a port", allowing + "[{name: x, port: 443, protocol: HTTPS, hostname: a.test}]",
			[]*gatewayv1.ListenerSet{
				setOf(t, "b", "old", 2, "[{name: l, port: 443, protocol: TLS, hostname: A.test}, {name: m, port: 443, protocol: TLS, hostname: b.test, tls: {mode: Passthrough}}]"),
				setOf(t, "a", "young", 1, "[{name: l, port: 443, protocol: HTTPS, hostname: b.test}, {name: m, port: 443, protocol: HTTPS}]"),
			},
			[]string{"b/old Accepted l=HostnameConflict m=Accepted", "a/young Accepted l=HostnameConflict m=Accepted"},
		},
		{
			"a Gateway without a valid listener", allowing + "[{name: x, port: 80, protocol: ODD}]",
			[]*gatewayv1.ListenerSet{setOf(t, "a", "s", 1, "[{name: l, port: 81, protocol: HTTP}]")},
			[]string{"a/s ParentNotAccepted"},
		},
		{
			"a Gateway that asks for certificates of clients", "tls: {frontend: {default: {validation: {caCertificateRefs: [{group: \"\", kind: ConfigMap, name: ca}]}}}}\n" + allowing + "[{name: x, port: 80, protocol: HTTP}]",
			[]*gatewayv1.ListenerSet{setOf(t, "a", "s", 1, "[{name: l, port: 443, protocol: HTTPS}]")},
			[]string{"a/s Accepted l=Accepted"},
		},
		{
			"a Gateway that asks for what is not known", "tls: {frontend: {default: {validation: {mode: Odd, caCertificateRefs: [{group: \"\", kind: ConfigMap, name: ca}]}}}}\n" + allowing + "[{name: x, port: 80, protocol: HTTP}]",
			[]*gatewayv1.ListenerSet{setOf(t, "a", "s", 1, "[{name: l, port: 443, protocol: HTTPS}]")},
			[]string{"a/s Accepted l=UnsupportedValue"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			g := gatewayOf(t, test.gateway)
			j := gateway.Join(g, test.sets, namespaceLabels)
			if diff := cmp.Diff(test.want, verdictsOf(j)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(gateway.Judge(g), j.Own); diff != "" {
				t.Error(diff)
			}
			for _, v := range j.Sets {
				if s := v.Set; j.Set(s.Namespace, s.Name) != v || j.Set(s.Namespace, "none") != nil {
					t.Errorf("%s/%s is not found by its name", s.Namespace, s.Name)
				}
			}
		})
	}
}

// many makes that many ListenerSets with one listener each.
func many(t *testing.T, namespace string, count int, listener string) (all []*gatewayv1.ListenerSet) {
	t.Helper()
	for i := range count {
		all = append(all, setOf(t, namespace, fmt.Sprintf("s%04d", i), 1, fmt.Sprintf(strings.ReplaceAll(listener, "HOST", "h%d-%s.test"), i, namespace)))
	}
	return all
}

// TestSetBounds: a namespace has a share of what ListenerSets may add to a Gateway.
func TestSetBounds(t *testing.T) {
	t.Parallel()
	const plain = "[{name: l, port: 80, protocol: HTTP, hostname: HOST}]"
	g := gatewayOf(t, allowing+"[{name: x, port: 80, protocol: HTTP}]")
	accepted := func(sets []*gatewayv1.ListenerSet) map[string]int {
		count := map[string]int{}
		for _, s := range gateway.Join(g, sets, namespaceLabels).Sets {
			for _, l := range s.Listeners {
				count[s.Set.Namespace+" "+string(l.Reason)]++
			}
		}
		return count
	}
	got := accepted(append(many(t, "a", gateway.MostSetListenersOfNamespace+2, plain), many(t, "b", 3, plain)...))
	if diff := cmp.Diff(map[string]int{"a Accepted": gateway.MostSetListenersOfNamespace, "a TooManyListeners": 2, "b Accepted": 3}, got); diff != "" {
		t.Error(diff)
	}
	var all []*gatewayv1.ListenerSet
	for _, namespace := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, many(t, namespace, gateway.MostSetListenersOfNamespace, plain)...)
	}
	if got := accepted(all); got["e TooManyListeners"] != gateway.MostSetListenersOfNamespace || got["d Accepted"] != gateway.MostSetListenersOfNamespace {
		t.Errorf("of all namespaces %v", got)
	}
	refs := strings.Repeat("{name: c}, ", 64)
	got = accepted(append(many(t, "a", 3, "[{name: l, port: 443, protocol: HTTPS, hostname: HOST, tls: {certificateRefs: ["+refs+"]}}]"), many(t, "b", 1, plain)...))
	if diff := cmp.Diff(map[string]int{"a Accepted": 2, "a TooManyListeners": 1, "b Accepted": 1}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSetCertificates: those that all namespaces together may name are bounded, too.
func TestSetCertificates(t *testing.T) {
	t.Parallel()
	g := gatewayOf(t, allowing+"[{name: x, port: 80, protocol: HTTP}]")
	listener := "[{name: l, port: 443, protocol: HTTPS, hostname: HOST, tls: {certificateRefs: [" + strings.Repeat("{name: c},", gateway.MostSetCertificatesOfNamespace/2) + "]}}]"
	var all []*gatewayv1.ListenerSet
	full := gateway.MostSetCertificates / gateway.MostSetCertificatesOfNamespace
	for n := range full + 1 {
		all = append(all, many(t, fmt.Sprintf("n%02d", n), 2, listener)...)
	}
	accepted := 0
	for _, v := range gateway.Join(g, all, namespaceLabels).Sets {
		switch l := v.Listeners[0]; {
		case l.Accepted():
			accepted++
		case v.Set.Namespace != fmt.Sprintf("n%02d", full) || l.Reason != "TooManyListeners":
			t.Errorf("%s/%s: %s %s", v.Set.Namespace, v.Set.Name, l.Reason, l.Message)
		}
	}
	if accepted != 2*full {
		t.Errorf("%d are accepted, want %d", accepted, 2*full)
	}
}
