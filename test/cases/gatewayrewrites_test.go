package cases

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/explain"
)

// A plain oracle for URLRewrite of rules and of single backendRefs: it works on the texts of the
// manifests.

// urlRewrite is such a filter, empty for none. Of a path, full is ReplaceFullPath.
type urlRewrite struct {
	host, path string
	full       bool
}

// filter writes it.
func (u urlRewrite) filter() string {
	if u == (urlRewrite{}) {
		return "[]"
	}
	var parts []string
	if u.host != "" {
		parts = append(parts, "hostname: "+u.host)
	}
	switch {
	case u.path != "" && u.full:
		parts = append(parts, fmt.Sprintf("path: {type: ReplaceFullPath, replaceFullPath: %q}", u.path))
	case u.path != "":
		parts = append(parts, fmt.Sprintf("path: {type: ReplacePrefixMatch, replacePrefixMatch: %q}", u.path))
	}
	return "[{type: URLRewrite, urlRewrite: {" + strings.Join(parts, ", ") + "}}]"
}

// sees returns the path that a pod gets of one that a prefix matches.
func (u urlRewrite) sees(prefix, path string) string {
	rest := strings.TrimPrefix(path, strings.TrimRight(prefix, "/"))
	switch {
	case u.path == "":
		return path
	case u.full:
		return u.path
	case rest == "":
		return u.path
	}
	return strings.TrimRight(u.path, "/") + rest
}

// rewriteDice makes rules and requests.
type rewriteDice struct{ *rand.Rand }

func (d rewriteDice) of(all ...string) string { return all[d.IntN(len(all))] }

func (d rewriteDice) filter(hosts ...string) (u urlRewrite) {
	if d.IntN(2) == 0 {
		u.host = d.of(hosts...)
	}
	switch d.IntN(3) {
	case 0:
		u.path = d.of("/", "/new", "/new/", "/a/b", "/p%20q", "/i+t")
	case 1:
		u.path, u.full = d.of("/", "/whole", "/a/whole/"), true
	}
	return u
}

// rewriteRule is a rule with two backends, which may be rewritten each in its own way.
type rewriteRule struct {
	prefix   string
	rule     urlRewrite
	branches [2]urlRewrite
	single   bool
}

func (r *rewriteRule) text() string {
	refs := fmt.Sprintf("{name: one, port: 8080, filters: %s}", r.branches[0].filter())
	if !r.single {
		refs += fmt.Sprintf(", {name: two, port: 8080, filters: %s}", r.branches[1].filter())
	}
	return fmt.Sprintf("  - matches: [{path: {value: %s}}]\n    filters: %s\n    backendRefs: [%s]\n", r.prefix, r.rule.filter(), refs)
}

// wants returns what a pod gets: fields of its backend's filter, and where that has none, of
// the rule's.
func (r *rewriteRule) wants(pod, host, path string) (gotHost, gotPath string) {
	of := r.branches[0]
	if pod == "two" {
		of = r.branches[1]
	}
	if of.path == "" {
		of.path, of.full = r.rule.path, r.rule.full
	}
	return cmp.Or(of.host, r.rule.host, host), of.sees(r.prefix, path)
}

// TestRandomBackendRewrites: pods get the host and path that the plain oracle says, by the
// backend that a request goes to, and explain names that path. Rules change while HAProxy serves.
func TestRandomBackendRewrites(t *testing.T) {
	t.Parallel()
	for version, rounds := range map[string]int{"haproxy": 12, "haproxy-3.0": 4} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			randomBackendRewrites(t, version, rounds)
		})
	}
}

func randomBackendRewrites(t *testing.T, version string, rounds int) {
	t.Helper()
	b := newBed(t, version, newMemory())
	b.slots = freeSlots(t)
	b.cluster.slots = map[int32]int32{80: int32(b.slots.First)}
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": plainGateway}))
	const seed = 5
	d := rewriteDice{rand.New(rand.NewPCG(seed, seed))}
	seen := map[string]int{}
	for round := range rounds {
		doc := "kind: HTTPRoute\nmetadata: {namespace: gw, name: r}\nspec:\n  parentRefs: [{name: gw}]\n  rules:\n"
		var all []*rewriteRule
		for _, prefix := range []string{"/", "/x", "/x/y/", "/z"} {
			r := &rewriteRule{prefix: prefix, single: d.IntN(3) == 0, rule: d.filter("rule.test")}
			r.branches = [2]urlRewrite{d.filter("one.test"), d.filter("two.test")}
			all, doc = append(all, r), doc+r.text()
		}
		b.apply(parseStep(t, map[string]string{"in.yaml": doc}))
		w := explainerOf(t, b.cluster)
		for range 60 {
			r := all[d.IntN(len(all))]
			path := strings.TrimRight(r.prefix, "/") + d.of("", "/", "/a", "/a/b%2Fc", "/new/x/")
			if path == "" || r.prefix == "/" && strings.HasPrefix(path, "/x") || r.prefix == "/x" && strings.HasPrefix(path, "/x/y") {
				continue
			}
			query := d.of("", "?q=%20/x")
			q := &request{method: "GET", host: "r.test", target: path + query}
			res := q.do(b.slots.First, b.https)
			if res.err != nil || res.pod == nil {
				t.Fatalf("round %d: %s: %d, %v of\n%s", round, path, res.status, res.err, doc)
			}
			pod := gatewayPods[res.pod.Pod]
			seen[pod]++
			host, want := r.wants(pod, "r.test", path)
			if res.pod.Host != host || res.pod.Path != want+query {
				t.Fatalf("round %d: pod %s got %s%s, want %s%s of %s in\n%s", round, pod, res.pod.Host, res.pod.Path, host, want+query, path, doc)
			}
			explained := cmp.Or(explainedPath(t, w, q), path)
			if found := " or " + explained + " or "; !strings.Contains(found, " or "+want+" or ") {
				t.Fatalf("round %d: explain says that pods see %q of %s, one sees %s of\n%s", round, explained, path, want, doc)
			}
		}
	}
	if seen["one"] < 10*rounds || seen["two"] < 5*rounds {
		t.Errorf("pods got %v: not as random as they should be", seen)
	}
	if n := b.reloads(); n != 0 && version == "haproxy" {
		t.Errorf("%d reloads", n)
	}
}

// explainedPath returns the path that pods see, as explain says.
func explainedPath(t *testing.T, w *explain.Snapshot, q *request) string {
	t.Helper()
	r, err := explain.ParseRequest(explain.RequestArgs{URL: "http://" + q.host + q.target})
	if err != nil {
		t.Fatal(err)
	}
	e, err := w.ExplainAt(r, "gw", "gw")
	if err != nil {
		t.Fatal(err)
	}
	return e.PodPath
}

// TestGatewayBackendRewrites: what stands beside a rewrite of one backendRef: changes of headers, the
// path as clients may spell it, and what is refused.
func TestGatewayBackendRewrites(t *testing.T) {
	t.Parallel()
	b := newGatewayBed(t)
	b.start()
	b.applyWithPods(parseStep(t, map[string]string{"services": gatewayServices, "in.yaml": plainGateway + `
kind: HTTPRoute
metadata: {namespace: gw, name: rewrites}
spec:
  parentRefs: [{name: gw}]
  rules:
  - matches: [{path: {value: /headers}}]
    backendRefs:
    - name: one
      port: 8080
      filters:
      - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: one}], add: [{name: X-More, value: one}], remove: [X-Gone]}}
      - {type: URLRewrite, urlRewrite: {hostname: pod.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}
  - matches: [{path: {value: /twice}}]
    backendRefs:
    - name: one
      port: 8080
      filters:
      - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}
      - {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-Of, value: set}], add: [{name: X-Of, value: added}]}}
  - matches: [{path: {value: /guarded}}]
    backendRefs:
    - {name: one, port: 8080, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /open}}}]}
  - matches: [{path: {value: /secret}}]
    name: secret
    backendRefs: [{name: two, port: 8080}]
  - backendRefs: [{name: two, port: 8080}]
---
kind: RoutePolicy
metadata: {namespace: gw, name: secret}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: rewrites, sectionName: secret}]
  access: {allow: [192.0.2.0/24]}
---
kind: HTTPRoute
metadata: {namespace: gw, name: refused}
spec:
  parentRefs: [{name: gw}]
  hostnames: [refused.test]
  rules:
  - matches: [{path: {type: Exact, value: /exact}}]
    backendRefs: [{name: two, port: 8080, filters: [{type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /new}}}]}]
`}))
	for _, line := range []string{
		`GET http://h.test/headers/a?b=c h:X-Gone=a h:X-More=client -> 200 pod=one host=pod.test path=/new/a?b=c seen:X-Of=one "seen:X-More=client, one" seen:X-Gone=`,
		`GET http://h.test/headers -> 200 pod=one host=pod.test path=/new seen:X-Forwarded-Host=h.test`,
		`GET http://h.test/twice/a -> 200 pod=one host=h.test path=/a "seen:X-Of=set, added"`,
		`GET http://h.test/twice -> 200 pod=one path=/`,
		`GET http://h.test/secret -> 403`,
		`GET http://h.test/guarded/a -> 200 pod=one path=/open/a`,
		// As pods read it, this path is below /guarded, whose length is not that of what is written.
		`GET http://h.test/guarde%64/a -> 400`,
		`GET http://refused.test/exact -> 200 pod=two path=/exact`,
	} {
		b.expectAtListener(t, "80 "+line)
	}
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}
