package cases

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
	// spends is true if a good request must have come before a bad one.
	spends bool
	// agent is true if HAProxy cannot decide alone.
	agent bool
}

const (
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
	signer, stranger := newIssuerKey(t, "a"), newIssuerKey(t, "a")
	keys := string(keySet(signer).Data["jwks"])
	token := func(k issuerKey) string {
		name, value, _ := strings.Cut(k.token("EdDSA", "https://i.test/", time.Hour), ": ")
		return "h:" + name + "=\"" + value + "\""
	}
	issuer := `issuers: [{issuer: "https://i.test/", secret: keys}]`
	return []closedDoor{
		{name: "allow", spec: "access: {allow: [127.0.0.2]}", weaker: openToAll, wrong: []string{"access: {allow: [nonsense]}", `access: {allow: ["127.0.0.1\n"]}`}, from: "127.0.0.2"},
		{name: "deny", spec: "access: {deny: [127.0.0.1]}", weaker: openToAll, wrong: []string{"access: {deny: [nonsense]}"}, from: "127.0.0.2"},
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
			name: "rules", agent: true, spec: "authorization: {rules: [{action: Allow, when: {headers: [{name: X-Pass, values: [sesame]}]}}]}", weaker: "authorization: {rules: [{action: Allow}]}",
			wrong: []string{"authorization: {rules: []}", "authorization: {rules: [{action: allow}]}", "authorization: {rules: [{action: Deny, when: {groups: [a]}}, {action: Allow}]}"},
			good:  "h:X-Pass=sesame", bad: "h:X-Pass=sesam",
		},
		{
			name: "rate", spec: "limits: {requests: [{name: one, requests: 1, per: 24h}]}", weaker: "limits: {requests: [{name: many, requests: 1000}]}", spends: true,
			wrong: []string{"limits: {requests: [{name: one, requests: -1}]}", `limits: {requests: [{name: "a b", requests: 5000}]}`},
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

func (d *closedDoor) policy(name, spec string) string {
	return fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: %s, name: %s}\nspec: {targetSelector: {kind: Route, matchLabels: {door: closed}}, %s}", d.namespace(), name, spec)
}

func (d *closedDoor) routes(annotations string) string {
	const form = "kind: Route\nmetadata: {namespace: %s, name: %s, labels: {door: closed}, annotations: {%s}}\nspec: {host: %s, wildcardPolicy: %s, to: {kind: Service, name: web}, tls: {termination: edge, insecureEdgeTerminationPolicy: Allow}}"
	return fmt.Sprintf(form, d.namespace(), "exact", annotations, d.hosts()[0], "None") + "\n---\n" + fmt.Sprintf(form, d.namespace(), "wild", annotations, d.hosts()[1], "Subdomain")
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
		if d.target == "" {
			lines = append(lines, d.line("http", host, "//x/../%2e%2e/", d.bad))
		}
	}
	return lines
}

// doorsBed is a router with all doors.
type doorsBed struct {
	*bed
	doors []closedDoor
	// tried and leaked count the requests that ran beside the changes.
	tried, leaked atomic.Int64
}

// reached reports whether a pod answered.
func reached(r *response) bool {
	return r.pod != nil || r.status == http.StatusSwitchingProtocols || strings.Contains(r.body, `"Pod"`)
}

func (b *doorsBed) send(line, from string) response {
	e, err := parseLine(line)
	if err != nil {
		b.t.Error(err)
		return response{}
	}
	if from != "" {
		return b.sendFrom(from, e)
	}
	return e.request.do(b.http, b.https)
}

// closed sends all attempts at once; none may reach a pod.
func (b *doorsBed) closed(fault string) {
	b.t.Helper()
	var running sync.WaitGroup
	for i := range b.doors {
		d := &b.doors[i]
		running.Go(func() {
			for _, line := range d.attempts() {
				if d.spends {
					b.send(line, "")
				}
				if r := b.send(line, ""); reached(&r) {
					b.t.Errorf("%s, %s: %s gets %d from a pod", d.name, fault, line, r.status)
				}
			}
		})
	}
	running.Wait()
}

// open sends what may get through, until it does.
func (b *doorsBed) open(fault string) {
	b.t.Helper()
	for i := range b.doors {
		d := &b.doors[i]
		line := d.line("http", d.hosts()[0], "/", d.good)
		if d.method != "" || d.spends { // nothing is good about a large body, nor about the second request
			line = fmt.Sprintf("GET http://%s/ -> 200", d.hosts()[0])
		}
		b.eventually(d.name+" lets in who may, "+fault, func() error {
			r := b.send(line, d.from)
			switch {
			case d.spends, reached(&r):
				return nil
			case d.agent && b.agent == nil && r.status == http.StatusServiceUnavailable:
				return nil
			}
			return fmt.Errorf("status %d: %w", r.status, r.err)
		})
	}
}

// probe tries all doors without a pause until the end.
func (b *doorsBed) probe(ctx context.Context) {
	for ctx.Err() == nil {
		for i := range b.doors {
			d := &b.doors[i]
			if d.spends { // each restart of HAProxy forgets what was spent
				continue
			}
			r := b.send(d.attempts()[int(b.tried.Add(1))%len(d.attempts())], "")
			if reached(&r) {
				b.leaked.Add(1)
				b.t.Errorf("%s: a request beside the changes gets %d from a pod", d.name, r.status)
			}
		}
	}
}

// each makes one change of all doors.
func (b *doorsBed) each(t *testing.T, yaml func(*closedDoor) string) {
	t.Helper()
	var all change
	for i := range b.doors {
		if text := yaml(&b.doors[i]); text != "" {
			all.put = append(all.put, objectsChange(t, text).put...)
		}
	}
	b.apply(all)
}

func (b *doorsBed) remove(objects ...func(*closedDoor) string) {
	var all change
	for i := range b.doors {
		for _, o := range objects {
			if kind, name, ok := strings.Cut(o(&b.doors[i]), " "); ok {
				all.del = append(all.del, parseObject(kind, name))
			}
		}
	}
	b.apply(all)
}

func (b *doorsBed) putSecrets() {
	var all change
	for i := range b.doors {
		all.put = append(all.put, b.doors[i].allSecrets()...)
	}
	b.apply(all)
}

// fault is one that befalls all doors, and what ends it.
type fault struct {
	name    string
	do, end func(t *testing.T, b *doorsBed)
	// agent faults need the policy agent.
	agent bool
}

func inNamespace(kind, name string) func(*closedDoor) string {
	return func(d *closedDoor) string { return kind + " " + d.namespace() + "/" + name }
}

func firstSecret(d *closedDoor) string {
	if d.secret == "" {
		return ""
	}
	return inNamespace("Secret", d.secret)(d)
}

// asMeant is the policy as it is meant.
func asMeant(t *testing.T, b *doorsBed) {
	b.each(t, func(d *closedDoor) string { return d.policy("door", d.spec) })
}

func objectFaults() []fault {
	withSecrets := func(_ *testing.T, b *doorsBed) { b.putSecrets() }
	return []fault{
		{name: "nothing", do: func(*testing.T, *doorsBed) {}},
		{name: "the Secret is deleted", do: func(_ *testing.T, b *doorsBed) { b.remove(firstSecret) }, end: withSecrets},
		{
			name: "the Secret was never there", end: withSecrets,
			do: func(t *testing.T, b *doorsBed) {
				b.remove(firstSecret, inNamespace("Route", "exact"), inNamespace("Route", "wild"), inNamespace("RoutePolicy", "door"))
				asMeant(t, b)
				b.each(t, func(d *closedDoor) string { return d.routes("") })
			},
		},
		{
			name: "the Secret holds something else", end: withSecrets,
			do: func(_ *testing.T, b *doorsBed) {
				var all change
				for i := range b.doors {
					if d := &b.doors[i]; d.secret != "" {
						all.put = append(all.put, d.secretObject(d.secret, d.junk))
					}
				}
				b.apply(all)
			},
		},
		wrongValue(0), wrongValue(1), wrongValue(2),
		{
			name: "a second policy of equal rank",
			do: func(t *testing.T, b *doorsBed) {
				b.each(t, func(d *closedDoor) string { return d.policy("a-second", d.weaker) })
			},
			end: func(_ *testing.T, b *doorsBed) { b.remove(inNamespace("RoutePolicy", "a-second")) },
		},
		{
			name: "a weaker policy of the namespace",
			do: func(t *testing.T, b *doorsBed) {
				b.each(t, func(d *closedDoor) string {
					return fmt.Sprintf("kind: RoutePolicy\nmetadata: {namespace: %s, name: wide}\nspec: {%s}", d.namespace(), d.weaker)
				})
			},
			end: func(_ *testing.T, b *doorsBed) { b.remove(inNamespace("RoutePolicy", "wide")) },
		},
		{
			name: "a weaker default of the cluster",
			do: func(t *testing.T, b *doorsBed) {
				b.each(t, func(d *closedDoor) string {
					return fmt.Sprintf("kind: ClusterRoutePolicy\nmetadata: {name: default-%s}\nspec: {mode: Default, namespaces: [%s], %s}", d.name, d.namespace(), d.weaker)
				})
			},
			end: func(_ *testing.T, b *doorsBed) {
				b.remove(func(d *closedDoor) string { return "ClusterRoutePolicy /default-" + d.name })
			},
		},
		{
			name: "annotations that would open",
			do: func(t *testing.T, b *doorsBed) {
				b.each(t, func(d *closedDoor) string {
					return d.routes(`fairlead.dev/allow: "0.0.0.0/0", fairlead.dev/satisfy: Any, fairlead.dev/limit: 1000/s, fairlead.dev/max-body: 1Gi`)
				})
			},
			end: func(t *testing.T, b *doorsBed) { b.each(t, func(d *closedDoor) string { return d.routes("") }) },
		},
		{
			name: "a redirect",
			do: func(t *testing.T, b *doorsBed) {
				b.each(t, func(d *closedDoor) string {
					return d.policy("away", `redirects: {rules: [{to: {url: "https://elsewhere.test/"}}]}`)
				})
			},
			end: func(_ *testing.T, b *doorsBed) { b.remove(inNamespace("RoutePolicy", "away")) },
		},
	}
}

// wrongValue has the policies say what the API server would have refused.
func wrongValue(n int) fault {
	return fault{
		name: fmt.Sprintf("wrong value %d", n+1), end: asMeant,
		do: func(t *testing.T, b *doorsBed) {
			b.each(t, func(d *closedDoor) string {
				if n >= len(d.wrong) {
					return ""
				}
				return d.policy("door", d.wrong[n])
			})
		},
	}
}

func processFaults() []fault {
	return []fault{
		{
			name: "the agent is dead", agent: true,
			do:  func(_ *testing.T, b *doorsBed) { b.killWorkers() },
			end: func(_ *testing.T, b *doorsBed) { b.agent.down.Store(false) },
		},
		{
			name: "the agent hangs", agent: true,
			do:  func(_ *testing.T, b *doorsBed) { b.signalWorkers(syscall.SIGSTOP) },
			end: func(_ *testing.T, b *doorsBed) { b.signalWorkers(syscall.SIGCONT) },
		},
		{
			name: "HAProxy reloads",
			do: func(_ *testing.T, b *doorsBed) {
				before := b.reloads()
				b.limitKeys = 50_000
				s := b.cluster.Settings()
				s.NamespaceChecks = 400 // has the settings read again
				b.apply(change{settings: &s})
				b.eventually("HAProxy was reloaded", func() error {
					if n := b.reloads(); n == before {
						return fmt.Errorf("%d reloads", n)
					}
					return nil
				})
			},
		},
		{
			name: "the router ends",
			do:   func(_ *testing.T, b *doorsBed) { b.stopEngine() },
			end: func(_ *testing.T, b *doorsBed) {
				b.startEngine()
				b.waitReady()
				if n := b.reloads(); n != 0 {
					b.t.Errorf("the router that started beside HAProxy reloaded it %d times", n)
				}
			},
		},
	}
}

// TestClosedDoors: whatever goes wrong with what protects a Route, no request that it is
// to keep out reaches a pod, on any listener and host; and who may gets in again.
func TestClosedDoors(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"haproxy", "haproxy-3.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := &doorsBed{bed: newBed(t, version, newMemory()), doors: closedDoors(t)}
			if version == "haproxy" {
				b.startAgent()
			}
			settings := b.cluster.Settings()
			settings.WildcardsAllowed = true
			first := change{settings: &settings}
			for i := range b.doors {
				d := &b.doors[i]
				s := parseStep(t, map[string]string{"services": fmt.Sprintf("%[1]s/web http=8080 web@198.18.250.97\n%[1]s/auth http=8080 auth@198.18.250.62", d.namespace())})
				first.put = append(append(first.put, s.put...), d.allSecrets()...)
				first.put = append(first.put, objectsChange(t, d.policy("door", d.spec)+"\n---\n"+d.routes("")).put...)
			}
			b.start()
			b.apply(first)
			b.open("at first")
			stop := background(b.probe)
			for _, f := range slices.Concat(objectFaults(), processFaults()) {
				if f.agent && b.agent == nil {
					continue
				}
				f.do(t, b)
				b.closed(f.name)
				if f.end == nil {
					continue
				}
				f.end(t, b)
				b.closed("after " + f.name)
				b.open("after " + f.name)
			}
			stop()
			if b.tried.Load() < 100 {
				t.Errorf("only %d requests ran beside the changes", b.tried.Load())
			}
			t.Logf("%d requests beside the changes, %d let through", b.tried.Load(), b.leaked.Load())
		})
	}
}
