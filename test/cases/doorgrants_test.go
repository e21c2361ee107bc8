package cases

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// elsewhere is the namespace that has the door's Secrets, too.
func (d *closedDoor) elsewhere() string { return "elsewhere-" + d.name }

// ofElsewhere is the policy that names the door's first Secret in the other namespace.
func (d *closedDoor) ofElsewhere() string {
	if d.secret == "" {
		return ""
	}
	return d.policy("door", regexp.MustCompile(`([:\[] ?)`+d.secret+`\b`).ReplaceAllString(d.spec, "${1}"+d.elsewhere()+"/"+d.secret))
}

// putElsewhere copies the Secrets of the doors into other namespaces.
func (b *doorsBed) putElsewhere() {
	var all change
	for i := range b.doors {
		for _, o := range b.doors[i].allSecrets() {
			o.SetNamespace(b.doors[i].elsewhere())
			all.put = append(all.put, o)
		}
	}
	b.apply(all)
}

func (b *doorsBed) grantElsewhere(t *testing.T, kind string) {
	b.each(t, func(d *closedDoor) string {
		return fmt.Sprintf("kind: ReferenceGrant\nmetadata: {namespace: %s, name: door}\nspec: {from: [{group: fairlead.dev, kind: %s, namespace: %s}], to: [{group: \"\", kind: Secret}]}", d.elsewhere(), kind, d.namespace())
	})
}

// grantFaults are about Secrets of other namespaces.
func grantFaults() []fault {
	end := func(t *testing.T, b *doorsBed) {
		b.remove(func(d *closedDoor) string { return "ReferenceGrant " + d.elsewhere() + "/door" })
		asMeant(t, b)
	}
	return []fault{
		{
			name: "the Secret is of another namespace, whose grant is for others", end: end,
			do: func(t *testing.T, b *doorsBed) {
				b.putElsewhere()
				b.grantElsewhere(t, "Route")
				b.each(t, (*closedDoor).ofElsewhere)
			},
		},
		{
			name: "the grant of another namespace is withdrawn", end: end,
			do: func(t *testing.T, b *doorsBed) {
				b.putElsewhere()
				b.grantElsewhere(t, "RoutePolicy")
				b.each(t, (*closedDoor).ofElsewhere)
				b.open("with a Secret of another namespace")
				b.remove(func(d *closedDoor) string { return "ReferenceGrant " + d.elsewhere() + "/door" })
			},
		},
	}
}

// TestGrantConditions: a policy says which of its fields names what no ReferenceGrant permits,
// and that its paths are closed. A grant, and its end, count without a reload.
func TestGrantConditions(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": "gc/web http=8080 web@198.18.250.60", "in.yaml": `kind: Secret
metadata: {namespace: gc-shared, name: keys}
stringData: {ann: "ann-key-0123456789abcdef"}
---
kind: Route
metadata: {namespace: gc, name: web}
spec: {host: web.gc.test, to: {kind: Service, name: web}}
---
kind: RoutePolicy
metadata: {namespace: gc, name: keys}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: web}]
  authentication: {apiKeys: {secrets: [gc-shared/keys]}}
`}))
	denied := func() {
		t.Helper()
		const why = "spec.authentication.apiKeys.secrets[0]: no ReferenceGrant of namespace gc-shared permits Secret gc-shared/keys"
		b.expectPolicy(t, "gc", "keys", "Accepted", "False RefNotPermitted", why)
		b.expectPolicy(t, "gc", "keys", "ResolvedRefs", "False RefNotPermitted", why)
		b.expectPolicy(t, "gc", "keys", "Protecting", "False ClosedPaths", why)
		b.expectLine("GET http://web.gc.test/ h:X-API-Key=ann-key-0123456789abcdef -> 503")
	}
	denied()
	b.put(t, "kind: ReferenceGrant\nmetadata: {namespace: gc-shared, name: gc}\nspec: {from: [{group: fairlead.dev, kind: RoutePolicy, namespace: gc}], to: [{group: \"\", kind: Secret, name: keys}]}")
	b.expectPolicy(t, "gc", "keys", "Accepted", "True Accepted", "")
	b.expectPolicy(t, "gc", "keys", "ResolvedRefs", "True ResolvedRefs", "")
	b.expectPolicy(t, "gc", "keys", "Protecting", "True Protecting", "")
	b.expectLine("GET http://web.gc.test/ h:X-API-Key=ann-key-0123456789abcdef -> 200")
	b.expectLine("GET http://web.gc.test/ -> 401")
	b.apply(change{del: []model.Object{{Kind: door.KindGrants, Namespace: "gc-shared", Name: "gc"}}})
	denied()
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// TestGatewayMirrorGrants: a route of a Gateway says why the Service of another namespace gets
// no copies.
func TestGatewayMirrorGrants(t *testing.T) {
	t.Parallel()
	b := policedBed(t, policedRoutes)
	b.put(t, `
kind: RoutePolicy
metadata: {namespace: gw, name: copies}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: shop}], mirror: {targets: [{service: {name: copies, namespace: gc-copies}}]}}
`)
	b.expectPolicy(t, "gw", "copies", "Accepted", "False RefNotPermitted", "spec.mirror.targets[0].service: no ReferenceGrant of namespace gc-copies permits Service gc-copies/copies")
	b.put(t, "kind: ReferenceGrant\nmetadata: {namespace: gc-copies, name: gw}\nspec: {from: [{group: fairlead.dev, kind: RoutePolicy, namespace: gw}], to: [{group: \"\", kind: Service}]}")
	b.expectPolicy(t, "gw", "copies", "Accepted", "True Accepted", "")
	b.expectAtListener(t, "80 GET http://shop.test/ -> 200 pod=one")
}
