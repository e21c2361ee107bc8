package cases

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// answered are the counts of what policies refused.
func (b *bed) answered() map[string]int {
	b.t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, f := range families {
		if f.GetName() != "fairlead_router_policy_answers_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			l := map[string]string{}
			for _, pair := range m.GetLabel() {
				l[pair.GetName()] = pair.GetValue()
			}
			counts[strings.Join([]string{l["namespace"], l["route"], l["group"], l["code"]}, " ")] = int(m.GetCounter().GetValue())
		}
	}
	return counts
}

// TestPolicyAnswers: what policies and annotations refuse is counted exactly, by route, group
// and status, on all versions; what gets through, what pods answer, redirects, preflights and
// faults are not.
func TestPolicyAnswers(t *testing.T) {
	t.Parallel()
	onVersions(t, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.driftCheck = 300 * time.Millisecond
		var routes []string
		route := func(name, annotations, groups string) {
			routes = append(routes, fmt.Sprintf("kind: Route\nmetadata: {namespace: an, name: %[1]s, annotations: {%[2]s}}\nspec: {host: %[1]s.an.test, to: {kind: Service, name: %[3]s}}\n", name, annotations, map[bool]string{true: "none", false: "web"}[name == "empty"]))
			if groups != "" {
				routes = append(routes, fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: an, name: %[1]s}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: %[1]s}], %[2]s}\n", name, groups))
			}
		}
		route("listed", "fairlead.dev/allow: 10.0.0.0/8", "")
		route("denied", "", "access: {deny: [127.0.0.0/8]}")
		route("slow", `fairlead.dev/limit: "2/h"`, "")
		route("old", `haproxy.router.openshift.io/rate-limit-connections: "true", haproxy.router.openshift.io/rate-limit-connections.rate-http: "1"`, "")
		route("sized", `fairlead.dev/max-body: "10", fairlead.dev/max-uri: "20"`, "")
		route("long", `fairlead.dev/max-uri: "30000"`, `rewrite: {regex: {pattern: "/(.*)", replacement: "/x/$1"}}`)
		route("closed", "fairlead.dev/maintenance: \"true\"", "")
		route("faulty", "", "")
		route("keyed", "", "authentication: {apiKeys: {secrets: [keys]}}")
		route("moved", "fairlead.dev/redirect: https://elsewhere.test/", "")
		route("free", "", "")
		route("timed", "", "headers: {request: {set: [{name: X-A, value: b}]}}")
		route("empty", "", "headers: {request: {set: [{name: X-A, value: b}]}}")
		c := parseStep(t, map[string]string{"services": "an/web http=8080 web@198.18.250.60\n", "in.yaml": strings.Join(append(routes,
			// A client certificate is optional, so it is not for lack of one that plain HTTP is refused.
			"kind: Route\nmetadata: {namespace: an, name: shown}\nspec: {host: shown.an.test, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}\n",
			"kind: RoutePolicy\nmetadata: {namespace: an, name: shown}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: shown}], access: {deny: [127.0.0.0/8]}, authentication: {clientCertificate: {caSecret: ca, mode: Optional}}}\n",
			pki().expand(t, "kind: Secret\nmetadata: {namespace: an, name: ca}\nstringData: {ca.crt: ${ca client-a}}\n"),
			"kind: Secret\nmetadata: {namespace: an, name: keys}\nstringData: {ann: ann-key-0123456789abcdef}\n",
			"kind: ClusterRoutePolicy\nmetadata: {name: guard}\nspec: {mode: Default, namespaces: [an], guard: {faultInjection: true}}\n",
			"kind: RoutePolicy\nmetadata: {namespace: an, name: faulty}\nspec: {targetRefs: [{group: route.openshift.io, kind: Route, name: faulty}], fault: {abort: {status: 500, percent: 100}}}\n"), "---\n")})
		b.start()
		b.apply(c)
		send := func(n int, line string) {
			e, err := parseLine(line)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				if err := e.check(e.request.do(b.http, b.https), "", nil); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
		send(3, "GET http://listed.an.test/ -> 403")
		send(1, "GET http://shown.an.test/ -> 403")
		send(2, "GET http://denied.an.test/ -> 403")
		send(2, "GET http://slow.an.test/ -> 200")
		send(5, "GET http://slow.an.test/ -> 429")
		send(1, "GET http://old.an.test/ -> 200")
		send(1, "GET http://old.an.test/ -> 429")
		send(2, "POST http://sized.an.test/ body=11 -> 413")
		send(1, "GET http://sized.an.test/"+strings.Repeat("a", 20)+" -> 414")
		send(1, "GET http://sized.an.test/ -> 200")
		send(1, "GET http://long.an.test/"+strings.Repeat("a", 9000)+" -> 414")
		send(4, "GET http://closed.an.test/ -> 503")
		send(20, "GET http://faulty.an.test/ -> 500") // a script's own answer, which no second script may count
		send(2, "GET http://keyed.an.test/ -> 401")
		send(1, "GET http://keyed.an.test/ h:X-API-Key=ann-key-0123456789abcdef -> 200")
		send(2, "GET http://moved.an.test/ -> 302")
		send(2, "GET http://free.an.test/ -> 200")
		send(2, "GET http://timed.an.test/ -> 200")
		send(2, "GET http://empty.an.test/ -> 503")
		want := map[string]int{
			"an listed access 403": 3, "an shown access 403": 1, "an denied access 403": 2, "an slow limits 429": 5, "an old limits 429": 1,
			"an sized limits 413": 2, "an sized limits 414": 1, "an long rewrite 414": 1, "an closed maintenance 503": 4, "an keyed authentication 401": 2,
		}
		b.eventually("the counts", func() error {
			if got := b.answered(); !maps.Equal(got, want) {
				return fmt.Errorf("counted %v, want %v", got, want)
			}
			return nil
		})
	})
}
