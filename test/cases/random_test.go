package cases

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/spop"
)

var (
	randomRequests = flag.Int("random-requests", 2000, "how many requests TestRandomPolicies sends")
	randomSeed     = flag.Uint64("random-seed", 1, "what TestRandomPolicies begins with; another one makes other policies")
)

// TestRandomPolicies sends random requests to routes with random policies of five ranks,
// which change while HAProxy runs. HAProxy and the policy agent together answer as the
// pure evaluation says: package match for what HAProxy decides by itself, and the
// agent's engine, in this process, for what it asks. -random-requests 100000 is its
// long form.
func TestRandomPolicies(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.startAgent()
	b.start()
	k := newCore(t)
	settings := k.cluster.Settings()
	settings.Agent = true
	k.pipeline.SetSettings(settings)
	g := &policyDice{Rand: rand.New(rand.NewPCG(*randomSeed, 0)), signer: newIssuerKey(t, "a"), stranger: newIssuerKey(t, "a")}
	seen := map[int]int{}
	const each = 200
	for sent := 0; sent < *randomRequests; sent += each {
		c := g.change(t)
		k.applyWith(c, settings)
		b.apply(c)
		e := newEvaluation(t, k)
		w := explainer(t, k.cluster)
		for range each {
			r := g.request()
			want, why := e.status(t, r)
			got := r.do(b.http, b.https)
			if got.err != nil || got.status != want {
				t.Log(b.sameAs(k))
			}
			if got.err != nil || got.status != want || got.pod != nil && want != http.StatusOK {
				t.Fatalf("after %d requests, seed %d: status %d, error %v, pod %v; want %d: %s\n%s %s%.60s (TLS %v) %v body %d\n%s",
					sent, *randomSeed, got.status, got.err, got.pod, want, why, r.method, r.host, r.target, r.tls, r.header, r.body, e.text(r))
			}
			seen[want]++
			if r.method == http.MethodGet && g.in(10) {
				e.explained(t, w, r)
			}
		}
	}
	t.Logf("statuses: %v", seen)
	for _, status := range []int{200, 204, 302, 401, 403, 413, 429, 502, 503} {
		if seen[status] == 0 {
			t.Errorf("no request has status %d: the policies are not as random as they should be", status)
		}
	}
	if n := b.count("fairlead_router_policy_live_duration_seconds"); n < randomRoutes {
		t.Errorf("%d changes of policies were measured", n)
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// applyWith is apply for a router with an agent, which the settings of a case do not
// have.
func (c *core) applyWith(ch change, s door.Settings) {
	own := change{del: ch.del}
	for _, o := range ch.put {
		own.put = append(own.put, clone(o))
	}
	c.cluster.apply(own)
	changes := c.cluster.Take()
	if changes.All {
		c.pipeline.SetSettings(s)
	}
	_, touched := c.pipeline.Update(changes)
	c.pipeline.Accept(touched)
}

// evaluation decides requests without HAProxy.
type evaluation struct {
	pipeline *pipeline.Pipeline
	claims   map[string]*model.Claim
	agent    *agent.Engine
	// counted are the requests that a limit has let through, by backend, limit and key.
	counted map[string]int
}

func newEvaluation(t *testing.T, k *core) *evaluation {
	t.Helper()
	registry := prometheus.NewRegistry()
	e := &evaluation{
		pipeline: k.pipeline, claims: map[string]*model.Claim{}, counted: map[string]int{},
		agent: agent.New(agent.Options{Metrics: agent.NewMetrics(registry), Log: slog.New(slog.DiscardHandler), Now: time.Now}),
	}
	s := &snapshot.Snapshot{Version: snapshot.Version, Generation: 1}
	for _, key := range k.cluster.All() {
		c, served := k.pipeline.Claim(key)
		if !served {
			continue
		}
		e.claims[c.Backend.Name()] = c
		if a := c.Backend.Policy().Agent; a != nil {
			var p snapshot.Policy
			if err := json.Unmarshal([]byte(a.Policy), &p); err != nil {
				t.Fatal(err)
			}
			p.ID = a.ID
			s.Policies = append(s.Policies, p)
		}
	}
	if refused := e.agent.Swap(s); len(refused) > 0 {
		t.Fatalf("the agent refuses %v", refused)
	}
	return e
}

// native returns what HAProxy answers by itself, and the policy that the agent is asked
// about otherwise, or nil.
func (e *evaluation) native(r *request) (status int, why string, asked *model.Agent) {
	d := decide(e.pipeline.Want(), r)
	c := e.claims[d.value]
	switch {
	case d.backend == nil:
		return d.page(), "the tables have " + d.value, nil
	case c == nil || c.Closed:
		return http.StatusServiceUnavailable, "closed", nil
	}
	p := c.Backend.Policy()
	if a, answered := match.Judge(p, r.client()); answered {
		return a.Status, a.Why, nil
	}
	return http.StatusOK, "nothing is in the way", p.Agent
}

// status returns what a request is answered, and why. It counts the request.
func (e *evaluation) status(t *testing.T, r *request) (status int, why string) {
	t.Helper()
	c := e.claims[decide(e.pipeline.Want(), r).value]
	if c == nil || c.Closed {
		status, why, _ = e.native(r)
		return status, why
	}
	// Limits of rates come before those of sizes, the agent and faults.
	p := *c.Backend.Policy()
	first := p
	first.Sizes, first.Rewrite, first.Fault = model.Sizes{}, nil, nil
	if a, answered := match.Judge(&first, r.client()); answered {
		return a.Status, a.Why
	}
	if limit := e.limit(c.Backend.Name(), p.Rates, r); limit != nil {
		return limit.Status, "too many requests for limit " + limit.Name
	}
	status, why, asked := e.native(r)
	if asked == nil {
		return status, why
	}
	if a := e.agent.Decide(context.WithoutCancel(t.Context()), r.question(t, asked.ID)); a.Status != http.StatusOK {
		return a.Status, a.Reason
	}
	p.Agent = nil
	if a, answered := match.Judge(&p, r.client()); answered {
		return a.Status, a.Why
	}
	return http.StatusOK, "the agent lets it on"
}

// limit counts a request, or returns the limit that refuses it, for which nothing counts.
func (e *evaluation) limit(backend string, limits []model.RateLimit, r *request) *model.RateLimit {
	var keys []string
	client := r.client().Address
	for i, l := range limits {
		if l.DryRun || slices.ContainsFunc(l.Exempt, func(n netip.Prefix) bool { return n.Contains(client) }) {
			continue
		}
		key := backend + " " + l.Name
		if l.Key.Kind == model.KeyHeader {
			for _, h := range r.header {
				if value, is := strings.CutPrefix(h, "X-Kind: "); is {
					key += " " + value
				}
			}
		}
		if e.counted[key] >= l.Burst {
			return &limits[i]
		}
		keys = append(keys, key)
	}
	for _, key := range keys {
		e.counted[key]++
	}
	return nil
}

// explained compares what explain says of a GET request, which asks no agent.
func (e *evaluation) explained(t *testing.T, w *explain.Snapshot, r *request) {
	t.Helper()
	scheme := "http"
	if r.tls {
		scheme = "https"
	}
	parsed, err := explain.ParseRequest(explain.RequestArgs{URL: scheme + "://" + r.host + r.target, Headers: r.header, ClientIP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	x := w.Explain(parsed)
	status, why, asked := e.native(r)
	told := slices.ContainsFunc(x.Notes, func(n string) bool { return strings.Contains(n, "the policy agent decides first") })
	if x.Served {
		x.Result.Status = http.StatusOK // of the pod, which explain does not know
	}
	if x.Result.Status != status || told != (asked != nil) && status == http.StatusOK {
		t.Errorf("%s%.60s (TLS %v) %v: explain says %+v, notes %q; the evaluation says %d: %s", r.host, r.target, r.tls, r.header, x.Result, x.Notes, status, why)
	}
}

// text is the record that HAProxy decides by.
func (e *evaluation) text(r *request) string { return decide(e.pipeline.Want(), r).target }

func (r *request) question(t *testing.T, policy string) *agent.Question {
	t.Helper()
	var list []byte
	for _, h := range append([]string{"Host: " + r.host}, r.header...) {
		name, value, _ := strings.Cut(h, ": ")
		var err error
		if list, err = spop.AppendHeader(list, strings.ToLower(name), value); err != nil {
			t.Fatal(err)
		}
	}
	headers, err := spop.ParseHeaders(spop.EndHeaders(list))
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Question{Policy: policy, Method: r.method, Target: r.target, Host: r.host, Client: netip.MustParseAddr("127.0.0.1"), TLS: r.tls, Headers: headers}
}

// policyDice makes policies and requests.
type policyDice struct {
	*rand.Rand
	// signer has the key that policies know, stranger another one.
	signer, stranger issuerKey
	// changes is how many there were. Each has limits of its own, which nothing was counted for.
	changes int
}

// randomRoutes is how many routes there are; each has a host, and every fourth a second
// route below a path of it.
const randomRoutes = 24

func (g *policyDice) in(percent int) bool { return g.IntN(100) < percent }

func (g *policyDice) of(list ...string) string { return list[g.IntN(len(list))] }

// change returns new routes and policies under the names of those of before.
func (g *policyDice) change(t *testing.T) change {
	t.Helper()
	g.changes++
	s := &step{name: "random", checks: map[string][]string{}}
	if err := s.services([]string{"rp/web http=8080 web@198.18.250.70", "rp/next http=8080 next@198.18.250.71", "rp/auth http=8080 auth@198.18.250.62"}); err != nil {
		t.Fatal(err)
	}
	docs := []string{
		// The passwords are "x".
		"kind: Secret\nmetadata: {namespace: rp, name: users}\ndata: {auth: YW5uOntTSEF9RWZhdGpzVXFLWVNycXYxOE8xRmxBM2hjSUhJPQo=}",
		"kind: Secret\nmetadata: {namespace: rp, name: others}\ndata: {auth: Ym9iOntTSEF9RWZhdGpzVXFLWVNycXYxOE8xRmxBM2hjSUhJPQo=}",
	}
	keys := keySet(g.signer)
	keys.Namespace = "rp"
	s.change.put = append(s.change.put, keys)
	for i := range randomRoutes {
		docs = append(docs, g.route(i), g.policy(fmt.Sprintf("p%d", i), fmt.Sprintf("r%d", i)))
	}
	docs = append(docs, g.policy("all", ""), g.clusterPolicy("first", "Override"), g.clusterPolicy("last", "Default"),
		"kind: ClusterRoutePolicy\nmetadata: {name: faults}\nspec: {mode: Default, guard: {faultInjection: true}}")
	if err := s.objects(strings.Join(docs, "\n---\n")); err != nil {
		t.Fatal(err)
	}
	return s.change
}

func (g *policyDice) route(i int) string {
	var annotations []string
	add := func(percent int, key string, values ...string) {
		if g.in(percent) {
			annotations = append(annotations, fmt.Sprintf("fairlead.dev/%s: %q", key, g.of(values...)))
		}
	}
	add(10, "allow", "127.0.0.0/8", "198.51.100.0/24", "127.0.0.1 ::1", "nonsense")
	add(10, "deny", "198.51.100.0/24", "127.0.0.1", "127.0.0.0/33")
	add(5, "max-body", "10", "1Ki", "lots")
	add(10, "basic-secret", "users", "others", "missing", "no name")
	add(5, "redirect", "https://other.test/", "/a", "//bad")
	add(5, "denny", "127.0.0.1")
	path, host := "", i
	if i%4 == 3 {
		path, host = "/a", i-1
	}
	tls := ""
	if host%3 == 0 {
		tls = ", tls: {termination: edge, insecureEdgeTerminationPolicy: " + []string{"Allow", "Redirect", "None"}[host%9/3] + "}"
	}
	return fmt.Sprintf("kind: Route\nmetadata: {namespace: rp, name: r%d, annotations: {%s}}\nspec: {host: r%d.rp.test, path: %q, to: {kind: Service, name: web}%s}",
		i, strings.Join(annotations, ", "), host, path, tls)
}

func (g *policyDice) policy(name, route string) string {
	target := ""
	if route != "" {
		target = fmt.Sprintf("  targetRefs: [{group: route.openshift.io, kind: Route, name: %s}]\n", route)
	}
	percent := 20
	if route == "" {
		percent = 8
	}
	return "kind: RoutePolicy\nmetadata: {namespace: rp, name: " + name + "}\nspec:\n" + target + g.groups(percent)
}

func (g *policyDice) clusterPolicy(name, mode string) string {
	return "kind: ClusterRoutePolicy\nmetadata: {name: " + name + "}\nspec:\n  mode: " + mode + "\n" + g.groups(5)
}

// groups returns groups of a policy's spec, each with a probability.
func (g *policyDice) groups(percent int) string {
	var text strings.Builder
	add := func(group string, variants ...string) {
		if g.in(percent) {
			fmt.Fprintf(&text, "  %s: %s\n", group, g.of(variants...))
		}
	}
	add("access", "{allow: [127.0.0.0/8]}", "{allow: [198.51.100.0/24]}", "{deny: [127.0.0.1]}", "{deny: [198.51.100.0/24]}", "{allow: [127.0.0.0/8, '::1'], deny: [127.0.0.2]}")
	add("authentication", "{basic: {secret: users, maxFailures: {count: 1000000}}}", "{basic: {secret: others, realm: x, maxFailures: {count: 1000000}}}", "{basic: {secret: missing}}",
		`{jwt: {issuers: [{issuer: "https://i.test/", secret: keys}]}}`, `{jwt: {optional: true, issuers: [{issuer: "https://i.test/", audiences: [shop], secret: keys}]}}`,
		`{jwt: {issuers: [{issuer: "https://other.test/", secret: keys}]}}`, "{external: {service: {name: auth, path: /check}}}", "{external: {service: {name: nothing}}}",
		"{satisfy: Any, basic: {secret: users, maxFailures: {count: 1000000}}, external: {service: {name: auth, path: /check}}}",
		`{satisfy: Any, basic: {secret: users, maxFailures: {count: 1000000}}, jwt: {issuers: [{issuer: "https://i.test/", secret: keys}]}}`)
	add("authorization", "{rules: [{action: Allow, when: {methods: [GET]}}, {action: Allow, when: {headers: [{name: X-Kind, values: [a, b]}]}}]}",
		"{rules: [{action: Deny, when: {paths: [{value: /a}, {type: Exact, value: /b}]}}, {action: Allow}]}", "{rules: [{action: Allow, when: {consumers: [ann]}}]}",
		"{rules: [{action: Allow, when: {cidrs: [127.0.0.0/8]}}]}", `{rules: [{action: Allow, when: {claims: [{name: sub, values: [alice]}]}}]}`)
	add("redirects", "{rules: [{match: {path: /a, type: Prefix}, to: {url: 'https://other.test/'}, code: 302}]}", "{rules: [{match: {path: /b, type: Exact}, to: {path: /a}, code: 308}]}",
		"{rules: [{match: {path: '/(a|b)(/.*)?$', type: Regex}, to: {host: other.test, regexPath: '/moved$2/$1'}}, {match: {path: /}, to: {path: /rest}, code: 307}]}", "{rules: [{match: {path: '/a/[0-9]', type: Regex}, to: {scheme: https, host: other.test}}]}", "{appRoot: /a}")
	add("cors", "{origins: ['https://shop.test']}", "{origins: ['*']}", "{origins: ['https://*.shop.test'], credentials: true, preflight: Forward}")
	add("limits", "{body: {max: 10}}", "{uriBytes: 1024}", "{body: {max: 1Ki}, headerBytes: 4096}",
		"{requests: [{name: wide, requests: 1000000}]}", "{requests: [{name: wide, requests: 1000000, key: {type: Header, name: X-Kind}}], concurrent: {count: 1000}}",
		g.few("key: {type: None}"), g.few("key: {type: None}, dryRun: true"), g.few("key: {type: Header, name: X-Kind}"), g.few("exempt: [127.0.0.0/8]"))
	add("fault", "{abort: {status: 502, percent: 100}}", "{abort: {status: 504, percent: 100}, when: [{type: Header, name: X-Kind, match: Present}]}", "{delay: {milliseconds: 1, percent: 100}}")
	// What changes the way of a request, and not whether it is let through.
	add("canary", "{services: [{name: next, weight: 50}]}", "{services: [{name: next, when: [{type: Header, name: X-Kind, match: Present}]}]}", "{services: [{name: missing, weight: 100}]}")
	add("rewrite", "{prefix: /x/}", "{host: other.test}")
	add("headers", "{request: {set: [{name: X-Kind, value: b}]}}", "{response: {set: [{name: X-New, value: new}]}}")
	add("timeouts", "{response: 5s}", "{connect: 3s, idle: 10s}")
	add("retries", "{attempts: 2, when: Failure}")
	add("health", "{active: {type: TCP}}", "{slowStart: 10s}")
	add("loadBalancing", "{algorithm: Hash, hash: {type: Header, name: X-Kind}}", "{algorithm: LeastConnections}")
	add("affinity", "{type: Cookie, cookie: {name: c}}", "{type: None}")
	add("mirror", "{targets: [{service: {name: next, port: 8080}, percent: 50}]}")
	add("cookies", "{secure: true}")
	add("location", "{from: /, to: /y/}")
	if g.in(percent / 4) {
		fmt.Fprintf(&text, "  maintenance: %s\n", g.of("{enabled: true}", "{enabled: true, exempt: [127.0.0.1]}", "{enabled: false}"))
	}
	if text.Len() == 0 {
		return "  log: {}\n"
	}
	return text.String()
}

// few is a limit that some of the requests reach.
func (g *policyDice) few(more string) string {
	return fmt.Sprintf("{requests: [{name: few%d, requests: 3, per: 24h, %s}]}", g.changes, more)
}

func (g *policyDice) request() *request {
	i := g.IntN(randomRoutes + 1)
	if i%4 == 3 {
		i-- // a path of that host
	}
	r := &request{
		method: g.of("GET", "GET", "GET", "POST", "OPTIONS"), tls: g.in(20), host: fmt.Sprintf("r%d.rp.test", i),
		target: g.of("/", "/a", "/a/b", "/b", "/b?q=1", "/a/../b", "/%61", "/c?"+strings.Repeat("x", 1100)),
	}
	r.sni = r.host
	if g.in(50) {
		// "x" is the password of both.
		r.header = append(r.header, g.of("Authorization: Basic YW5uOng=", "Authorization: Basic Ym9iOng=", "Authorization: Bearer x",
			"Authorization: Bearer good", g.signer.token("EdDSA", "https://i.test/", time.Hour), g.stranger.token("EdDSA", "https://i.test/", time.Hour), g.signer.token("EdDSA", "https://other.test/", -time.Hour)))
	}
	if g.in(20) {
		r.header = append(r.header, "X-Kind: "+g.of("a", "c"))
	}
	if g.in(30) {
		r.header = append(r.header, "Origin: "+g.of("https://shop.test", "https://a.shop.test", "null"))
	}
	if r.method == "OPTIONS" {
		r.header = append(r.header, "Access-Control-Request-Method: PUT")
	}
	if r.method == "POST" {
		r.body, r.untold = []int{5, 50, 2000}[g.IntN(3)], g.in(20)
	}
	return r
}
