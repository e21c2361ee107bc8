package cases

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/cases/portal"
)

var (
	securedHosts = []string{"", "a.s.test", "b.a.s.test", "*.s.test", "*.a.s.test", "third.test"}
	shownNames   = []string{"-", "a.s.test", "b.a.s.test", "x.s.test", "x.a.s.test", "c.b.a.s.test", "s.test", "third.test", "unknown.test"}
)

// securedGateway makes random listeners of one slot that end TLS. The common name of a
// certificate is the slot, the hostname and the turn in which it came. Of the listeners
// half have a rule for all requests.
func (u *universe) securedGateway(slot, turn int) *portal.Portal {
	p := &portal.Portal{ObjectMeta: metav1.ObjectMeta{Namespace: "u1", Name: fmt.Sprint("g", slot)}}
	object := model.Object{Kind: portal.Kind, Namespace: "u1", Name: p.Name}
	hosts := slices.DeleteFunc(slices.Clone(securedHosts), func(string) bool { return u.IntN(2) == 0 })
	for _, host := range hosts {
		kind := pick(u, []string{"ec", "rsa"})
		pair := pki().leaf(u.t, fmt.Sprintf("%s/%d %s %d", kind, slot, host, turn%2))
		c, err := certificate.Read(object, "", certificate.Texts{Chain: pair.certPEM, Key: pair.keyPEM}, 0)
		if err != nil {
			u.t.Fatal(err)
		}
		l := model.Listener{Scope: model.NewScope(object, host), Slot: slot, Port: 8443, Hostname: host, Owner: object, Gateway: object, Certificates: []model.ListenerCertificate{{Certificate: c, Algorithm: kind}}, ALPN: pick(u, []string{"", "http/1.1", "h2"})}
		p.Listeners = append(p.Listeners, l)
		if u.IntN(2) == 0 {
			p.Rules = append(p.Rules, portal.Rule{Name: fmt.Sprint(len(p.Rules)), Host: "*", Scope: l.Scope, Service: "s1"})
		}
	}
	return p
}

// listenerOf returns the hostname of the listener that a name belongs to, as the API has
// it, and false if there is none.
func listenerOf(p *portal.Portal, name string) (string, bool) {
	best, found := "", false
	for _, l := range p.Listeners {
		fits := l.Hostname == "" || l.Hostname == name || strings.HasPrefix(l.Hostname, "*.") && strings.HasSuffix(name, l.Hostname[1:])
		exact := l.Hostname == name
		if fits && (!found || exact || best != name && len(l.Hostname) > len(best)) {
			best, found = l.Hostname, true
		}
	}
	return best, found
}

// shownAt returns the hostname of the listener whose certificate a client must get, and
// false if the handshake must fail: a certificate for "*.example.com" is for one label.
func shownAt(p *portal.Portal, name string) (string, bool) {
	_, base, _ := strings.Cut(name, ".")
	for _, try := range []string{name, "*." + base, ""} {
		for _, l := range p.Listeners {
			if l.Hostname == try && (name != "-" || try == "") {
				return try, true
			}
		}
	}
	return "", false
}

// agreedAt returns the protocol that a client must get that offers HTTP/2 and HTTP/1.1, or nothing.
func agreedAt(p *portal.Portal, shown string, offers []string) string {
	if offers == nil {
		return ""
	}
	for _, l := range p.Listeners {
		if l.Hostname == shown && l.ALPN != "" {
			return l.ALPN
		}
	}
	return offers[0]
}

// TestSlotCertificates: random listeners of HTTPS come and go. At each port clients are
// shown certificates of its Gateway only, by their server name; requests for hosts of
// another listener than the one whose certificate was shown are misdirected.
func TestSlotCertificates(t *testing.T) {
	// Sessions are resumed otherwise on each of them.
	onEach(t, []string{"haproxy", "haproxy-3.2", "haproxy-3.0"}, func(t *testing.T, version string) {
		b := newBed(t, version, newMemory())
		b.slots, b.secureSlots, b.driftCheck = freeSlots(t), freeSlots(t), 200*time.Millisecond
		b.start()
		u := newUniverse(t)
		b.apply(change{settings: &door.Settings{RouterName: "cases"}})
		services := u.services()
		b.apply(services)
		gateways, seen := map[int]*portal.Portal{}, map[string]int{}
		for turn := range 12 {
			slot := b.secureSlots.First + turn%3
			gateways[slot] = u.securedGateway(slot, turn)
			reloads := b.reloads()
			b.apply(change{put: []metav1.Object{gateways[slot]}})
			if n := b.reloads() - reloads; n != 0 && b.caps.DynamicBackends {
				t.Errorf("turn %d: %d reloads", turn, n)
			}
			for range 25 {
				b.shakeHands(t, u, gateways, seen)
			}
		}
		t.Log(seen)
		for _, what := range []string{"refused", "404", "421", "answered"} {
			if seen[what] == 0 {
				t.Errorf("nothing was %s", what)
			}
		}
		b.slotDrift(t, gateways)
		b.restartFromFiles(t)
		for range 25 {
			b.shakeHands(t, u, gateways, seen)
		}
		if strings.Contains(b.log.String(), "PRIVATE KEY") {
			t.Error("the log has a private key")
		}
	})
}

// shakeHands sends a random request and compares what the client gets.
func (b *bed) shakeHands(t *testing.T, u *universe, gateways map[int]*portal.Portal, seen map[string]int) {
	t.Helper()
	slot := b.secureSlots.First + u.IntN(slotCount)
	name, host := pick(u, shownNames), pick(u, shownNames[1:])
	if name != "-" && u.IntN(2) == 0 {
		host = name
	}
	r := request{method: "GET", tls: true, host: strings.ToUpper(host), target: "/", sni: name, alpn: pick(u, [][]string{nil, {"h2", "http/1.1"}})}
	at := fmt.Sprintf("port %d, name %q, host %q", slot, name, host)
	res := r.do(0, slot)
	p := gateways[slot]
	if p == nil {
		p = &portal.Portal{}
	}
	shown, ok := shownAt(p, name)
	if !ok {
		if res.err == nil || res.cert != "" {
			t.Fatalf("%s: the handshake succeeds: %+v", at, res)
		}
		seen["refused"]++
		return
	}
	if res.err != nil || !strings.Contains(res.cert, fmt.Sprintf("/%d %s ", slot, shown)) {
		t.Fatalf("%s: shown %q, want that of %q: %v", at, res.cert, shown, res.err)
	}
	if agreed := agreedAt(p, shown, r.alpn); res.agreed != agreed {
		t.Fatalf("%s: agreed on %q, want %q", at, res.agreed, agreed)
	}
	listener, _ := listenerOf(p, name)
	if name == "-" {
		listener = ""
	}
	asked, known := listenerOf(p, host)
	want := 404
	switch {
	case known && asked != listener:
		want = 421
	case known && ruled(p, asked):
		want = 200
	}
	if res.pod == nil && want == 200 {
		want = 503 // the Service has no pods
	}
	if res.status != want {
		t.Fatalf("%s: status %d, want %d; shown %q, asked %q", at, res.status, want, listener, asked)
	}
	seen[fmt.Sprint(want)]++
	if res.pod == nil {
		if want == 503 {
			seen["answered"]++
		}
		return
	}
	seen["answered"]++
	if port, proto := res.pod.Header.Get("X-Forwarded-Port"), res.pod.Header.Get("X-Forwarded-Proto"); port != "8443" || proto != "https" {
		t.Errorf("%s: forwarded port %q and protocol %q", at, port, proto)
	}
}

// ruled reports whether the listener of a hostname has a rule.
func ruled(p *portal.Portal, hostname string) bool {
	scope := model.NewScope(model.Object{Kind: portal.Kind, Namespace: p.Namespace, Name: p.Name}, hostname)
	return slices.ContainsFunc(p.Rules, func(r portal.Rule) bool { return r.Scope == scope })
}

// slotDrift changes lists of certificates behind the router's back.
func (b *bed) slotDrift(t *testing.T, gateways map[int]*portal.Portal) {
	t.Helper()
	var socket runtime.SingleRuntime
	if err := socket.Init(b.layout.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		t.Fatal(err)
	}
	at, id := 0, ""
	for slot, p := range gateways {
		shown := certificate.NewShown(slot)
		for i := range p.Listeners {
			shown.Add(&p.Listeners[i])
		}
		for i := range p.Listeners {
			if lines := shown.Lines(&p.Listeners[i]); len(lines) > 0 {
				at, id = slot, lines[0].ID
			}
		}
	}
	if at == 0 {
		t.Fatal("no listener is left")
	}
	list, file := b.layout.SlotList(at), b.layout.CertFile(id)
	other := b.layout.SlotList(b.secureSlots.First + slotCount - 1)
	before := fmt.Sprint(b.readBack().SlotLines)
	for _, command := range []string{
		"del ssl crt-list " + list + " " + file,
		"add ssl crt-list " + other + " <<\n" + file + " stolen.test\n",
		"add ssl crt-list " + list + " <<\n" + file + " [alpn h2] more.test\n",
	} {
		count := b.count("fairlead_router_drift_corrections_total")
		if out, err := socket.ExecuteRaw(command); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		b.eventually(command+" is taken back", func() error {
			if now := fmt.Sprint(b.readBack().SlotLines); now != before || b.count("fairlead_router_drift_corrections_total") == count {
				return fmt.Errorf("before %s\nnow %s", before, now)
			}
			return nil
		})
	}
	b.calm()
}

// restartFromFiles kills HAProxy once its files have all that it has.
func (b *bed) restartFromFiles(t *testing.T) {
	t.Helper()
	b.eventually("the files have the lists", func() error {
		for line, terms := range b.readBack().SlotLines {
			if text, err := os.ReadFile(b.layout.SlotList(line.Slot)); err != nil || !strings.Contains(string(text), b.layout.CertFile(line.CertID)+" "+render.SlotTermsText(b.layout, terms)+"\n") {
				return fmt.Errorf("port %d: %s %w", line.Slot, text, err)
			}
		}
		return nil
	})
	old, err := workerPID(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{old, parentOf(t, old)} {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	b.eventually("another HAProxy", func() error {
		if pid, err := workerPID(b); err != nil || pid == old {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		return nil
	})
	b.waitReady()
}
