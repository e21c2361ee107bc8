package cases

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// doorsBed is a router with all doors.
type doorsBed struct {
	*bed
	doors []closedDoor
	// plain and secure are the ports of the doors.
	plain, secure int
	// tried and leaked count the requests that ran beside the changes. While weakened is
	// odd, they prove nothing.
	tried, leaked, weakened atomic.Int64
	// pairs counts pairs of requests, and spent those of a renewed door whose first one got in.
	pairs, spent atomic.Int64
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
		return b.sendFromTo(from, b.plain, e)
	}
	return e.request.do(b.plain, b.secure)
}

// closed sends all attempts at once; none may reach a pod.
func (b *doorsBed) closed(fault string) {
	b.t.Helper()
	var running sync.WaitGroup
	for i := range b.doors {
		d := &b.doors[i]
		running.Go(func() {
			for _, line := range d.attempts() {
				began, spent := time.Now(), true
				if d.spends {
					line = strings.ReplaceAll(line, freshTry, fmt.Sprint("try", b.pairs.Add(1)))
					first := b.send(line, "")
					if spent = d.renewed == 0 || reached(&first); spent && d.renewed > 0 {
						b.spent.Add(1)
					}
				}
				r := b.send(line, "")
				if !spent || d.renewed > 0 && time.Since(began) > d.renewed*9/10 {
					continue // one of both may get in, and after a while another one
				}
				if reached(&r) {
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
		scheme := "http"
		if d.tls {
			scheme = "https"
		}
		line := d.line(scheme, d.hosts()[0], "/", d.good)
		if d.method != "" || d.spends { // nothing is good about a large body, nor about the second request
			line = fmt.Sprintf("GET http://%s/ -> 200", d.hosts()[0])
		}
		b.eventually(d.name+" lets in who may, "+fault, func() error {
			r := b.send(line, d.from)
			switch {
			case d.spends, reached(&r), d.shut && r.status == http.StatusServiceUnavailable:
				return nil
			case (d.agent && b.agent == nil || d.firewall && b.firewall == nil) && r.status == http.StatusServiceUnavailable:
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
			before := b.weakened.Load()
			r := b.send(d.attempts()[int(b.tried.Add(1))%len(d.attempts())], "")
			if reached(&r) && before%2 == 0 && before == b.weakened.Load() {
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
	// agent faults need the policy agent, and routeOnly ones are about Routes.
	agent, routeOnly bool
}

func inNamespace(kind, name string) func(*closedDoor) string {
	return func(d *closedDoor) string { return kind + " " + d.namespace() + "/" + name }
}

// ofDoor is a route of the door.
func ofDoor(name string) func(*closedDoor) string {
	return func(d *closedDoor) string { return inNamespace(d.kind(), name)(d) }
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
				b.remove(firstSecret, ofDoor("exact"), ofDoor("wild"), inNamespace("RoutePolicy", "door"))
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
			name: "annotations that would open", routeOnly: true,
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
			name: "the firewall is dead", agent: true,
			do:  func(_ *testing.T, b *doorsBed) { b.killFirewall() },
			end: func(_ *testing.T, b *doorsBed) { b.startFirewall() },
		},
		{
			name: "the firewall hangs", agent: true,
			do:  func(_ *testing.T, b *doorsBed) { _ = b.firewall.cmd.Process.Signal(syscall.SIGSTOP) },
			end: func(_ *testing.T, b *doorsBed) { _ = b.firewall.cmd.Process.Signal(syscall.SIGCONT) },
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
				b.countAlone("127.0.75.1")
				b.startAgent()
				b.startFirewall()
			}
			settings := b.cluster.Settings()
			settings.WildcardsAllowed = true
			first := change{settings: &settings}
			first.put = b.objects(t)
			b.start()
			b.apply(first)
			b.plain, b.secure = b.http, b.https
			b.suffer(t, slices.Concat(objectFaults(), grantFaults(), trafficFaults(), lateFaults(), processFaults()))
		})
	}
}

// objects are what the doors are made of.
func (b *doorsBed) objects(t *testing.T) []metav1.Object {
	t.Helper()
	all := objectsChange(t, "kind: ClusterRoutePolicy\nmetadata: {name: guard}\nspec: {guard: {externalURLs: [198.18.250.99]}}").put
	for i := range b.doors {
		d := &b.doors[i]
		s := parseStep(t, map[string]string{"services": fmt.Sprintf("%[1]s/web http=8080 https=8443 web@198.18.250.97\n%[1]s/auth http=8080 auth@198.18.250.62", d.namespace())})
		all = append(append(all, s.put...), d.allSecrets()...)
		all = append(all, objectsChange(t, d.policy("door", d.spec)+"\n---\n"+d.routes("")).put...)
	}
	return all
}

// suffer has faults befall the doors, one after another.
func (b *doorsBed) suffer(t *testing.T, faults []fault) {
	t.Helper()
	b.open("at first")
	stop := background(b.probe)
	for _, f := range faults {
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
	if b.agent != nil && b.spent.Load() == 0 {
		t.Error("no limit over all replicas was spent before it was to refuse")
	}
	t.Logf("%d requests beside the changes, %d let through", b.tried.Load(), b.leaked.Load())
}
