package cases

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/model"
)

// TestGatewayHostileExpressions: expressions for headers and parameters that would take very long, that
// HAProxy must not see or that are too many harm the routes of others on the same listener and host not at
// all. What is refused says so, and what is taken costs less than a millisecond of a processor.
func TestGatewayHostileExpressions(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.slots = freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
	b.start()
	refused := map[string]string{
		"nested":     `(a+)+x`,
		"overlaps":   `.*a.*b.*c`,
		"long":       strings.Repeat("a", 600),
		"controls":   "a\\n\\u0000b\\u001b",
		"half":       `a)|(?:b`,
		"lookahead":  `(?=a)b`,
		"backwards":  `(a)\\1`,
		"characters": `\\p{Greek}`,
		"repeats":    `((a{1,100}){1,100}){1,100}`,
	}
	text := `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec: {gatewayClassName: fairlead, listeners: [{name: any, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
kind: HTTPRoute
metadata: {namespace: gw, name: victim, creationTimestamp: "2026-02-02T00:00:00Z"}
spec: {parentRefs: [{name: gw}], hostnames: [shared.test], rules: [{backendRefs: [{name: one, port: 8080}]}]}
`
	const route = "---\nkind: %s\nmetadata: {namespace: other, name: %s, creationTimestamp: \"2026-01-01T00:00:00Z\"}\nspec:\n  parentRefs: [{name: gw, namespace: gw}]\n  hostnames: [shared.test]\n  rules:\n%s"
	rule := func(match string) string {
		return fmt.Sprintf("  - {matches: [{%s}], backendRefs: [{name: far, port: 8080}]}\n", match)
	}
	var objects []model.Object
	for name, expression := range refused {
		value := "[{name: x, type: RegularExpression, value: \"" + expression + "\"}]"
		for kind, match := range map[model.Kind]string{gateway.KindHTTPRoute: "headers: " + value, gateway.KindGRPCRoute: "headers: " + value, "": "queryParams: " + value} {
			key := model.Object{Kind: kind, Namespace: "other", Name: name}
			if kind == "" {
				key.Kind, key.Name = gateway.KindHTTPRoute, name+"-query"
			}
			objects = append(objects, key)
			text += fmt.Sprintf(route, key.Kind, key.Name, rule(match))
		}
	}
	// Of these the most that are taken, which quotes and signs of the router's own texts are in.
	costly := ""
	for i := range 16 {
		var headers []string
		for n := range 8 {
			expression := fmt.Sprintf(`[a-y"]*z>+%dx`, 8*i+n)
			if i == 0 && n < 4 {
				expression = fmt.Sprintf(`.*[a-y"]{0,3}z%d`, n)
			}
			headers = append(headers, fmt.Sprintf(`{name: h%d, type: RegularExpression, value: %q}`, n, expression))
		}
		costly += rule("headers: [" + strings.Join(headers, ", ") + "]")
	}
	text += fmt.Sprintf(route, "HTTPRoute", "costly", costly)
	text += fmt.Sprintf(strings.Replace(route, "2026-01-01", "2026-01-02", 1), "HTTPRoute", "onemore", rule(`path: {value: /more}, headers: [{name: h, type: RegularExpression, value: a|b}]`))
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": text}))
	b.expectAtListener(t, `80 GET http://shared.test/ -> 200 pod=one`)
	for _, key := range objects {
		b.eventually(key.String()+" is refused", func() error {
			st, _ := b.statusOf(key)
			for _, p := range st.Parents {
				for _, c := range p.Conditions {
					if c.Type == "Accepted" && !c.True && c.Reason == "UnsupportedValue" && len(c.Message) < 1024 {
						return nil
					}
				}
			}
			return fmt.Errorf("%+v", st.Parents)
		})
		b.expectAtListener(t, `80 GET http://shared.test/?x=aaaaaaaaaaaaaaaa h:x=aaaaaaaaaaaaaaaa -> 200 pod=one`)
	}
	more := model.Object{Kind: gateway.KindHTTPRoute, Namespace: "other", Name: "onemore"}
	if st, _ := b.statusOf(more); !slices.ContainsFunc(st.Findings, func(f api.Finding) bool { return strings.Contains(f.Message, "128 are the most") }) {
		t.Errorf("the expression beyond the bound: %+v", st)
	}
	long := func(value func(n int) string) (headers []string) {
		for n := range 8 {
			headers = append(headers, fmt.Sprintf("h%d: %s", n, value(n)))
		}
		return headers
	}
	plain := b.slotCost(nil)
	worst := b.slotCost(long(func(n int) string { return strings.Repeat(`a"`, map[bool]int{true: 128, false: 1023}[n < 4]) }))
	t.Logf("the longest values that are compared take %v", worst-plain)
	if worst-plain > time.Millisecond {
		t.Errorf("they cost %v", worst-plain)
	}
	b.expectAtListener(t, `80 GET http://shared.test/ h:h0=`+strings.Repeat("a", 257)+` -> 431`)
	b.expectAtListener(t, `80 GET http://shared.test/ h:h7=`+strings.Repeat("a", 2049)+` -> 200 pod=one`) // none of the other headers is as it must be
	b.expectAtListener(t, `80 GET http://other.test/ h:h0=`+strings.Repeat("a", 257)+` -> 404`)
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// slotCost is the time of a processor for a request to the first slot, as bed.cost.
func (b *bed) slotCost(headers []string) time.Duration {
	b.t.Helper()
	pid, err := workerPID(b)
	if err != nil {
		b.t.Fatal(err)
	}
	var times []time.Duration
	for range 15 {
		q := request{method: "GET", host: "shared.test", target: "/", header: headers}
		began := b.processorTime(pid)
		got := q.do(b.slots.First, b.https)
		times = append(times, b.processorTime(pid)-began)
		if got.err != nil || got.pod == nil {
			b.t.Fatalf("status %d, %v", got.status, got.err)
		}
	}
	return slices.Min(times)
}
