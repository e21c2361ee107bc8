package cases

import (
	"fmt"
	"strings"
	"testing"
)

// grantedRoute always has a policy that a grant of another namespace decides about.
const (
	grantedRoute   = 9
	ofGrantedRoute = `kind: RoutePolicy
metadata: {namespace: rp, name: p9}
spec:
  targetRefs: [{group: route.openshift.io, kind: Route, name: r9}]
  authentication: {clientCertificate: {caConfigMap: rp-granted/ca, mode: Optional}}`
)

// elsewhere are a Secret and a ConfigMap of two other namespaces. One of them grants both from time
// to time, and the other one to Routes only, which policies are not.
func (g *policyDice) elsewhere(t *testing.T) (docs []string) {
	t.Helper()
	g.granted = g.in(60)
	for _, namespace := range []string{"rp-granted", "rp-denied"} {
		kind := "Route"
		if g.granted && namespace == "rp-granted" {
			kind = "RoutePolicy"
		}
		docs = append(docs,
			fmt.Sprintf("kind: Secret\nmetadata: {namespace: %s, name: users}\ndata: {auth: YW5uOntTSEF9RWZhdGpzVXFLWVNycXYxOE8xRmxBM2hjSUhJPQo=}", namespace),
			pki().expand(t, fmt.Sprintf("kind: ConfigMap\nmetadata: {namespace: %s, name: ca}\ndata: {ca.crt: ${ca client-a}}", namespace)),
			fmt.Sprintf("kind: ReferenceGrant\nmetadata: {namespace: %s, name: rp}\nspec: {from: [{group: fairlead.dev, kind: %s, namespace: rp}], to: [{group: \"\", kind: Secret}, {group: \"\", kind: ConfigMap}]}", namespace, kind))
	}
	return docs
}

// named notes which routes have a policy of their own that names what another namespace has.
func (g *policyDice) named(route, policy string) {
	if g.names == nil {
		g.names = map[string]string{}
	}
	delete(g.names, route)
	for _, namespace := range []string{"rp-granted/", "rp-denied/"} {
		if strings.Contains(policy, namespace) {
			g.names[route] = namespace
		}
	}
}

// checkGrant compares an answer with what grants permit, whatever the evaluation says: no request
// reaches a pod by a route whose own policy, unless one of the cluster replaces it, names what
// no grant permits. Routes below a path of a host have other policies.
func (g *policyDice) checkGrant(t *testing.T, r *request, got *response, seen map[string]int) {
	t.Helper()
	route := strings.TrimSuffix(r.host, ".rp.test")
	namespace, names := g.names[route]
	if !names || g.replaced || strings.Contains(r.target, "a") || strings.Contains(r.target, "%") {
		return
	}
	switch permitted := namespace == "rp-granted/" && g.granted; {
	case permitted && reached(got):
		seen["of another namespace, granted"]++
	case permitted:
	case reached(got):
		t.Errorf("%s %s%s gets %d from a pod, and no grant permits what its policy names in %s", r.method, r.host, r.target, got.status, namespace)
	default:
		seen["of another namespace, not granted"]++
	}
}
