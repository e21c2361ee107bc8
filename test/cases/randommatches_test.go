package cases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/model"
)

// A plain oracle for what HTTPRoutes and GRPCRoutes of one listener match by: it looks at each
// match of each rule, and sorts by the order of docs/gateway/httproute.md.

// valueMatch is what a header or parameter must be.
type valueMatch struct {
	name, value string
	expression  bool
}

// oracleMatch is a match of a rule.
type oracleMatch struct {
	route, rule, index, age int
	// kind is Exact, PathPrefix or RegularExpression, path its value, begins the text that
	// all paths of an expression begin with.
	kind, path, begins string
	method             string
	headers, queries   []valueMatch
}

func (m *oracleMatch) takes(r *request) bool {
	path, _, _ := strings.Cut(r.target, "?")
	switch m.kind {
	case "Exact":
		if path != m.path {
			return false
		}
	case "PathPrefix":
		if p := strings.TrimRight(m.path, "/"); path != p && !strings.HasPrefix(path, p+"/") {
			return false
		}
	default:
		if !whole(m.path, path) {
			return false
		}
	}
	if m.method != "" && m.method != r.method {
		return false
	}
	for source, all := range map[model.CanarySource][]valueMatch{model.CanaryHeader: m.headers, model.CanaryQuery: m.queries} {
		for _, v := range all {
			got, has := r.value(source, v.name)
			if !has || v.expression && !whole(v.value, got) || !v.expression && got != v.value {
				return false
			}
		}
	}
	return true
}

func whole(expression, text string) bool {
	return regexp.MustCompile(`\A(?:` + expression + `)\z`).MatchString(text)
}

// expressions counts those of headers and parameters.
func (m *oracleMatch) expressions() (n int) {
	for _, v := range slices.Concat(m.headers, m.queries) {
		if v.expression {
			n++
		}
	}
	return n
}

// before compares two matches by which is asked first.
func before(a, b *oracleMatch) int {
	exact := func(m *oracleMatch) bool { return m.kind == "Exact" }
	length := func(m *oracleMatch) int {
		if m.kind == "RegularExpression" {
			return len(m.begins)
		}
		return len(strings.TrimRight(m.path, "/")) + 1
	}
	written := func(m *oracleMatch) int {
		if m.kind == "RegularExpression" {
			return len(m.path)
		}
		return 0
	}
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(
		first(exact(a), exact(b)), -cmp.Compare(length(a), length(b)), -cmp.Compare(written(a), written(b)), first(a.method != "", b.method != ""),
		-cmp.Compare(len(a.headers), len(b.headers)), -cmp.Compare(len(a.queries), len(b.queries)), cmp.Compare(a.expressions(), b.expressions()),
		cmp.Compare(a.age, b.age), cmp.Compare(a.route, b.route), cmp.Compare(a.rule, b.rule), cmp.Compare(a.index, b.index),
	)
}

// matchDice makes routes and requests.
type matchDice struct{ *rand.Rand }

func (d matchDice) of(all ...string) string { return all[d.IntN(len(all))] }

func (d matchDice) match() *oracleMatch {
	m := &oracleMatch{}
	switch d.IntN(4) {
	case 0:
		m.kind, m.path = "Exact", "/a.A/b"
	case 1:
		m.kind, m.path, m.begins = "RegularExpression", d.of("/a[.]A/[a-z]+", "/a[.]A/(?:b|c)"), "/a.A/"
	default:
		m.kind, m.path = "PathPrefix", d.of("/", "/a.A")
	}
	if d.IntN(3) == 0 {
		m.method = d.of("GET", "POST")
	}
	for _, name := range []string{"X-A", "x-b"} {
		if d.IntN(2) == 0 {
			m.headers = append(m.headers, d.value(name))
		}
	}
	if d.IntN(3) == 0 {
		m.queries = append(m.queries, d.value("q"))
	}
	return m
}

func (d matchDice) value(name string) valueMatch {
	if d.IntN(2) == 0 {
		return valueMatch{name, d.of("1", "2 b", `a"b`), false}
	}
	return valueMatch{name, d.of("1|2", "[0-9].*", `[^"]*`, `a.b`, "(?i)2 B", ".*"), true}
}

// asGRPC takes from a match what GRPCRoutes cannot say.
func (m *oracleMatch) asGRPC() {
	m.method, m.queries = "", nil
	if m.kind == "PathPrefix" {
		m.path = "/a.A"
	}
	if m.kind == "RegularExpression" {
		m.path, m.begins = "/(?:a|a[.]A)/(?:b|c)", "/a"
	}
}

func (m *oracleMatch) text(grpc bool) string {
	values := func(all []valueMatch) string {
		var out []string
		for _, v := range all {
			out = append(out, fmt.Sprintf("{name: %s, value: '%s', type: %s}", v.name, v.value, map[bool]string{true: "RegularExpression", false: "Exact"}[v.expression]))
		}
		return strings.Join(out, ", ")
	}
	path := fmt.Sprintf("path: {type: %s, value: '%s'}", m.kind, m.path)
	if grpc {
		path = "method: " + map[string]string{
			"Exact": "{service: a.A, method: b}", "PathPrefix": "{service: a.A}", "RegularExpression": "{type: RegularExpression, service: 'a|a[.]A', method: b|c}",
		}[m.kind]
	}
	out := path + ", headers: [" + values(m.headers) + "]"
	if m.method != "" {
		out += ", method: " + m.method
	}
	if len(m.queries) > 0 {
		out += ", queryParams: [" + values(m.queries) + "]"
	}
	return "{" + out + "}"
}

// routes makes a few routes, and says what they match by.
func (d matchDice) routes() (text string, all []*oracleMatch) {
	var docs []string
	for route := range 3 {
		kind, age := "HTTPRoute", d.IntN(3)
		if d.IntN(4) == 0 {
			kind = "GRPCRoute"
		}
		doc := fmt.Sprintf("kind: %s\nmetadata: {namespace: gw, name: r%d, creationTimestamp: \"2026-01-0%dT00:00:00Z\"}\nspec:\n  parentRefs: [{name: gw}]\n  rules:\n", kind, route, age+1)
		for rule := range 1 + d.IntN(3) {
			var matches []string
			for index := range 1 + d.IntN(2) {
				m := d.match()
				if m.route, m.rule, m.index, m.age = route, rule, index, age; kind == "GRPCRoute" {
					m.asGRPC()
				}
				all, matches = append(all, m), append(matches, m.text(kind == "GRPCRoute"))
			}
			service := "{name: one, port: 8080}"
			doc += fmt.Sprintf("  - matches: [%s]\n    backendRefs: [%s]\n    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: X-Rule, value: r%d/%d}]}}]\n", strings.Join(matches, ", "), service, route, rule)
		}
		docs = append(docs, doc)
	}
	return strings.Join(docs, "---\n"), all
}

func (d matchDice) request() *request {
	r := &request{method: d.of("GET", "POST"), host: "m.test", target: d.of("/", "/a.A", "/a.A/b", "/a.A/c", "/a.A/bb", "/a.Ax/b", "/x")}
	r.target += d.of("", "", "?q=1", "?q=2%20b", "?q=a%22b", "?q=", "?q=%00")
	for _, name := range []string{"X-A", "X-B"} {
		if d.IntN(4) > 0 {
			r.header = append(r.header, name+": "+d.of("1", "2 b", `a"b`, "12", ""))
		}
	}
	return r
}

// TestRandomMatches: HAProxy and explain lead requests to the rules of random HTTPRoutes and GRPCRoutes
// where the plain oracle says.
func TestRandomMatches(t *testing.T) {
	t.Parallel()
	for version, rounds := range map[string]int{"haproxy": 30, "haproxy-3.2": 5, "haproxy-3.0": 5} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			randomMatches(t, version, rounds)
		})
	}
}

func randomMatches(t *testing.T, version string, rounds int) {
	t.Helper()
	b := newBed(t, version, newMemory())
	b.slots = freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": `
kind: Gateway
metadata: {namespace: gw, name: gw, uid: g}
spec: {gatewayClassName: fairlead, listeners: [{name: any, port: 80, protocol: HTTP}]}
`}))
	const seed = 3
	d := matchDice{rand.New(rand.NewPCG(seed, seed))}
	answered := map[bool]int{}
	for round := range rounds {
		text, all := d.routes()
		c := parseStep(t, map[string]string{"in.yaml": text})
		kinds := map[string]bool{}
		for _, o := range c.put {
			kinds[o.GetName()] = fmt.Sprintf("%T", o) == "*v1.GRPCRoute"
		}
		for route := range 3 {
			key := model.Object{Kind: "GRPCRoute", Namespace: "gw", Name: fmt.Sprint("r", route)}
			if kinds[key.Name] {
				key.Kind = "HTTPRoute"
			}
			c.del = append(c.del, key)
		}
		b.apply(c)
		w := explainerOf(t, b.cluster)
		for range 60 {
			r := d.request()
			fits := slices.DeleteFunc(slices.Clone(all), func(m *oracleMatch) bool { return !m.takes(r) })
			want := ""
			if len(fits) > 0 {
				m := slices.MinFunc(fits, before)
				want = fmt.Sprintf("r%d/%d", m.route, m.rule)
			}
			res := r.do(b.slots.First, b.https)
			if got := res.header.Get("X-Rule"); got != want || res.err != nil || (res.status == 404) != (want == "") {
				t.Fatalf("round %d: %+v: rule %q with %d, %v; want %q of\n%s", round, *r, got, res.status, res.err, want, text)
			}
			if got := explainedRule(t, w, r); got != want {
				t.Fatalf("round %d: %+v: explain says %q, want %q of\n%s", round, *r, got, want, text)
			}
			answered[want != ""]++
		}
	}
	t.Log(answered)
	if answered[true] < 10*rounds || answered[false] < 3*rounds {
		t.Error("the routes are not as random as they should be")
	}
	if n := b.reloads(); n != 0 && version == "haproxy" {
		t.Errorf("%d reloads", n)
	}
}

// explainedRule returns the route and rule that explain names.
func explainedRule(t *testing.T, w *explain.Snapshot, q *request) string {
	t.Helper()
	a := explain.RequestArgs{URL: "http://" + q.host + q.target, Method: q.method, Headers: q.header}
	r, err := explain.ParseRequest(a)
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.ExplainAt(r, "gw", "gw")
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(e.GatewayRoute, "/gw/")
	return strings.Replace(name, ", rule ", "/", 1)
}
