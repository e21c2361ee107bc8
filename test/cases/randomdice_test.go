package cases

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/openid"
)

// policyDice makes policies and requests.
type policyDice struct {
	*rand.Rand
	// signer has the key that policies know, stranger another one.
	signer, stranger issuerKey
	op               *openid.Provider
	// changes is how many there were. Each has limits of its own, which nothing was counted for.
	changes int
	// granted says that a ReferenceGrant lets policies name what another namespace has.
	granted bool
	// names are the namespaces that policies of routes name, by the route. Replaced says that a policy
	// of the cluster asks for authentication in their place.
	names    map[string]string
	replaced bool
	// shared says that there are limits over all replicas that requests exhaust.
	shared bool
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
		pki().expand(t, "kind: Secret\nmetadata: {namespace: rp, name: ca}\nstringData: {ca.crt: ${ca client-a}}"),
		"kind: Secret\nmetadata: {namespace: rp, name: others}\ndata: {auth: Ym9iOntTSEF9RWZhdGpzVXFLWVNycXYxOE8xRmxBM2hjSUhJPQo=}",
	}
	docs = append(docs, g.elsewhere(t)...)
	keys := keySet(g.signer)
	keys.Namespace = "rp"
	s.change.put = append(append(s.change.put, keys), loginObjects(g.op)...)
	for i := range randomRoutes {
		own := g.policy(fmt.Sprintf("p%d", i), fmt.Sprintf("r%d", i))
		if i == grantedRoute {
			own = ofGrantedRoute
		}
		g.named(fmt.Sprintf("r%d", i), own)
		docs = append(docs, g.route(i), own)
	}
	first := g.clusterPolicy("first", "Override")
	g.replaced = strings.Contains(first, "authentication:")
	docs = append(docs, g.policy("all", ""), first, g.clusterPolicy("last", "Default"),
		"kind: ClusterRoutePolicy\nmetadata: {name: faults}\nspec: {mode: Default, guard: {faultInjection: true, externalURLs: [198.18.250.72], firewallExclusions: [941000-941999]}}")
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
		// Of namespaces that grant it from time to time, and never.
		"{basic: {secret: rp-granted/users, maxFailures: {count: 1000000}}}", "{basic: {secret: rp-denied/users}}", "{clientCertificate: {caConfigMap: rp-granted/ca, mode: Optional}}", "{clientCertificate: {caConfigMap: rp-granted/ca, mode: Optional}}", "{clientCertificate: {caConfigMap: rp-denied/ca, mode: Optional}}",
		`{jwt: {issuers: [{issuer: "https://i.test/", secret: keys}]}}`, `{jwt: {optional: true, issuers: [{issuer: "https://i.test/", audiences: [shop], secret: keys}]}}`,
		`{jwt: {issuers: [{issuer: "https://other.test/", secret: keys}]}}`, "{external: {service: {name: auth, path: /check}}}", "{external: {service: {name: nothing}}}",
		"{clientCertificate: {caSecret: ca, mode: Optional}}", "{clientCertificate: {caSecret: ca, mode: Optional, subjects: [{attribute: CN, value: alice}]}}", "{clientCertificate: {caSecret: ca, subjects: [{type: Regex, value: 'CN=[a-k].*'}, {attribute: CN, type: Regex, value: 'bo'}]}}", "{clientCertificate: {caSecret: ca, mode: Optional, subjects: [{type: Regex, value: '(x|y)+z'}]}}", "{clientCertificate: {caSecret: ca, mode: Optional, subjects: [{attribute: CN, type: Regex, value: '(?i)AL(ice)?|mall.*'}, {value: 'CN=bob'}]}}", "{clientCertificate: {caSecret: missing, mode: Optional}}",
		"{clientCertificate: {caSecret: ca}}", "{clientCertificate: {caSecret: ca, subjects: [{attribute: CN, value: alice}]}}", "{clientCertificate: {caSecret: missing}}", "{clientCertificate: {caSecret: ca, sans: [{kind: DNS, value: alice.test}]}}", "{clientCertificate: {caSecret: ca, mode: Optional, crlSecret: missing}}",
		"{satisfy: Any, basic: {secret: users, maxFailures: {count: 1000000}}, external: {service: {name: auth, path: /check}}}",
		`{satisfy: Any, basic: {secret: users, maxFailures: {count: 1000000}}, jwt: {issuers: [{issuer: "https://i.test/", secret: keys}]}}`,
		// More often, because only routes with TLS can have them.
		g.oidc(""), g.oidc(""), g.oidc(""), g.oidc(""), g.oidc(""), g.oidc(""), g.oidc(", claimsToHeaders: [{claim: sub, header: X-User}]"), g.oidc(", login: Redirect"), g.oidc(", skip: [/b]"),
		`{oidc: {issuer: "https://elsewhere.test", clientID: shop, clientSecret: client}}`)
	add("authorization", "{rules: [{action: Allow, when: {methods: [GET]}}, {action: Allow, when: {headers: [{name: X-Kind, values: [a, b]}]}}]}",
		"{rules: [{action: Deny, when: {paths: [{value: /a}, {type: Exact, value: /b}]}}, {action: Allow}]}", "{rules: [{action: Allow, when: {consumers: [ann]}}]}",
		"{rules: [{action: Allow, when: {cidrs: [127.0.0.0/8]}}]}", `{rules: [{action: Allow, when: {claims: [{name: sub, values: [alice]}]}}]}`)
	add("redirects", "{rules: [{match: {path: /a, type: Prefix}, to: {url: 'https://other.test/'}, code: 302}]}", "{rules: [{match: {path: /b, type: Exact}, to: {path: /a}, code: 308}]}",
		"{rules: [{match: {path: '/(a|b)(/.*)?$', type: Regex}, to: {host: other.test, regexPath: '/moved$2/$1'}}, {match: {path: /}, to: {path: /rest}, code: 307}]}", "{rules: [{match: {path: '/a/[0-9]', type: Regex}, to: {scheme: https, host: other.test}}]}", "{appRoot: /a}")
	add("cors", "{origins: ['https://shop.test']}", "{origins: ['*']}", "{origins: ['https://*.shop.test'], credentials: true, preflight: Forward}")
	add("limits", "{body: {max: 10}}", "{uriBytes: 1024}", "{body: {max: 1Ki}, headerBytes: 4096}",
		"{requests: [{name: wide, requests: 1000000}]}", "{requests: [{name: wide, requests: 1000000, key: {type: Header, name: X-Kind}}], concurrent: {count: 1000}}",
		g.fewShared("key: {type: None}"), g.fewShared("key: {type: None}, dryRun: true"), g.fewShared("key: {type: Header, name: X-Kind}"), g.fewShared("exempt: [127.0.0.0/8]"),
		g.fewShared("key: {type: Consumer}"), g.fewShared("key: {type: Claim, name: sub}"), g.fewShared("key: {type: Consumer}, dryRun: true"),
		"{requests: [{name: wide, requests: 1000000, scope: Shared}]}",
		g.few("key: {type: None}"), g.few("key: {type: None}, dryRun: true"), g.few("key: {type: Header, name: X-Kind}"), g.few("exempt: [127.0.0.0/8]"),
		g.few("match: {methods: [POST, OPTIONS]}"), g.few("match: {paths: [{value: /a}]}"), g.few("key: {type: Header, name: X-Kind}, match: {methods: [GET], paths: [{type: Exact, value: /b}, {type: Exact, value: /}]}"),
		"{concurrent: {count: 1000, key: {type: Consumer}}}", fmt.Sprintf("{requests: [{name: few%d, requests: 3, per: 24h, key: {type: Consumer}}], concurrent: {count: 1000, key: {type: Claim, name: sub}}}", g.changes),
		g.few("key: {type: Consumer}, match: {paths: [{value: /a/}]}"), g.fewShared("match: {methods: [GET], paths: [{value: /a}]}"), g.fewShared("key: {type: Consumer}, match: {paths: [{type: Exact, value: /b}]}"),
		"{requests: [{name: wide, requests: 1000000, match: {paths: [{value: /a}]}}], concurrent: {count: 1000, match: {methods: [POST]}}}", "{requests: [{name: never, requests: 1, match: {methods: [NONE]}}]}",
		g.few("key: {type: Consumer}"), g.few("key: {type: Claim, name: sub}"), g.few("key: {type: Consumer}, dryRun: true"))
	add("fault", "{abort: {status: 502, percent: 100}}", "{abort: {status: 504, percent: 100}, when: [{type: Header, name: X-Kind, match: Present}]}", "{delay: {milliseconds: 1, percent: 100}}")
	add("firewall", "{mode: Block}", "{mode: Detect}", "{mode: Block, requestBody: 1024}", "{mode: Block, requestBody: 1024, bodyOver: Pass}", "{mode: Block, exclusions: [941100, 941110, 941160, 941390]}")
	add("bandwidth", "{download: 1Mi}", "{upload: 1Mi, download: 100Ki}", "{upload: 100Ki}")
	// What changes the way of a request, and not whether it is let through.
	add("canary", "{services: [{name: next, weight: 50}]}", "{services: [{name: next, when: [{type: Header, name: X-Kind, match: Present}]}]}", "{services: [{name: missing, weight: 100}]}")
	add("rewrite", "{prefix: /x/}", "{host: other.test}", `{regex: {pattern: "/(.*)", replacement: "/x/$1"}}`)
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

// sharedPer is how long limits over all replicas take to earn what fewShared is.
const sharedPer = 10 * time.Second

// fewShared is a limit over all replicas that some of the requests reach.
func (g *policyDice) fewShared(more string) string {
	if !g.shared {
		return "{uriBytes: 1024}"
	}
	return fmt.Sprintf("{requests: [{name: together, requests: 2, per: %v, scope: Shared, %s}]}", sharedPer, more)
}

// oidc is a login.
func (g *policyDice) oidc(more string) string {
	return fmt.Sprintf(`{oidc: {issuer: "%s", clientID: shop, clientSecret: client, caSecret: provider%s}}`, g.op.Issuer, more)
}

// fill is how long a text of the pod the request asks for.
func (r *request) fill() (n int) {
	for _, h := range r.header {
		if v, is := strings.CutPrefix(h, "X-Fill: "); is {
			n, _ = strconv.Atoi(v)
		}
	}
	return n
}

func (g *policyDice) request() *request {
	i := g.IntN(randomRoutes + 1)
	if i%4 == 3 {
		i-- // a path of that host
	}
	r := &request{
		method: g.of("GET", "GET", "GET", "POST", "OPTIONS"), tls: g.in(20), host: fmt.Sprintf("r%d.rp.test", i),
		target: g.of("/", "/a", "/a/b", "/b", "/b?q=1", "/a/../b", "/%61", "/c?"+strings.Repeat("x", 1100), script, "/b?id=1%27%20or%20%271%27=%271", "/oauth2/callback?code=a&state=bbbbbbbbbbbbbbbb"),
	}
	if r.sni = r.host; r.tls && g.in(50) {
		r.cert = g.of("alice@client-a", "bob@client-a", "alice~dns:alice.test@client-a")
	}
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
	if r.method == "OPTIONS" || g.in(5) { // which makes nothing else a preflight
		r.header = append(r.header, "Access-Control-Request-Method: PUT")
	}
	if g.in(40) {
		r.header = append(r.header, g.of("Accept: text/html", "Sec-Fetch-Mode: cors"))
	}
	if g.in(10) {
		r.header = append(r.header, "X-Fill: 30000")
	}
	if r.method == "POST" {
		r.body, r.untold, r.varied = []int{5, 50, 2000, 20_000}[g.IntN(4)], g.in(20), true
		r.header = append(r.header, "X-Body: 1")
	}
	return r
}
