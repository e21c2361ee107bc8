package cases

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// sharedHistory changes Routes, HTTPRoutes, a Gateway at the router's address and its certificate
// at random.
type sharedHistory struct {
	*rand.Rand

	t *testing.T
}

func (h *sharedHistory) one(of ...string) string { return of[h.IntN(len(of))] }

// step returns one change.
func (h *sharedHistory) step() change {
	namespace, name := h.one("gw", "gw", "other"), h.one("a", "b", "c")
	host := h.one("x.shared.test", "y.shared.test")
	path := h.one("", ", path: /p")
	age := fmt.Sprintf("2026-01-%02dT00:00:00Z", 1+h.IntN(28))
	switch h.IntN(9) {
	case 0:
		return change{del: []model.Object{{Kind: route.Kind, Namespace: namespace, Name: name}}}
	case 1:
		return change{del: []model.Object{{Kind: gateway.KindHTTPRoute, Namespace: namespace, Name: name}}}
	case 2:
		return change{settings: &door.Settings{RouterName: "cases", Agent: true, SharedAddress: h.IntN(4) > 0, InterNamespace: h.IntN(2) == 0}}
	case 3:
		return h.yaml(tlsSecret(h.t, "gw", "wild", h.one("wild", "any")))
	case 4:
		return h.yaml(strings.Replace(strings.TrimSuffix(addressGateway, "---\n"), `"*.shared.test"`, h.one(`"*.shared.test"`, `x.shared.test`, `""`), 1))
	case 5, 6:
		tls := h.one("", ", tls: {termination: edge}", ", tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect}", ", tls: {termination: passthrough}")
		return h.yaml(fmt.Sprintf("kind: Route\nmetadata: {namespace: %s, name: %s, creationTimestamp: %q}\nspec: {host: %s%s, to: {kind: Service, name: one}%s}\n", namespace, name, age, host, path, tls))
	}
	match := h.one("path: {value: /}", "path: {value: /p}", `path: {value: /}, headers: [{name: v, value: "1"}]`, `path: {type: RegularExpression, value: "/p.*"}`)
	return h.yaml(fmt.Sprintf(`kind: HTTPRoute
metadata: {namespace: %s, name: %s, creationTimestamp: %q, annotations: {fairlead.dev/takes-over: %q}}
spec:
  parentRefs: [{name: gw, namespace: gw%s}]
  hostnames: [%s]
  rules: [{matches: [{%s}], backendRefs: [{name: %s, port: 8080}]}]
`, namespace, name, age, h.one("true", "false"), h.one("", ", sectionName: http", ", sectionName: https"), h.one(host, `"*.shared.test"`, "x.shared.test, y.shared.test"), match, h.one("two", "missing")))
}

func (h *sharedHistory) yaml(text string) change {
	return parseStep(h.t, map[string]string{"in.yaml": strings.Trim(text, "\n")})
}

// take is apply without a copy: nothing else has these objects.
func (c *core) take(ch change) {
	c.cluster.apply(ch)
	changes := c.cluster.Take()
	if changes.All {
		c.pipeline.SetSettings(c.cluster.Settings())
	}
	_, touched := c.pipeline.Update(changes)
	c.pipeline.Accept(touched)
}

// TestSharedHistories: however Routes and HTTPRoutes at the router's address come, go and change,
// what is served is what a router serves that has just started.
func TestSharedHistories(t *testing.T) {
	t.Parallel()
	for seed := range 40 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := &sharedHistory{rand.New(rand.NewPCG(uint64(seed), 3)), t}
			k := newCore(t)
			k.take(parseStep(t, map[string]string{"settings": "shared-address", "services": gatewayServices, "in.yaml": strings.Trim(addressGateway, "\n") + "\n" + tlsSecret(t, "gw", "wild", "wild")}))
			for range 60 {
				k.take(h.step())
				if err := k.equalsFull(t); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
