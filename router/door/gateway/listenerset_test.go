package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const sets = `
kind: Gateway
metadata: {namespace: ns, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  allowedListeners: {namespaces: {from: Selector, selector: {matchLabels: {team: a}}}}
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: gw.test}
---
kind: ListenerSet
metadata: {namespace: b, name: set, uid: s}
spec:
  parentRef: {name: gw, namespace: ns}
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: set.test}
  - {name: all, port: 80, protocol: HTTP, hostname: all.test, allowedRoutes: {namespaces: {from: All}}}
  - {name: taken, port: 80, protocol: HTTP, hostname: gw.test}
  - {name: high, port: 8080, protocol: HTTP}
---
kind: ListenerSet
metadata: {namespace: c, name: stranger, uid: t}
spec:
  parentRef: {name: gw, namespace: ns}
  listeners: [{name: http, port: 80, protocol: HTTP, hostname: stranger.test, allowedRoutes: {namespaces: {from: All}}}]
---
kind: Namespace
metadata: {name: b, labels: {team: a}}
---
kind: Namespace
metadata: {name: c}`

// TestAttachmentToSets: a parentRef that names a ListenerSet means listeners of this one alone,
// in whose namespace "Same" is, and one that names a Gateway means none of a ListenerSet.
func TestAttachmentToSets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, namespace, parent, accepted, attached string }{
		{"a route of its namespace", "b", "{kind: ListenerSet, name: set}", "True Accepted", "http all taken high"},
		{"of the Gateway's namespace", "ns", "{kind: ListenerSet, name: set, namespace: b}", "True Accepted", "all"},
		{"a listener for its own namespace", "ns", "{kind: ListenerSet, name: set, namespace: b, sectionName: http}", "False NotAllowedByListeners", ""},
		{"sectionName", "b", "{kind: ListenerSet, name: set, sectionName: high}", "True Accepted", "high"},
		{"port", "b", "{kind: ListenerSet, name: set, port: 8080}", "True Accepted", "high"},
		{"no such section", "b", "{kind: ListenerSet, name: set, sectionName: other}", "False NoMatchingParent", ""},
		{"the Gateway has its own listeners only", "ns", "{name: gw}", "True Accepted", "http"},
		{"the Gateway has no section of a ListenerSet", "ns", "{name: gw, sectionName: high}", "False NoMatchingParent", ""},
		{"a ListenerSet that is not allowed", "c", "{kind: ListenerSet, name: stranger}", "False NoMatchingParent", ""},
		{"a ListenerSet that is not there", "b", "{kind: ListenerSet, name: none}", "", ""},
		{"another group", "b", "{group: example.com, kind: ListenerSet, name: set}", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			route := "kind: HTTPRoute\nmetadata: {namespace: " + test.namespace + ", name: r}\nspec: {parentRefs: [" + test.parent + "], rules: [{}]}"
			res := newCluster(t, manifests(sets, route)).route(t, test.namespace, "r")
			var accepted, attached string
			if len(res.Parents) > 0 {
				accepted, attached = condition(res.Parents[0].Conditions, "Accepted"), strings.Join(res.Parents[0].Listeners, " ")
			}
			if accepted != test.accepted || attached != test.attached {
				t.Errorf("Accepted %q, attached to %q; findings %v", accepted, attached, res.Findings)
			}
			if got := len(res.Claims); got != len(strings.Fields(attached)) {
				t.Errorf("%d claims for %q", got, attached)
			}
		})
	}
}

func (c *cluster) set(t *testing.T, namespace, name string) *door.Result {
	t.Helper()
	v := c.objects[model.Object{Kind: gateway.KindListenerSet, Namespace: namespace, Name: name}]
	if v == nil {
		t.Fatalf("no ListenerSet %s/%s", namespace, name)
	}
	return gateway.ListenerSets{}.Ingest(v, c, door.Settings{}, door.Past{})
}

func TestListenerSet(t *testing.T) {
	t.Parallel()
	c := newCluster(t, sets)
	res := c.set(t, "b", "set")
	got := map[string]string{}
	for _, l := range res.ListenerStatus {
		var parts []string
		for _, kind := range []string{"Accepted", "Conflicted", "ResolvedRefs", "Programmed"} {
			parts = append(parts, condition(l.Conditions, kind))
		}
		got[l.Name] = strings.Join(parts, ", ")
	}
	const good = "True Accepted, False NoConflicts, True ResolvedRefs, True Programmed"
	want := map[string]string{
		"http": good, "all": good, "high": good,
		"taken": "False HostnameConflict, True HostnameConflict, True ResolvedRefs, False HostnameConflict",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	gw := model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}
	if a, p := condition(res.Conditions, "Accepted"), condition(res.Conditions, "Programmed"); a != "True ListenersNotValid" || p != "True Programmed" || res.AttachedTo != gw {
		t.Errorf("Accepted %q, Programmed %q, attached to %v", a, p, res.AttachedTo)
	}
	var served []string
	for _, l := range res.Listeners {
		served = append(served, fmt.Sprint(l.Hostname, " ", l.Slot, l.Scope == model.NewScope(res.Object, map[string]string{"set.test": "http", "all.test": "all", "": "high"}[l.Hostname])))
		if l.Gateway != gw || l.Owner != res.Object {
			t.Errorf("listener %+v", l)
		}
	}
	if diff := cmp.Diff([]string{"set.test 20000 true", "all.test 20000 true", " 20001 true"}, served); diff != "" {
		t.Error(diff)
	}
	if len(res.Findings) != 1 || res.Findings[0].Field != "spec.listeners[2]" || res.Findings[0].Object.Kind != "ListenerSet" {
		t.Errorf("findings %v", res.Findings)
	}
}

// TestListenerSetRefusals: a ListenerSet says why nothing of it is served.
func TestListenerSetRefusals(t *testing.T) {
	t.Parallel()
	refused := newCluster(t, sets)
	g, ok := refused.objects[model.Object{Kind: gateway.KindGateway, Namespace: "ns", Name: "gw"}].(*gatewayv1.Gateway)
	if !ok {
		t.Fatal("no Gateway")
	}
	g.Status.Conditions = []metav1.Condition{{Type: "Accepted", Status: metav1.ConditionFalse, Reason: "UnsupportedAddress"}}
	unslotted := newCluster(t, sets)
	unslotted.slots = nil
	// The port that the Gateway has itself is of the Gateway's share.
	exhausted, shared := newCluster(t, sets), newCluster(t, sets)
	exhausted.slots, exhausted.full = nil, "H of ns"
	shared.slots, shared.full = nil, "H of b"
	const secure = `
kind: ListenerSet
metadata: {namespace: b, name: set, uid: s}
spec:
  parentRef: {name: gw, namespace: ns}
  listeners: [{name: tls, port: 443, protocol: HTTPS, tls: {certificateRefs: [REF]}}]`
	withRef := func(ref, grant string) *cluster {
		parts := strings.Split(strings.ReplaceAll(sets, "\n---\n", "\x00"), "\x00")
		parts[1] = strings.ReplaceAll(secure, "REF", ref)
		if grant != "" {
			parts = append(parts, grant)
		}
		c := newCluster(t, manifests(parts...))
		c.slots[443] = 21000
		return c
	}
	const fromGateway = "kind: ReferenceGrant\nmetadata: {namespace: keys, name: g}\nspec: {from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: ns}, {group: gateway.networking.k8s.io, kind: Gateway, namespace: b}, {group: gateway.networking.k8s.io, kind: ListenerSet, namespace: ns}], to: [{group: \"\", kind: Secret}]}"
	for _, test := range []struct {
		name, set, accepted, programmed string
		cluster                         *cluster
		attached                        bool
	}{
		{"not allowed", "c/stranger", "False NotAllowed", "False NotAllowed", newCluster(t, sets), false},
		{"the Gateway is not accepted", "b/set", "False ParentNotAccepted", "False ParentNotAccepted", refused, false},
		{"no slot yet", "b/set", "True ListenersNotValid", "False Pending", unslotted, true},
		{"no slot is left for the Gateway", "b/set", "True ListenersNotValid", "False Pending", exhausted, true},
		{"no slot is left for the namespace", "b/set", "True ListenersNotValid", "False Pending", shared, true},
		{"no certificate", "b/set", "False ListenersNotValid", "False ListenersNotValid", withRef("", ""), false},
		{"a certificate that is not there", "b/set", "False ListenersNotValid", "False ListenersNotValid", withRef("{name: c}", ""), false},
		{"one of another namespace", "b/set", "False ListenersNotValid", "False ListenersNotValid", withRef("{name: c, namespace: keys}", ""), false},
		{"grants for its Gateway are not for it", "b/set", "False ListenersNotValid", "False ListenersNotValid", withRef("{name: c, namespace: keys}", fromGateway), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			namespace, name, _ := strings.Cut(test.set, "/")
			res := test.cluster.set(t, namespace, name)
			if a, p := condition(res.Conditions, "Accepted"), condition(res.Conditions, "Programmed"); a != test.accepted || p != test.programmed || (res.AttachedTo.Name != "") != test.attached {
				t.Errorf("Accepted %q, Programmed %q, attached to %v", a, p, res.AttachedTo)
			}
			if !strings.HasPrefix(test.accepted, "True") && (len(res.Findings) == 0 && test.accepted != "False ParentNotAccepted" || res.Conditions[0].Message == "") {
				t.Errorf("findings %v, conditions %v", res.Findings, res.Conditions)
			}
		})
	}
	if granted := withRef("{name: c, namespace: keys}", strings.ReplaceAll(fromGateway, "kind: ListenerSet, namespace: ns", "kind: ListenerSet, namespace: b")); condition(granted.set(t, "b", "set").ListenerStatus[0].Conditions, "ResolvedRefs") != "False InvalidCertificateRef" {
		t.Error("a grant for the ListenerSet is not used") // the Secret is read, and is not there
	}
}
