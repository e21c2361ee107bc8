package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

const setObjects = `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec:
  gatewayClassName: fairlead
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: any, port: 80, protocol: HTTP}
  - {name: wild, port: 8443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: wild}]}}
---
kind: HTTPRoute
metadata: {namespace: gw, name: own}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{name: one, port: 8080}]}]
`

const teamSet = `
kind: ListenerSet
metadata: {namespace: other, name: team, creationTimestamp: "2026-01-01T00:00:00Z"}
spec:
  parentRef: {name: gw, namespace: gw}
  listeners:
  - {name: plain, port: 80, protocol: HTTP, hostname: team.test}
  - {name: high, port: 8080, protocol: HTTP}
  - {name: taken, port: 80, protocol: HTTP}
  - {name: shop, port: 8443, protocol: HTTPS, hostname: shop.example.com, tls: {certificateRefs: [{name: shop}]}}
---
kind: HTTPRoute
metadata: {namespace: other, name: team}
spec:
  parentRefs: [{kind: ListenerSet, name: team}]
  rules: [{backendRefs: [{name: far, port: 8080}]}]
`

const youngSet = `
kind: ListenerSet
metadata: {namespace: young, name: set, creationTimestamp: "2026-02-02T00:00:00Z"}
spec:
  parentRef: {name: gw, namespace: gw}
  listeners:
  - {name: plain, port: 80, protocol: HTTP, hostname: team.test, allowedRoutes: {namespaces: {from: All}}}
  - {name: broken, port: 8443, protocol: HTTPS, hostname: www.example.com, tls: {certificateRefs: [{name: missing}]}}
---
kind: HTTPRoute
metadata: {namespace: gw, name: young}
spec:
  parentRefs: [{kind: ListenerSet, namespace: young, name: set, sectionName: plain}]
  rules: [{backendRefs: [{name: two, port: 8080}]}]
`

// TestListenerSets has HAProxy serve listeners of ListenerSets at the ports of their Gateway,
// with certificates and routes of their namespaces, without a reload.
func TestListenerSets(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.slots, b.secureSlots = freeSlots(t), freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First), 8080: int32(b.slots.First + 1), 8443: int32(b.secureSlots.First)}
	b.start()
	put := func(texts ...string) {
		b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": strings.Join(texts, "---\n")}))
	}
	expect := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			b.expectAtListener(t, line)
		}
	}
	team, young := model.Object{Kind: gateway.KindListenerSet, Namespace: "other", Name: "team"}, model.Object{Kind: gateway.KindListenerSet, Namespace: "young", Name: "set"}
	put(setObjects, tlsSecret(t, "gw", "wild", "wild"))
	expect("80 GET http://team.test/ -> 200 pod=one")
	b.expectShown(t, "shop.example.com", "wild", 200)

	put(teamSet, tlsSecret(t, "other", "shop", "rsa/shop"))
	expect(
		"80 GET http://team.test/ -> 200 pod=far", "8080 GET http://any.test/ -> 200 pod=far",
		"80 GET http://any.test/ -> 200 pod=one", // the Gateway's own
	)
	b.expectShown(t, "shop.example.com", "rsa/shop", 200)
	b.expectShown(t, "www.example.com", "wild", 200)
	b.expectSet(t, team, "Accepted", "True ListenersNotValid", 1)

	put(youngSet)
	b.expectSet(t, young, "Accepted", "False ListenersNotValid", 1)
	expect("80 GET http://team.test/ -> 200 pod=far")
	b.expectShown(t, "www.example.com", "wild", 200) // without a certificate it takes no name

	b.cluster.apply(change{del: []model.Object{team}})
	expect("80 GET http://team.test/ -> 200 pod=two")
	b.expectShown(t, "shop.example.com", "wild", 200)
	b.expectSet(t, young, "Accepted", "True ListenersNotValid", 1)

	put(strings.Replace(setObjects, "from: All", "from: Same", 1))
	expect("80 GET http://team.test/ -> 200 pod=one")
	b.expectSet(t, young, "Accepted", "False NotAllowed", 0)
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// expectSet waits for a condition of a ListenerSet, and for how many the Gateway has then.
func (b *bed) expectSet(t *testing.T, set model.Object, kind, want string, attached int) {
	t.Helper()
	b.eventually(set.String()+" "+want, func() error {
		b.cluster.mu.Lock()
		defer b.cluster.mu.Unlock()
		got, count := "", 0
		for o, st := range b.cluster.statuses {
			if o.Kind == gateway.KindListenerSet && st.AttachedTo.Name != "" {
				count++
			}
			for _, c := range st.Conditions {
				if o == set && c.Type == kind {
					got = map[bool]string{true: "True ", false: "False "}[c.True] + c.Reason
				}
			}
		}
		if got != want || count != attached {
			return fmt.Errorf("%s, and %d are attached", got, count)
		}
		return nil
	})
}
