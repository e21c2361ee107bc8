package cases

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/cases/portal"
)

// slotCount is how many ports for Gateways the beds of these tests have.
const slotCount = 4

// freeSlots returns ports that nothing of these tests has had.
func freeSlots(t testing.TB) render.Slots {
	t.Helper()
	for {
		first := freePort(t)
		if known := func(port int) bool { _, is := gateway.BlockOf(int32(port)); return is }; known(first) || known(first+slotCount-1) {
			continue // a port of one block is for one protocol
		}
		if last := int(lastPort.Add(slotCount - 1)); last == first+slotCount-1 {
			return render.Slots{First: first, Count: slotCount}
		}
	}
}

// scopedHosts are hosts of listeners and rules, and hosts that are asked for.
var (
	scopedHosts = []string{"*", "a.s.test", "b.a.s.test", "*.s.test", "*.a.s.test", "*.test"}
	askedHosts  = []string{"a.s.test", "A.S.TEST.", "b.a.s.test", "c.b.a.s.test", "x.s.test", "s.test", "test", "other", "1.2.3.4.5.6.7.8.9.s.test", "a.s.test:8080"}
)

// gateway makes random listeners of one slot, and rules in their scopes.
func (u *universe) gateway(name string, slot int) *portal.Portal {
	p := &portal.Portal{ObjectMeta: metav1.ObjectMeta{Namespace: "u1", Name: name}}
	object := model.Object{Kind: portal.Kind, Namespace: "u1", Name: name}
	for _, host := range scopedHosts {
		if u.IntN(2) == 0 {
			continue
		}
		l := model.Listener{Scope: model.NewScope(object, host), Slot: slot, Owner: object, Gateway: object, Port: 8000 + u.IntN(2), Hostname: strings.TrimPrefix(host, "*")}
		if strings.HasPrefix(l.Hostname, ".") {
			l.Hostname = host
		}
		p.Listeners = append(p.Listeners, l)
		for range u.IntN(8) {
			r := u.rule(0)
			r.Name, r.Host, r.Scope, r.Path = fmt.Sprint(len(p.Rules)), pick(u, scopedHosts), l.Scope, strings.TrimSuffix(r.Path, "/")
			if u.IntN(6) == 0 {
				r.Answer = 500
			}
			if u.IntN(8) == 0 { // of others than the test, so that all answers show where paths lead
				r.Deny = []netip.Prefix{netip.MustParsePrefix(pick(u, []string{"198.18.0.0/32", "198.18.0.1/32"}))}
			}
			if u.IntN(8) == 0 {
				r.Prefix = "/other"
			}
			p.Rules = append(p.Rules, r)
		}
	}
	return p
}

// TestScopes: random listeners of Gateways and rules in their scopes come and go, beside Routes for
// the same hosts: HAProxy decides random requests as the tables do, on its own ports and on
// those of the Gateways.
func TestScopes(t *testing.T) {
	t.Parallel()
	b := newBed(t, "haproxy", newMemory())
	b.slots = freeSlots(t)
	b.start()
	u, k := newUniverse(t), newCore(t)
	apply := func(c change) {
		b.apply(c)
		k.apply(c)
	}
	apply(change{settings: &door.Settings{RouterName: "cases"}})
	apply(u.services())
	decided := map[string]int{}
	for range 30 {
		slot := b.slots.First + u.IntN(slotCount)
		r := u.route()
		r.Namespace, r.Spec.Host, r.Spec.TLS, r.Spec.WildcardPolicy, r.Spec.To.Name = "u1", "a.s.test", nil, "", "s1"
		delete(r.Annotations, "fairlead.dev/any-host")
		apply(change{put: []metav1.Object{u.gateway(fmt.Sprint("g", slot-b.slots.First), slot), r}})
		if err := k.equalsFull(t); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			slot := pick(u, []int{0, slot, slot, b.slots.First + u.IntN(slotCount)})
			method, rest, _ := strings.Cut(u.conditionedRequest(), " http://")
			_, rest, _ = strings.Cut(rest, " target=")
			host := pick(u, askedHosts)
			if keys := scopedKeys(k); len(keys) > 0 && u.IntN(6) == 0 {
				host = pick(u, keys) // a client that knows how keys are made
			}
			if path, query, has := strings.Cut(rest, " "); u.IntN(3) == 0 {
				rest = u.respelled(path)
				if has {
					rest += " " + query
				}
			}
			line := method + " http://" + host + "/ target=" + rest
			e, err := parseLine(line + " -> x")
			if err != nil {
				t.Fatal(err)
			}
			d, port := decideAt(k.pipeline.Want(), slot, &e.request), slot
			if slot == 0 {
				port = b.http
			}
			res := e.request.do(port, b.https)
			if d.outside(slot, res) {
				t.Errorf("%s: a claim of a Gateway answers at the router's own port: %s", line, d.value)
			}
			if err := d.atSlot(slot, k, res); err != nil {
				for e, v := range k.pipeline.Want().Entries {
					t.Log(e, v)
				}
				t.Fatalf("%s at %d: %v; %+v", line, slot, err, res)
			}
			decided[strings.SplitN(d.value+":", ":", 2)[0]]++
		}
	}
	t.Log(decided)
	for _, word := range []string{"be_http", "!none", "!500", "!400"} {
		if decided[word] == 0 {
			t.Errorf("no request had the answer %s", word)
		}
	}
	if b.reloads() != 0 {
		t.Errorf("%d reloads", b.reloads())
	}
}

// respelled writes a path in another way: as pods may read it the same, or in different ways.
func (u *universe) respelled(path string) string {
	at := strings.LastIndexByte(path, '/') + 1
	if at >= len(path) || strings.Contains(path, "?") {
		return "/" + path
	}
	return path[:at] + pick(u, []string{fmt.Sprintf("%%%02x", path[at]), "../", "x;v=1/", ";v=1", "%2e/", "./"}) + path[at+1:]
}

// scopedKeys are the hosts of keys in scopes, as they stand in the map.
func scopedKeys(k *core) (hosts []string) {
	for key := range k.pipeline.Want().Tables().HTTP {
		host, _, _ := strings.Cut(key, "/")
		if host, _, _ = strings.Cut(host, "%2F"); model.Scoped(host) && !strings.Contains(host, "*") {
			hosts = append(hosts, host)
		}
	}
	return slices.Sorted(slices.Values(hosts))
}

// outside reports whether a request to the router's own ports was answered by a claim of a scope.
func (d decision) outside(slot int, r response) bool {
	return slot == 0 && (strings.Contains(d.value, "portal_") || r.pod != nil && d.backend == nil)
}

// atSlot compares an answer at a slot, where unknown paths answer 404, and a slot of no
// listener nothing.
func (d decision) atSlot(slot int, k *core, res response) error {
	if slot == 0 {
		return d.exactly(res)
	}
	if _, used := k.pipeline.Want().Tables().Listeners[fmt.Sprint(slot)]; !used {
		if res.err == nil {
			return fmt.Errorf("answer %d at a port without a listener", res.status)
		}
		return nil
	}
	want, is := map[string]int{"!none": 404, "!500": 500, "!414": 414, "!431": 431, "!400": 400}[d.value]
	if !is {
		return d.exactly(res)
	}
	if res.err != nil || res.status != want {
		return fmt.Errorf("status %d, want %d", res.status, want)
	}
	return nil
}
