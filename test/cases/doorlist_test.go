package cases

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// closedDoor is something that protects two Routes, for a host and for a wildcard: a
// policy, and who is kept out by it.
type closedDoor struct {
	name string
	// spec are the groups of the policy. Weaker is what another policy says that would
	// let Bad through, and wrong what cannot be used.
	spec, weaker string
	wrong        []string
	// secrets are the Secrets by name; junk is what the first one holds instead.
	secrets map[string]map[string]string
	secret  string
	junk    map[string]string
	// good and bad are the words of a request that gets through, and of one that must
	// not. From is the address of the good one.
	good, bad, from string
	// target and method of the bad request.
	target, method string
	// shut doors let no request through: the pods are not who the policy trusts. Termination
	// and port are the Routes', if not edge and http.
	shut              bool
	termination, port string
	// spends is true if a good request must have come before a bad one.
	spends bool
	// renewed is when a spent limit lets the next request in, if that is soon.
	renewed time.Duration
	// agent is true if HAProxy cannot decide alone, tls if a good request comes by TLS only.
	agent, tls bool
	// firewall doors need the firewall.
	firewall bool
	// gateway doors protect two HTTPRoutes, and routeOnly ones what no HTTPRoute can have:
	// there they let no request through.
	gateway, routeOnly bool
}

const (
	// freshTry is replaced by another text in each pair of requests.
	freshTry  = "FRESH"
	openToAll = "access: {allow: [0.0.0.0/0]}"
	annsUsers = "ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n"
	bobsUsers = "bob:{SHA}wqawPPjM+ytKRqK+NR3qbw0Adw8=\n"
	ann       = "h:Authorization=\"Basic YW5uOng=\""
	bob       = "h:Authorization=\"Basic Ym9iOm5ldw==\""
)

func closedDoors(t *testing.T) []closedDoor {
	t.Helper()
	users := map[string]map[string]string{"users": {"auth": annsUsers}, "other": {"auth": bobsUsers}}
	weakUsers := "authentication: {basic: {secret: other}}"
	login := `oidc: {issuer: "https://198.18.250.99/", clientID: shop, clientSecret: client, cookie: {name: door}}`
	signer, stranger := newIssuerKey(t, "a"), newIssuerKey(t, "a")
	keys := string(keySet(signer).Data["jwks"])
	token := func(k issuerKey) string {
		name, value, _ := strings.Cut(k.token("EdDSA", "https://i.test/", time.Hour), ": ")
		return "h:" + name + "=\"" + value + "\""
	}
	issuer := `issuers: [{issuer: "https://i.test/", secret: keys}]`
	authorities := map[string]map[string]string{"authorities": {"ca.crt": pki().ca(t, "client-a").certPEM}, "other": {"ca.crt": pki().ca(t, "client-b").certPEM}}
	certificate := closedDoor{
		spec: "authentication: {clientCertificate: {caSecret: authorities}}", weaker: "authentication: {clientCertificate: {caSecret: other, mode: Optional}}",
		secrets: authorities, secret: "authorities", junk: map[string]string{"ca.crt": "junk"}, good: "as=alice@client-a", tls: true, routeOnly: true,
		wrong: []string{"authentication: {clientCertificate: {caSecret: a/b}}", "authentication: {clientCertificate: {caSecret: authorities, mode: optional}}", "authentication: {clientCertificate: {caSecret: authorities, mode: Optional, depth: 1}}", "authentication: {satisfy: Any, clientCertificate: {caSecret: authorities}}"},
	}
	foreign, none, name := certificate, certificate, certificate
	foreign.name, foreign.bad = "foreign", "as=mallory@client-b"
	none.name = "certless"
	revoked, alternative := certificate, certificate
	revoked.name, revoked.bad, revoked.secret, revoked.junk = "revoked", "as=eve@client-a", "lists", map[string]string{"ca.crl": "junk"}
	revoked.spec = "authentication: {clientCertificate: {caSecret: authorities, crlSecret: lists}}"
	revoked.secrets = map[string]map[string]string{"authorities": authorities["authorities"], "other": authorities["other"], "lists": {"ca.crl": pki().revocations(t, "client-a eve@client-a", time.Now().Add(time.Hour))}}
	revoked.wrong = []string{"authentication: {clientCertificate: {caSecret: authorities, crlSecret: a/b}}", "authentication: {clientCertificate: {caSecret: authorities, crlSecret: authorities}}", "authentication: {clientCertificate: {caConfigMap: none, crlSecret: lists}}"}
	alternative.name, alternative.spec, alternative.bad, alternative.good = "alternative", "authentication: {clientCertificate: {caSecret: authorities, sans: [{kind: DNS, value: alice.test}]}}", "as=alice.test@client-a", "as=alice~dns:alice.test@client-a"
	alternative.wrong = []string{"authentication: {clientCertificate: {caSecret: authorities, sans: [{kind: dns, value: alice}]}}", "authentication: {clientCertificate: {caSecret: authorities, sans: [{kind: IP, value: alice}]}}", "authentication: {clientCertificate: {caSecret: authorities, forward: all}}"}
	pattern := certificate
	pattern.name, pattern.spec, pattern.bad = "pattern", "authentication: {clientCertificate: {caSecret: authorities, subjects: [{type: Regex, value: 'CN=al[a-z]+'}]}}", "as=xalice@client-a"
	pattern.wrong = []string{"authentication: {clientCertificate: {caSecret: authorities, subjects: [{type: Regex, value: 'CN=(al'}]}}", "authentication: {clientCertificate: {caSecret: authorities, subjects: [{type: regex, value: '.*'}]}}", "authentication: {clientCertificate: {caSecret: authorities, subjects: [{type: Regex, value: 'CN=al)|(?:.*'}]}}"}
	name.name, name.spec, name.bad = "subject", "authentication: {clientCertificate: {caSecret: authorities, subjects: [{value: CN=alice}]}}", "as=bob@client-a"
	return []closedDoor{
		foreign, none, name, revoked, alternative, pattern,
		{name: "allow", spec: "access: {allow: [127.0.0.2]}", weaker: openToAll, wrong: []string{"access: {allow: [nonsense]}", `access: {allow: ["127.0.0.1\n"]}`}, from: "127.0.0.2"},
		{name: "deny", spec: "access: {deny: [127.0.0.1]}", weaker: openToAll, wrong: []string{"access: {deny: [nonsense]}"}, from: "127.0.0.2"},
		{
			name: "pods", shut: true, port: "https", termination: "reencrypt", spec: "retries: {attempts: 0}, upstream: {tls: {ca: authority}}", weaker: "upstream: {tls: {mode: Insecure}}",
			secrets: map[string]map[string]string{"authority": {"ca.crt": pki().ca(t, "client-a").certPEM}, "other": {"ca.crt": pki().ca(t, "ca").certPEM}}, secret: "authority", junk: map[string]string{"ca.crt": "junk"},
			wrong: []string{"upstream: {tls: {ca: a/b}}", "upstream: {tls: {mode: insecure}}", `upstream: {tls: {ca: other, names: ["elsewhere.test"]}}`},
		},
		{
			name: "basic", agent: true, spec: "authentication: {basic: {secret: users}}", weaker: weakUsers, secrets: users, secret: "users",
			wrong: []string{`authentication: {basic: {secret: "users/other"}}`, `authentication: {basic: {secret: other, realm: "a\nb"}}`, "authentication: {}"},
			junk:  map[string]string{"auth": "bob:new\n"}, good: ann, bad: bob,
		},
		{
			name: "any", agent: true, spec: "access: {allow: [127.0.0.2]}, authentication: {satisfy: Any, basic: {secret: users}}", weaker: openToAll + ", " + weakUsers,
			secrets: users, secret: "users", junk: map[string]string{"auth": "bob:new\n"}, good: ann, bad: bob,
			wrong: []string{"authentication: {satisfy: Some, basic: {secret: other}}", "access: {allow: [nonsense]}, authentication: {satisfy: Any, basic: {secret: users}}"},
		},
		{
			name: "external", agent: true, spec: "authentication: {external: {service: {name: auth, path: /check}}}", weaker: weakUsers, secrets: users,
			wrong: []string{"authentication: {external: {service: {name: nothing}}}", `authentication: {external: {url: "http://198.18.250.62:8080/"}}`, "authentication: {external: {}}"},
			good:  `h:Authorization="Bearer good"`, bad: bob,
		},
		{
			name: "jwt", agent: true, spec: "authentication: {jwt: {" + issuer + "}}", weaker: "authentication: {jwt: {optional: true, " + issuer + "}}",
			secrets: map[string]map[string]string{"keys": {"jwks": keys}}, secret: "keys", junk: map[string]string{"jwks": "{"}, good: token(signer), bad: "",
			wrong: []string{"authentication: {jwt: {issuers: []}}", "authentication: {satisfy: Any, jwt: {optional: true, " + issuer + "}}"},
		},
		{
			name: "signature", agent: true, spec: "authentication: {jwt: {" + issuer + "}}", weaker: openToAll,
			secrets: map[string]map[string]string{"keys": {"jwks": keys}}, secret: "keys", junk: map[string]string{"jwks": `{"keys":[]}`}, good: token(signer), bad: token(stranger),
			wrong: []string{"authentication: {jwt: {issuers: [{issuer: \"https://i.test/\"}]}}"},
		},
		{
			name: "keys", spec: "authentication: {apiKeys: {secrets: [keys]}}", weaker: "authentication: {apiKeys: {secrets: [other]}}", secret: "keys", junk: map[string]string{"eve": "short"},
			secrets: map[string]map[string]string{"keys": {"ann": "ann-key-0123456789abcdef"}, "other": {"eve": "eve-key-0123456789abcdef"}},
			good:    "h:X-API-Key=ann-key-0123456789abcdef", bad: "h:X-API-Key=eve-key-0123456789abcdef",
			wrong: []string{"authentication: {apiKeys: {secrets: []}}", `authentication: {apiKeys: {secrets: [other], from: [{type: Header, name: "a b"}]}}`, `authentication: {apiKeys: {secrets: ["other\n"]}}`},
		},
		{
			// The provider does not exist: a client without a password is sent to log in, and gets no further.
			name: "login", agent: true, routeOnly: true, spec: "authentication: {satisfy: Any, basic: {secret: users}, " + login + "}", weaker: "authentication: {satisfy: Any, basic: {secret: other}, " + login + "}",
			secrets: map[string]map[string]string{"client": {"client-secret": "s3cret"}, "users": users["users"], "other": users["other"]},
			secret:  "client", junk: map[string]string{"client-secret": ""}, good: ann,
			bad:   `h:Cookie="__Host-fl-door=1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"`,
			wrong: []string{"authentication: {oidc: {issuer: \"http://198.18.250.99/\", clientID: shop}}", "authentication: {oidc: {issuer: \"https://elsewhere.test/\", clientID: shop}}", "authentication: {oidc: {issuer: \"https://198.18.250.99/\", clientID: shop, skip: [/%2e%2e]}}"},
		},
		{
			name: "rules", agent: true, spec: "authorization: {rules: [{action: Allow, when: {headers: [{name: X-Pass, values: [sesame]}]}}]}", weaker: "authorization: {rules: [{action: Allow}]}",
			wrong: []string{"authorization: {rules: []}", "authorization: {rules: [{action: allow}]}", "authorization: {rules: [{action: Deny, when: {groups: [a]}}, {action: Allow}]}"},
			good:  "h:X-Pass=sesame", bad: "h:X-Pass=sesam",
		},
		{
			name: "firewall", firewall: true, spec: "firewall: {mode: Block}", weaker: "firewall: {mode: Detect, threshold: 1000}", target: script,
			wrong: []string{"firewall: {mode: block}", "firewall: {mode: Detect, paranoia: 5}", "firewall: {mode: Detect, exclusions: [949110]}"},
		},
		{
			name: "rate", spec: "limits: {requests: [{name: one, requests: 1, per: 24h}]}", weaker: "limits: {requests: [{name: many, requests: 1000}]}", spends: true,
			wrong: []string{"limits: {requests: [{name: one, requests: -1}]}", `limits: {requests: [{name: "a b", requests: 5000}]}`},
		},
		{
			name: "some", spec: "limits: {requests: [{name: one, requests: 1, per: 24h, match: {methods: [GET], paths: [{value: /}]}}]}", weaker: "limits: {requests: [{name: many, requests: 1000, match: {paths: [{value: /other}]}}]}", spends: true,
			wrong: []string{"limits: {requests: [{name: one, requests: 1000, match: {methods: [NONE]}}]}", `limits: {requests: [{name: one, requests: 1000, match: {paths: [{value: "/a/../b"}]}}]}`, "limits: {requests: [{name: one, requests: 1000, match: {paths: [{type: Regex, value: /a}]}}]}"},
		},
		{
			name: "consumer", spec: "authentication: {apiKeys: {secrets: [keys]}}, limits: {requests: [{name: one, requests: 1, per: 24h, key: {type: Consumer}}]}",
			weaker: "limits: {requests: [{name: many, requests: 1000, key: {type: Consumer}}]}", spends: true, bad: "h:X-API-Key=ann-key-0123456789abcdef", good: "h:X-API-Key=ann-key-0123456789abcdef",
			secrets: map[string]map[string]string{"keys": {"ann": "ann-key-0123456789abcdef"}}, secret: "keys", junk: map[string]string{"eve": "short"},
			wrong: []string{"limits: {requests: [{name: many, requests: 1000, scope: Cluster, key: {type: Consumer}}]}", "limits: {requests: [{name: many, requests: 1000, key: {type: Claim}}]}"},
		},
		{ // the policy agent decides, because it counts
			name: "counted", agent: true, spec: "authentication: {apiKeys: {secrets: [keys]}}, limits: {requests: [{name: many, requests: 1000000, scope: Shared, key: {type: Consumer}}]}",
			weaker: "authentication: {apiKeys: {secrets: [other]}}", secret: "keys", junk: map[string]string{"eve": "short"},
			secrets: map[string]map[string]string{"keys": {"ann": "ann-key-0123456789abcdef"}, "other": {"eve": "eve-key-0123456789abcdef"}},
			good:    "h:X-API-Key=ann-key-0123456789abcdef", bad: "h:X-API-Key=eve-key-0123456789abcdef",
			wrong: []string{"authentication: {apiKeys: {secrets: [other]}}, limits: {requests: [{name: many, requests: 1000, scope: Shared, key: {type: Claim}}]}"},
		},
		{ // each pair of requests has a key of its own, which nothing was counted for
			name: "together", agent: true, spec: "limits: {requests: [{name: one, requests: 1, per: 10s, scope: Shared, key: {type: Header, name: X-Try}}]}",
			weaker: "limits: {requests: [{name: many, requests: 1000, scope: Shared}]}", spends: true, renewed: 10 * time.Second, bad: "h:X-Try=" + freshTry, good: "h:X-Try=" + freshTry,
			wrong: []string{"limits: {requests: [{name: one, requests: 1000, scope: shared}]}", "limits: {requests: [{name: one, requests: 1000, scope: Shared, match: {methods: [NONE]}}]}", "limits: {requests: [{name: one, requests: 1000, scope: Shared, key: {type: Claim}}]}"},
		},
		{name: "body", spec: "limits: {body: {max: 10}}", weaker: "limits: {body: {max: 1Gi}}", wrong: []string{"limits: {body: {max: -1}}", "limits: {body: {max: 100m}}"}, bad: "body=11", method: "POST"},
		{name: "uri", spec: "limits: {uriBytes: 20}", weaker: "limits: {uriBytes: 2000}", wrong: []string{"limits: {uriBytes: 1}"}, target: "/" + strings.Repeat("a", 20)},
		{name: "headers", spec: "limits: {headerBytes: 300}", weaker: "limits: {headerBytes: 2000}", wrong: []string{"limits: {headerBytes: 1}"}, bad: "h:X-Long=" + strings.Repeat("a", 300)},
	}
}

func (d *closedDoor) namespace() string { return "door-" + d.name }

// hosts are one that the door's Route names, and one that its wildcard has.
func (d *closedDoor) hosts() []string {
	return []string{d.name + ".door.test", "any." + d.name + ".wild.test"}
}

// kind is that of the door's routes.
func (d *closedDoor) kind() string {
	if d.gateway {
		return "HTTPRoute"
	}
	return "Route"
}

func (d *closedDoor) policy(name, spec string) string {
	if d.gateway {
		const form = "kind: RoutePolicy\nmetadata: {namespace: %s, name: %s}\nspec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: exact}, {group: gateway.networking.k8s.io, kind: HTTPRoute, name: wild, sectionName: all}], %s}"
		return fmt.Sprintf(form, d.namespace(), name, spec)
	}
	return fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: %s, name: %s}\nspec: {targetSelector: {kind: Route, matchLabels: {door: closed}}, %s}", d.namespace(), name, spec)
}

func (d *closedDoor) routes(annotations string) string {
	if d.gateway {
		const form = "kind: HTTPRoute\nmetadata: {namespace: %s, name: %s, uid: %s-%s}\nspec: {parentRefs: [{name: gw, namespace: gw}], hostnames: [%q], rules: [{name: all, backendRefs: [{name: web, port: %s}]}]}"
		port := map[string]string{"": "8080", "https": "8443"}[d.port]
		return fmt.Sprintf(form, d.namespace(), "exact", d.name, "exact", d.hosts()[0], port) + "\n---\n" +
			fmt.Sprintf(form, d.namespace(), "wild", d.name, "wild", strings.Replace(d.hosts()[1], "any", "*", 1), port)
	}
	const form = "kind: Route\nmetadata: {namespace: %s, name: %s, labels: {door: closed}, annotations: {%s}}\nspec: {host: %s, wildcardPolicy: %s, port: {targetPort: %s}, to: {kind: Service, name: web}, tls: {termination: %s, insecureEdgeTerminationPolicy: Allow}}"
	port, termination := cmp.Or(d.port, "http"), cmp.Or(d.termination, "edge")
	return fmt.Sprintf(form, d.namespace(), "exact", annotations, d.hosts()[0], "None", port, termination) + "\n---\n" +
		fmt.Sprintf(form, d.namespace(), "wild", annotations, d.hosts()[1], "Subdomain", port, termination)
}

func (d *closedDoor) secretObject(name string, data map[string]string) metav1.Object {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace(), Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func (d *closedDoor) allSecrets() (all []metav1.Object) {
	for _, name := range slices.Sorted(maps.Keys(d.secrets)) {
		all = append(all, d.secretObject(name, d.secrets[name]))
	}
	return all
}

// line is a request: GET http://HOST/ WORDS.
func (d *closedDoor) line(scheme, host, target, words string) string {
	method := d.method
	if method == "" {
		method = "GET"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s://%s%s %s", method, scheme, host, target, words)) + " -> 200"
}

// attempts are the ways in which a client tries that must not get through.
func (d *closedDoor) attempts() []string {
	target := d.target
	if target == "" {
		target = "/"
	}
	var lines []string
	for _, host := range d.hosts() {
		lines = append(lines, d.line("http", host, target, d.bad), d.line("https", host, target, d.bad), d.line("https", host, target, d.bad+" alpn=h2,http/1.1"))
		if !strings.Contains(d.bad, "body=") {
			lines = append(lines, d.line("http", host, target, d.bad+" ws"))
		}
		if d.target == "" && !d.shut { // trust in pods does not keep clients from the pods of another Route
			lines = append(lines, d.line("http", host, "//x/../%2e%2e/", d.bad), d.line("http", host, "/.well-known/acme-challenge/other", d.bad),
				d.line("http", host, "/.well-known/acme-challenge/token/../../../", d.bad))
		}
	}
	return lines
}
