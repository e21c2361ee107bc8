package api

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
)

// dryRun has the API server judge a manifest, and keep nothing of it.
func dryRun(t *testing.T, manifest string) error {
	t.Helper()
	newClient(t)
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := server.Kubectl(t.Context(), "create", "--dry-run=server", "--validate=strict", "-f", file)
	return err
}

const policyHead = "apiVersion: fairlead.dev/v1alpha1\nkind: RoutePolicy\nmetadata: {name: judged, namespace: default}\nspec:\n"

// TestPolicyRules: each rule of the kinds takes one good value, and refuses a bad one
// with its message.
func TestPolicyRules(t *testing.T) {
	t.Parallel()
	limit := func(text string) string {
		return "  limits: {requests: [{name: a, requests: 10, " + text + "}]}"
	}
	redirect := func(to string) string { return "  redirects: {rules: [{to: {" + to + "}}]}" }
	canary := func(text string) string { return "  canary: {services: [{name: a, " + text + "}]}" }
	target := func(text string) string { return "  targetRefs: [{" + text + "}]" }
	list := func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("10.0.0.%d", i)
		}
		return strings.Join(items, ", ")
	}
	for _, test := range []struct{ name, good, bad, want string }{
		{"long list for all", "  access: {allow: [" + list(100) + "]}", "  access: {allow: [" + list(101) + "]}", "more than 100 addresses only with targetRefs"},
		{"long list for some", target("group: route.openshift.io, kind: Route, name: a") + "\n  access: {deny: [" + list(200) + "]}", "  targetSelector: {kind: Route, matchLabels: {a: b}}\n  access: {deny: [" + list(101) + "]}", "more than 100 addresses only with targetRefs"},
		{"credentials", "  cors: {origins: ['https://a.example.com'], credentials: true}", "  cors: {origins: ['*'], credentials: true}", "credentials needs origins other than *"},
		{"allow", "  access: {allow: [10.0.0.0/8, '2001:db8::/32', 192.0.2.1]}", "  access: {allow: [10.0.0.0/33]}", "must be an address or a CIDR"},
		{"allow mapped", "  access: {allow: ['::1']}", "  access: {allow: ['::ffff:10.0.0.1']}", "must be an address or a CIDR"},
		{"allow empty", "  access: {allow: ['::/0']}", "  access: {allow: []}", "spec.access.allow"},
		{"deny", "  access: {deny: [0.0.0.0/0]}", "  access: {deny: [everybody]}", "must be an address or a CIDR"},
		{"exempt of a limit", limit("exempt: [10.0.0.1]"), limit("exempt: [10.0.0.256]"), "must be an address or a CIDR"},
		{"status of a fault", "  fault: {abort: {status: 503, percent: 5}}", "  fault: {abort: {status: 299}}", "spec.fault.abort.status"},
		{"a fault of nothing", "  fault: {delay: {milliseconds: 60000}, when: [{type: Query, name: f, match: Present}]}", "  fault: {when: [{type: Query, name: f, match: Present}]}", "set delay, abort or both"},
		{"condition of a fault", "  fault: {delay: {milliseconds: 1}, when: [{type: Header, name: X-A, value: b}]}", "  fault: {delay: {milliseconds: 1}, when: [{type: Header, name: X-A}]}", "value is for Exact, Prefix and Regex"},
		{"errors of requests", "  health: {passive: {errors: 3, within: 4s, kinds: [Answer], ejection: 15m, maxPercent: 100}}", "  health: {passive: {within: 3s}}", "must be from 4s to 5m"},
		{"kinds of errors", "  health: {passive: {kinds: [Connection, ServerError]}}", "  health: {passive: {kinds: [Status]}}", "spec.health.passive.kinds"},
		{"ejection", "  health: {passive: {ejection: 1s}}", "  health: {passive: {ejection: 16m}}", "must be from 1s to 15m"},
		{"bandwidth", "  bandwidth: {download: 1Mi}", "  bandwidth: {}", "set download, upload or both"},
		{"targets of copies", "  mirror: {targets: [{service: {name: copy}, percent: '0.25'}, {url: 'https://a.test:8443', percent: 5}]}", "  mirror: {targets: [{service: {name: copy}, url: 'https://a.test'}]}", "set one of service and url"},
		{"share of copies", "  mirror: {targets: [{service: {name: copy}, percent: 100}]}", "  mirror: {targets: [{service: {name: copy}, percent: 101}]}", "must be from 0 to 100"},
		{"path of copies", "  mirror: {targets: [{url: 'http://a.test/'}]}", "  mirror: {targets: [{url: 'http://a.test/b'}]}", "url"},
		{"body of copies", "  mirror: {targets: [{service: {name: copy}, bodyBytes: 16384, maxInFlight: 256}]}", "  mirror: {targets: [{service: {name: copy}, bodyBytes: 16385}]}", "16384"},
		{"a firewall", "  firewall: {mode: Block, paranoia: 4, threshold: 1000, exclusions: [942100], requestBody: 1024, bodyOver: Pass}", "  firewall: {mode: block}", "mode"},
		{"rules of a firewall", "  firewall: {mode: Detect, exclusions: [911000, 948999]}", "  firewall: {mode: Detect, exclusions: [949110]}", "948999"},
		{"body of a firewall", "  firewall: {mode: Detect, requestBody: 16384}", "  firewall: {mode: Detect, requestBody: 16385}", "16384"},
		{"exempt of maintenance", "  maintenance: {enabled: true, exempt: ['fd00::/8']}", "  maintenance: {enabled: true, exempt: ['fd00::/129']}", "must be an address or a CIDR"},
		{"burst", limit("burst: 1000"), limit("burst: 1001"), "burst must be from 1 to 100 times requests"},
		{"burst of a day", limit("per: 1h, burst: 240"), limit("per: 1h, burst: 241"), "a burst must be earned again within 24h"},
		{"burst at all", limit("burst: 1"), limit("burst: 0"), "spec.limits.requests[0].burst"},
		{"time of a limit", limit("per: 24h"), limit("per: 25h"), "must be from 1s to 24h"},
		{"unit of a limit", limit("per: 90s"), limit("per: 1d"), "must be from 1s to 24h"},
		{"scope of a limit", limit("scope: Replica"), limit("scope: Cluster"), "spec.limits.requests[0].scope"},
		{"bits of a key", limit("key: {type: Address, ipv6Prefix: 56}"), limit("key: {type: Address, ipv6Prefix: 57}"), "spec.limits.requests[0].key.ipv6Prefix"},
		{"bits of a header", limit("key: {type: Address}"), limit("key: {type: Host, ipv6Prefix: 56}"), "ipv6Prefix is for Address"},
		{"key with a name", limit("key: {type: Header, name: X-User}"), limit("key: {type: Header}"), "name is for Header, Cookie, Query and Claim"},
		{"key without", limit("key: {type: Host}"), limit("key: {type: Host, name: a}"), "name is for Header, Cookie, Query and Claim"},
		{"key of a token", limit("key: {type: Header, name: \"X|Y~+'\"}"), limit("key: {type: Header, name: a b}"), "name must be a token"},
		{"consumer", limit("key: {type: Consumer}"), limit("key: {type: Consumer, name: a}"), "name is for Header, Cookie, Query and Claim"},
		{"claim", limit("key: {type: Claim, name: \"https://a.test/b c\"}"), limit("key: {type: Claim}"), "name is for Header, Cookie, Query and Claim"},
		{"scope of a claim", limit("scope: Shared, key: {type: Claim, name: a}"), limit("scope: Cluster, key: {type: Claim, name: a}"), "Unsupported value"},
		{"depth of certificates", "  authentication: {clientCertificate: {caSecret: a, depth: 1}}", "  authentication: {clientCertificate: {caSecret: a, depth: 2}}", "spec.authentication.clientCertificate.depth"},
		{"methods of a limit", limit("match: {methods: [GET, POST]}"), limit("match: {methods: [get]}"), "Unsupported value"},
		{"paths of a limit", limit("match: {paths: [{value: /a}, {type: Exact, value: /b}]}"), limit("match: {paths: [{type: Regex, value: /a}]}"), "Unsupported value"},
		{"path of a limit", limit("match: {paths: [{value: /a/b}]}"), limit("match: {paths: [{value: /a%20b}]}"), "spec.limits.requests[0].match.paths[0].value"},
		{"match of a limit", limit("match: {methods: [TRACE]}"), limit("match: {}"), "spec.limits.requests[0].match"},
		{"match of concurrent requests", "  limits: {concurrent: {count: 5, match: {methods: [POST]}}}", "  limits: {concurrent: {count: 5, match: {paths: [{value: a}]}}}", "spec.limits.concurrent.match.paths[0].value"},
		{"concurrent consumers", "  limits: {concurrent: {count: 5, key: {type: Consumer}}}", "  limits: {concurrent: {count: 5, key: {type: Consumer, name: a}}}", "name is for Header, Cookie, Query and Claim"},
		{"concurrent key", "  limits: {concurrent: {count: 5, key: {type: Query, name: q}}}", "  limits: {concurrent: {count: 5, key: {type: None, name: q}}}", "name is for Header, Cookie, Query and Claim"},
		{"url of a redirect", redirect("url: 'https://a.example.com/x'"), redirect("url: /x, host: a.example.com"), "set url, or one of scheme"},
		{"nothing of a redirect", redirect("scheme: https"), "  redirects: {rules: [{to: {}}]}", "set url, or one of scheme"},
		{"path or prefix", redirect("path: /x"), redirect("path: /x, prefix: /y"), "set path or prefix, not both"},
		{"captures of a redirect", "  redirects: {rules: [{match: {path: '/a/(.*)', type: Regex}, to: {host: a.example.com, regexPath: '/b/$1'}}]}", redirect("regexPath: /b"), "regexPath needs a match of type Regex"},
		{"prefix of a pattern", "  redirects: {rules: [{match: {path: '/a', type: Regex}, to: {path: /b}}]}", "  redirects: {rules: [{match: {path: '/a', type: Regex}, to: {prefix: /b}}]}", "prefix does not go with a match of type Regex"},
		{"two paths of a pattern", "  redirects: {rules: [{match: {path: '/a', type: Regex}, to: {scheme: https}}]}", "  redirects: {rules: [{match: {path: '/a', type: Regex}, to: {path: /b, regexPath: /c}}]}", "set one of path, prefix and regexPath"},
		{"text of a redirect", redirect("url: /a%20b"), redirect(`url: "/a\nb"`), "spec.redirects.rules[0].to.url"},
		{"code of a redirect", "  redirects: {https: {code: 308}}", "  redirects: {https: {code: 300}}", "spec.redirects.https.code"},
		{"weights of a canary", canary("weight: 100"), canary("weight: 101"), "weights must not add up to more than total"},
		{"total of a canary", "  canary: {total: 1000, services: [{name: a, weight: 600}, {name: b, weight: 400}]}", "  canary: {total: 1000, services: [{name: a, weight: 600}, {name: b, weight: 401}]}", "weights must not add up to more than total"},
		{"services of a canary", "  canary: {services: [{name: a}, {name: b}]}", "  canary: {services: [{name: a}, {name: a}]}", "spec.canary.services"},
		{"value of a canary", canary("when: [{type: Cookie, name: a, value: b}]"), canary("when: [{type: Cookie, name: a}]"), "value is for Exact, Prefix and Regex"},
		{"no value of a canary", canary("when: [{type: Query, name: a, match: Present}]"), canary("when: [{type: Query, name: a, match: Present, value: b}]"), "value is for Exact, Prefix and Regex"},
		{"name of a canary's header", canary("when: [{type: Header, name: X-A, match: Regex, value: '^v[0-9]+$'}]"), canary("when: [{type: Header, name: 'X A', value: b}]"), "spec.canary.services[0].when[0].name"},
		{"time of a canary", "  canary: {services: [{name: a}], sticky: {ttl: 576h}}", "  canary: {services: [{name: a}], sticky: {ttl: 577h}}", "must be at most 576h"},
		{"cookie", "  affinity: {cookie: {path: /a}}", "  affinity: {type: None, cookie: {path: /a}}", "cookie is for the type Cookie"},
		{"same site", "  affinity: {cookie: {sameSite: None}}", "  affinity: {cookie: {sameSite: None, secure: false}}", "sameSite None needs secure"},
		{"path of a cookie", "  affinity: {cookie: {path: /a}}", "  affinity: {cookie: {path: '/a;b'}}", "should match"},
		{"same site of pods", "  cookies: {secure: true, sameSite: None}", "  cookies: {sameSite: None}", "sameSite None needs secure"},
		{"location", "  location: {from: 'http://', to: 'https://'}", "  location: {from: 'http://', to: 'javascript:x'}", "should match"},
		{"name that is sent", "  upstream: {tls: {ca: a, names: [b.c], sni: b.c}}", "  upstream: {tls: {ca: a, names: [b.c], sni: d.e}}", "sni must be the name in names"},
		{"insecure pods", "  upstream: {tls: {ca: a, names: [b.c]}}", "  upstream: {tls: {mode: Insecure, ca: a}}", "ca and names are for the mode Verify"},
		{"hash", "  loadBalancing: {algorithm: Hash, hash: {type: Path}}", "  loadBalancing: {algorithm: Random, hash: {type: Path}}", "hash is for the algorithm Hash"},
		{"hash of nothing", "  loadBalancing: {algorithm: RoundRobin}", "  loadBalancing: {algorithm: Hash}", "hash is for the algorithm Hash"},
		{"name of a hash", "  loadBalancing: {algorithm: Hash, hash: {type: Header, name: X-A}}", "  loadBalancing: {algorithm: Hash, hash: {type: Header}}", "name is for Header, Cookie and Query"},
		{"host of a rewrite", "  rewrite: {host: inner.example.com, full: '/a%20b'}", "  rewrite: {host: 'inner.example.com:80'}", "spec.rewrite.host"},
		{"path of a rewrite", "  rewrite: {prefix: /}", "  rewrite: {prefix: '/a|b'}", "spec.rewrite.prefix"},
		{"prefix or full", "  rewrite: {full: /a}", "  rewrite: {full: /a, prefix: /b}", "set one of prefix, full and regex"},
		{"prefix or regex", "  rewrite: {regex: {pattern: '/a(.*)', replacement: '$1'}}", "  rewrite: {prefix: /b, regex: {pattern: '/a(.*)', replacement: '$1'}}", "set one of prefix, full and regex"},
		{"pattern of a rewrite", "  rewrite: {regex: {pattern: '(?i)/a[|]b', replacement: /b}}", "  rewrite: {regex: {pattern: '/a b', replacement: /b}}", "spec.rewrite.regex.pattern"},
		{"replacement of a rewrite", "  rewrite: {regex: {pattern: /a, replacement: '/$$[;]'}}", "  rewrite: {regex: {pattern: /a, replacement: '/a|b'}}", "spec.rewrite.regex.replacement"},
		{"name of a header", "  headers: {request: {remove: [X-A]}}", "  headers: {request: {remove: ['X A']}}", "spec.headers.request.remove"},
		{"reserved header", "  headers: {response: {set: [{name: X-Cookie, value: a}]}}", "  headers: {response: {set: [{name: sEt-Cookie, value: a}]}}", "may not be changed"},
		{"value of a request", "  headers: {request: {set: [{name: X-A, value: '100%% of %[req.hdr(Host),lower]'}]}}", "  headers: {request: {set: [{name: X-A, value: '%[res.hdr(Host)]'}]}}", "spec.headers.request.set[0].value"},
		{"value of a response", "  headers: {response: {add: [{name: X-A, value: '%[res.hdr(Age)]'}]}}", "  headers: {response: {add: [{name: X-A, value: '%[src]'}]}}", "spec.headers.response.add[0].value"},
		{"lines in a value", "  headers: {response: {add: [{name: X-A, value: 'a b'}]}}", `  headers: {response: {add: [{name: X-A, value: "a\r\nb"}]}}`, "spec.headers.response.add[0].value"},
		{"target or selector", "  targetSelector: {kind: Route, matchLabels: {a: b}}", target("group: route.openshift.io, kind: Route, name: a") + "\n  targetSelector: {kind: Route, matchLabels: {a: b}}", "set targetRefs or targetSelector, not both"},
		{"kind of a target", target("group: networking.k8s.io, kind: Ingress, name: a"), target("group: networking.k8s.io, kind: Route, name: a"), "must be a Route of route.openshift.io"},
		{"Service", target("kind: Service, name: a") + "\n  health: {slowStart: 15m}\n  timeouts: {connect: 1s}", target("group: apps, kind: Service, name: a") + "\n  health: {slowStart: 15m}", "must be a Route of route.openshift.io"},
		{"groups of a Service", target("kind: Service, name: a") + "\n  loadBalancing: {algorithm: Random}", target("kind: Service, name: a") + "\n  access: {deny: [10.0.0.1]}", "only health, loadBalancing, upstream and timeouts.connect"},
		{"times of a Service", target("kind: Route, group: route.openshift.io, name: a") + "\n  timeouts: {idle: 1s}", target("kind: Service, name: a") + "\n  timeouts: {connect: 1s, idle: 1s}", "only health, loadBalancing, upstream and timeouts.connect"},
		{"group of a Route", target("kind: Ingress, group: networking.k8s.io, name: a"), target("kind: Route, name: a"), "must be a Route of route.openshift.io"},
		{"no authentication", "  authentication: {none: true}", "  authentication: {none: true, basic: {secret: a}}", "or none"},
		{"no method", "  authentication: {none: false, basic: {secret: a}}", "  authentication: {none: false}", "or none"},
		{"probe", "  health: {panicPercent: 0, active: {type: HTTP, path: '/a?b=%20', host: a.test, method: HEAD, expect: 200-299, port: 8080, interval: 5m, timeout: 1m, rise: 1, fall: 10}}", "  health: {active: {type: HTTP, expect: '600'}}", "spec.health.active.expect"},
		{"path of a probe", "  health: {active: {type: HTTP, path: /}}", "  health: {active: {path: /}}", "are for type HTTP"},
		{"line in a probe", "  health: {active: {type: HTTP, path: /a}}", `  health: {active: {type: HTTP, path: "/a\r\nb"}}`, "spec.health.active.path"},
		{"service of a probe", "  health: {active: {type: GRPC, service: shop.Cart}}", "  health: {active: {type: TCP, service: shop.Cart}}", "is for type GRPC"},
		{"interval of a probe", "  health: {active: {interval: 1s}}", "  health: {active: {interval: 999ms}}", "must be from 1s to 5m"},
		{"timeout of a probe", "  health: {active: {timeout: 5s}}", "  health: {active: {timeout: 6s}}", "must not be longer than interval"},
		{"slow start", "  health: {slowStart: 900s}", "  health: {slowStart: 16m}", "must be at most 15m"},
		{"no health", "  health: {panicPercent: 100}", "  health: {}", "spec.health"},
		{"section", target("group: networking.k8s.io, kind: Ingress, name: a, sectionName: a.example.com"), target("group: route.openshift.io, kind: Route, name: a, sectionName: b"), "sectionName is for Ingress, HTTPRoute, GRPCRoute and Gateway only"},
		{"rule of a route", target("group: gateway.networking.k8s.io, kind: HTTPRoute, name: a, sectionName: b"), target("kind: Service, name: a, sectionName: b") + "\n  health: {slowStart: 15m}", "sectionName is for Ingress, HTTPRoute"},
		{"group of an HTTPRoute", target("group: gateway.networking.k8s.io, kind: GRPCRoute, name: a"), target("group: networking.k8s.io, kind: HTTPRoute, name: a"), "must be a Route of route.openshift.io"},
		{"kind of a Gateway", target("group: gateway.networking.k8s.io, kind: Gateway, name: a, sectionName: b"), target("group: gateway.networking.k8s.io, kind: TCPRoute, name: a"), "must be a Route of route.openshift.io"},
		{"long list for a Gateway", target("group: gateway.networking.k8s.io, kind: HTTPRoute, name: a") + "\n  access: {deny: [" + list(200) + "]}", target("group: gateway.networking.k8s.io, kind: Gateway, name: a") + "\n  access: {deny: [" + list(101) + "]}", "at most 100 addresses"},
		{"origins", "  cors: {origins: ['https://*.example.com']}", "  cors: {origins: ['https://*.*.example.com']}", "spec.cors.origins"},
		{"time", "  timeouts: {response: 5s, idle: 1ms, connect: 500ms, tunnel: 576h, queue: 1m}", "  timeouts: {response: 5 s}", "spec.timeouts.response"},
		{"no time", "  timeouts: {idle: 9ms}", "  timeouts: {idle: 0s}", "spec.timeouts.idle"},
		{"long time", "  timeouts: {tunnel: 34560m}", "  timeouts: {tunnel: 34561m}", "must be at most 576h"},
		{"no timeouts", "  timeouts: {queue: 9s}", "  timeouts: {}", "spec.timeouts"},
		{"request ID", "  log: {requestID: Replace}", "  log: {requestID: Trust}", "spec.log.requestID"},
		{"percent", "  log: {percent: 0}", "  log: {percent: 101}", "spec.log.percent"},
		{"authentication", "  authentication: {basic: {secret: users}}", "  authentication: {}", "spec.authentication"},
		{"no failing open", "  authentication: {external: {service: {name: a, port: 8080}}}", "  authentication: {external: {service: {name: a}, failure: Open}}", "failure"},
		{"TLS of an auth server", "  authentication: {external: {service: {name: a, port: http, tls: true}, caSecret: c}}", "  authentication: {external: {service: {name: a, tls: true}}}", "service.tls needs caSecret"},
		{"header of an auth server", "  authentication: {external: {service: {name: a}, responseHeaders: [X-User]}}", "  authentication: {external: {service: {name: a}, responseHeaders: ['X User']}}", "spec.authentication.external.responseHeaders"},
		{"realm", "  authentication: {basic: {secret: a, realm: The shop}}", `  authentication: {basic: {secret: a, realm: "a\nb"}}`, "spec.authentication.basic.realm"},
		{"Secret", "  authentication: {basic: {secret: a.b-c}}", "  authentication: {basic: {secret: ../a}}", "spec.authentication.basic.secret"},
		{"issuers", "  authentication: {jwt: {issuers: [{issuer: a, secret: b}]}}", "  authentication: {jwt: {issuers: [{issuer: a, secret: b}, {issuer: a, secret: c}]}}", "spec.authentication.jwt.issuers"},
		{"satisfy", "  authentication: {satisfy: Any, basic: {secret: a}}", "  authentication: {satisfy: Some, basic: {secret: a}}", "spec.authentication.satisfy"},
		{"satisfy without a method", "  authentication: {basic: {secret: a}}", "  authentication: {satisfy: Any}", "set at least one of basic"},
		{"auth server by URL", `  authentication: {external: {url: "https://a.test/x"}}`, `  authentication: {external: {url: "https://a.test/x", service: {name: a}}}`, "set one of service, url"},
		{"keys by URL", `  authentication: {jwt: {issuers: [{issuer: a, jwks: {uri: "https://a.test/x"}}]}}`, `  authentication: {jwt: {issuers: [{issuer: a, jwks: {uri: "http://a.test/x"}}]}}`, "jwks.uri"},
		{"keys twice", "  authentication: {jwt: {issuers: [{issuer: a, secret: b}]}}", `  authentication: {jwt: {issuers: [{issuer: a, secret: b, jwks: {uri: "https://a.test/x"}}]}}`, "set one of secret, jwks"},
		{"API keys", "  authentication: {apiKeys: {secrets: [a], from: [{type: Query, name: key}], stripKey: false}}", "  authentication: {apiKeys: {secrets: []}}", "spec.authentication.apiKeys.secrets"},
		{"place of API keys", "  authentication: {apiKeys: {secrets: [a], from: [{type: Header, name: X-Key}]}}", "  authentication: {apiKeys: {secrets: [a], from: [{type: Cookie, name: key}]}}", "spec.authentication.apiKeys.from[0].type"},
		{"rules", "  authorization: {rules: [{action: Allow, when: {methods: [GET], paths: [{value: /a}], claims: [{name: a, exists: true}]}}, {action: Deny}]}", "  authorization: {rules: []}", "spec.authorization.rules"},
		{"action of a rule", "  authorization: {rules: [{action: Deny}]}", "  authorization: {rules: [{action: deny}]}", "spec.authorization.rules[0].action"},
		{"path of a rule", `  authorization: {rules: [{action: Deny, when: {paths: [{type: Exact, value: "/a b"}]}}]}`, `  authorization: {rules: [{action: Deny, when: {paths: [{value: "/%61"}]}}]}`, "paths[0].value"},
		{"claim of a rule", "  authorization: {rules: [{action: Deny, when: {claims: [{name: a, values: [b]}]}}]}", "  authorization: {rules: [{action: Deny, when: {claims: [{name: a, values: [b], exists: true}]}}]}", "set one of values, prefix, exists"},
		{"a provider by https", `  authentication: {oidc: {issuer: "https://a.test/x", clientID: b, login: 401ForXHR}}`, `  authentication: {oidc: {issuer: "http://a.test/x", clientID: b}}`, "spec.authentication.oidc.issuer"},
		{"a client of a provider", `  authentication: {oidc: {issuer: "https://a.test", clientID: b, clientSecret: c, scopes: [email], pkce: S256}}`, `  authentication: {oidc: {issuer: "https://a.test", clientSecret: c}}`, "spec.authentication.oidc.clientID"},
		{"PKCE", `  authentication: {oidc: {issuer: "https://a.test", clientID: b, refresh: false}}`, `  authentication: {oidc: {issuer: "https://a.test", clientID: b, pkce: plain}}`, "spec.authentication.oidc.pkce"},
		{"cookies of sessions", `  authentication: {oidc: {issuer: "https://a.test", clientID: b, cookie: {name: a, domain: a.test, sameSite: Strict, maxAge: 1h, idle: 5m}}}`, `  authentication: {oidc: {issuer: "https://a.test", clientID: b, cookie: {name: "a;b"}}}`, "spec.authentication.oidc.cookie.name"},
		{"paths of a login", `  authentication: {oidc: {issuer: "https://a.test", clientID: b, redirectPath: /cb, logoutPath: /out, postLogoutRedirect: "https://a.test/", skip: [/public]}}`, `  authentication: {oidc: {issuer: "https://a.test", clientID: b, redirectPath: "/a?b"}}`, "spec.authentication.oidc.redirectPath"},
		{"endpoints of a provider", `  authentication: {oidc: {issuer: "https://a.test", clientID: b, endpoints: {token: "https://a.test/t"}, forward: {idToken: X-Token}}}`, `  authentication: {oidc: {issuer: "https://a.test", clientID: b, endpoints: {token: "http://a.test/t"}}}`, "spec.authentication.oidc.endpoints.token"},
		{"no shared keys", "  authentication: {jwt: {issuers: [{issuer: a, secret: b, algorithms: [ES256]}]}}", "  authentication: {jwt: {issuers: [{issuer: a, secret: b, algorithms: [none]}]}}", "spec.authentication.jwt.issuers[0].algorithms"},
		{"unknown field", "  access: {deny: [10.0.0.1]}", "  access: {denied: [10.0.0.1]}", "denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := dryRun(t, policyHead+test.good); err != nil {
				t.Errorf("the good one: %v", err)
			}
			if err := dryRun(t, policyHead+test.bad); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a refusal with %q", err, test.want)
			}
		})
	}
}

// TestClusterPolicyRules: the same for the kind of administrators.
func TestClusterPolicyRules(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: fairlead.dev/v1alpha1\nkind: ClusterRoutePolicy\nmetadata: {name: judged}\nspec:\n"
	if err := dryRun(t, head+"  mode: Override\n  hosts: ['*.example.com']\n  namespaces: [a]\n  ingressControllers: [default]\n  access: {deny: [10.0.0.1]}"); err != nil {
		t.Errorf("the good one: %v", err)
	}
	if err := dryRun(t, head+"  mode: Default\n  optOut: Allowed\n  guard: {externalURLs: ['*.example.com', a.example.com], maxRequestsPerLimit: 5, bodyBytesMax: 10Mi}"); err != nil {
		t.Errorf("the guard: %v", err)
	}
	if err := dryRun(t, head+"  mode: Default\n  namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}, {key: e, operator: Exists}]}\n  access: {deny: [10.0.0.1]}"); err != nil {
		t.Errorf("the selector: %v", err)
	}
	tooMany := "  mode: Default\n  access: {allow: [" + strings.Repeat("10.0.0.1, ", 101) + "]}"
	for spec, want := range map[string]string{
		"  mode: Default\n  guard: {}":                                                                        "spec.guard",
		"  mode: Default\n  guard: {externalURLs: ['*']}":                                                     "spec.guard.externalURLs",
		"  mode: Default\n  guard: {externalURLs: ['https://a.example.com']}":                                 "spec.guard.externalURLs",
		"  mode: Default\n  guard: {allowFailOpen: true}":                                                     "allowFailOpen",
		"  mode: Default\n  optOut: allowed":                                                                  "spec.optOut",
		"  mode: Default\n  namespaceSelector: {matchExpressions: [{key: a, operator: In}]}":                  "In and NotIn need values",
		"  mode: Default\n  namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}": "In and NotIn need values",
		"  mode: Default\n  namespaceSelector: {matchExpressions: [{key: a, operator: Like, values: [b]}]}":   "operator",
		"  mode: Default\n  namespaceSelector: {matchLabel: {a: b}}":                                          "matchLabel",
		"  mode: Sometimes\n  access: {deny: [10.0.0.1]}":                                                     "spec.mode",
		"  access: {deny: [10.0.0.1]}":                                                                        "spec.mode",
		"  mode: Default\n  hosts: ['a.*.com']":                                                               "spec.hosts",
		"  mode: Default\n  access: {deny: [here]}":                                                           "must be an address or a CIDR",
		"  mode: Default\n  namespaces: [a, a]":                                                               "spec.namespaces",
		tooMany:                                                                                               "at most 100 addresses",
	} {
		if err := dryRun(t, head+spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a refusal with %q", spec, err, want)
		}
	}
}

// clientAs returns a client of a user.
func clientAs(t *testing.T, user string) client.Client {
	t.Helper()
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// bindRole gives a user one of the roles of Kubernetes in a namespace.
func bindRole(t *testing.T, c client.Client, namespace, role, user string) {
	t.Helper()
	if err := c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}); err != nil {
		t.Fatal(err)
	}
}

// TestPolicyAccess: who may edit a namespace writes its RoutePolicies, but not their
// status; who may view it reads them; ClusterRoutePolicies are the administrator's.
// API server and controller-manager fill the roles; where there is no
// controller-manager the rules of Fairlead's own ClusterRoles are looked at.
func TestPolicyAccess(t *testing.T) {
	c := newClient(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "policy-access"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	bindRole(t, c, ns.Name, "fairlead-routes-edit", "editor")
	bindRole(t, c, ns.Name, "fairlead-routes-view", "viewer")
	policy := func(name string) *v1alpha1.RoutePolicy {
		return &v1alpha1.RoutePolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: name},
			Spec:       v1alpha1.RoutePolicySpec{PolicySpec: v1alpha1.PolicySpec{Access: &v1alpha1.Access{Allow: []v1alpha1.CIDR{"10.0.0.0/8"}}}},
		}
	}
	editor, viewer := clientAs(t, "editor"), clientAs(t, "viewer")
	p := policy("mine")
	eventually(t, func() error { return client.IgnoreAlreadyExists(editor.Create(t.Context(), p)) })
	if err := editor.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		t.Fatal(err)
	}
	p.Status.Ancestors = []v1alpha1.PolicyAncestor{{ControllerName: "mine"}}
	for what, err := range map[string]error{
		"an editor writes a status":               editor.Status().Update(t.Context(), p),
		"an editor writes a ClusterRoutePolicy":   editor.Create(t.Context(), &v1alpha1.ClusterRoutePolicy{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: v1alpha1.ClusterRoutePolicySpec{Mode: "Default"}}),
		"a viewer writes a RoutePolicy":           viewer.Create(t.Context(), policy("theirs")),
		"an editor lists ClusterRoutePolicies":    editor.List(t.Context(), &v1alpha1.ClusterRoutePolicyList{}),
		"an editor lists those of all namespaces": editor.List(t.Context(), &v1alpha1.RoutePolicyList{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	eventually(t, func() error {
		return viewer.List(t.Context(), &v1alpha1.RoutePolicyList{}, client.InNamespace(ns.Name))
	})
	for name, label := range map[string]string{"fairlead-routes-edit": "edit", "fairlead-routes-view": "view"} {
		role := &rbacv1.ClusterRole{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, role); err != nil {
			t.Fatal(err)
		}
		if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+label] != "true" {
			t.Errorf("%s is not part of the role %s", name, label)
		}
	}
	if err := c.Delete(t.Context(), p); err != nil {
		t.Error(fmt.Errorf("clean up: %w", err))
	}
}
