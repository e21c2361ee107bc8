package cases

import (
	"bufio"
	"crypto/tls"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/test/wait"
)

var (
	streamRounds = flag.Int("stream-rounds", 40, "how many times TestRandomStreams changes what there is")
	streamSeed   = flag.Uint64("stream-seed", 1, "what TestRandomStreams begins with")
)

// TestRandomStreams: random Gateways, ListenerSets and routes of all kinds but GRPCRoutes come, change and
// go. HAProxy and the policy agent lead connections, requests and datagrams where the plain oracle
// of streamoracle_test.go says, and so do the tables, and explain for what it is asked.
func TestRandomStreams(t *testing.T) {
	t.Parallel()
	b := newStreamBed(t)
	seen := map[string]int{}
	for range *streamRounds {
		b.next(t)
		for range 80 {
			b.send(t, seen)
		}
	}
	t.Log(seen)
	for _, some := range []string{"TCP", "UDP", "HTTPS 200", "HTTPS 404", "HTTPS 421", "HTTPS 500", "HTTPS 503", "passed on", "ended", "closed"} {
		if seen[some] == 0 && *streamSeed == 1 {
			t.Errorf("nothing was %q: the objects are not as random as they should be", some)
		}
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// streamBed is a router for a world, and the same without HAProxy.
type streamBed struct {
	*bed
	core  *core
	dice  worldDice
	world *world
	there map[model.Object]metav1.Object
	w     *explain.Snapshot
	round int
}

func newStreamBed(t *testing.T) *streamBed {
	t.Helper()
	b := &streamBed{bed: newBed(t, "haproxy", newMemory()), core: newCore(t), dice: worldDice{rand.New(rand.NewPCG(*streamSeed, 0))}}
	b.secureSlots, b.tlsSlots, b.tcpSlots = freeSlots(t), freeSlots(t), freeSlots(t)
	b.cluster.slots, b.cluster.udpSlots = map[int32]int32{}, map[int32]int32{}
	for n := range int32(2) {
		b.cluster.slots[mixedPort+n] = int32(b.tlsSlots.First) + n
		b.cluster.slots[httpsPort+n] = int32(b.secureSlots.First) + n
		b.cluster.slots[tcpPort+n] = int32(b.tcpSlots.First) + n
		b.cluster.slots[basePort+n] = int32(b.tcpSlots.First) + 2 + n
		b.cluster.udpSlots[udpPort+n], b.cluster.udpSlots[tcpPort+n] = int32(udpSlot(t)), int32(udpSlot(t))
	}
	b.core.cluster.slots, b.core.cluster.udpSlots = b.cluster.slots, b.cluster.udpSlots
	b.startAgent()
	b.start()
	b.both(t, func() change { return parseStep(t, map[string]string{"in.yaml": b.fixed(t)}) })
	b.world = b.dice.begin()
	return b
}

// both brings a change to HAProxy and to the deciding packages.
func (b *streamBed) both(t *testing.T, write func() change) {
	t.Helper()
	b.core.cluster.apply(write())
	changes := b.core.cluster.Take()
	if changes.All {
		b.core.pipeline.SetSettings(b.core.cluster.Settings())
	}
	_, touched := b.core.pipeline.Update(changes)
	b.core.pipeline.Accept(touched)
	b.apply(write())
}

// fixed are objects that stay: Services with their pods, which are the same in all namespaces, and
// Secrets.
func (b *streamBed) fixed(t *testing.T) string {
	t.Helper()
	var all []string
	for _, ns := range worldNamespaces {
		all = append(all, fmt.Sprintf("kind: Service\nmetadata: {namespace: %s, name: none}\nspec: {ports: [{name: tcp, port: 80}, {name: udp, port: 80, protocol: UDP}]}\n", ns))
		for _, owner := range []string{"gw", "l0", "l1", "l2", "l3"} {
			for n := range 6 {
				name := fmt.Sprintf("%s-l%d", owner, n)
				all = append(all, tlsSecret(t, ns, name, ns+"-"+name))
			}
		}
	}
	const address = "198.18.250.235"
	for _, pod := range worldPods {
		tcp, udp := anyPod(t, pod, address), datagramPod(t, pod, address)
		for _, ns := range worldNamespaces {
			all = append(all, fmt.Sprintf(`kind: Service
metadata: {namespace: %[1]s, name: %[2]s}
spec: {ports: [{name: tcp, port: 80}, {name: udp, port: 80, protocol: UDP}]}
---
kind: EndpointSlice
metadata: {namespace: %[1]s, name: %[2]s, labels: {kubernetes.io/service-name: %[2]s}}
addressType: IPv4
ports: [{name: tcp, port: %[3]d, protocol: TCP}, {name: udp, port: %[4]d, protocol: UDP}]
endpoints: [{addresses: [%[5]s], targetRef: {kind: Pod, name: %[2]s}}]
`, ns, pod, tcp, udp, address))
		}
	}
	return strings.Join(all, "---\n")
}

// next changes the world.
func (b *streamBed) next(t *testing.T) {
	t.Helper()
	if b.round++; b.round > 1 {
		b.dice.change(b.world)
	}
	now := keys(b.dice.objects(b.world))
	b.both(t, func() change {
		var c change
		for key := range b.there {
			if now[key] == nil {
				c.del = append(c.del, key)
			}
		}
		c.put = b.dice.objects(b.world)
		return c
	})
	if err := b.core.equalsFull(t); err != nil {
		t.Fatal(err)
	}
	b.there = now
	b.eventually("the agent knows the newest routes", func() error { return wait.True(b.gauge("fairlead_router_agent_behind") == 0) })
	b.w = b.explainer(t)
	for _, r := range b.world.routes {
		if err := b.reached(r); err != nil {
			t.Fatalf("round %d, seed %d: why %s %s/%s: %v", b.round, *streamSeed, r.kind, r.ns, r.name, err)
		}
	}
}

// send sends one probe, and compares what comes of it.
func (b *streamBed) send(t *testing.T, seen map[string]int) {
	t.Helper()
	n := b.dice.IntN(2)
	p, g := b.dice.sounding(b.world, n), b.world.gateways[n]
	if p.port >= mixedPort && p.port < httpsPort && slices.ContainsFunc(b.world.listeners(g), func(j *joined) bool { return j.port == p.port && j.served && j.protocol == worldTCP }) {
		return // the operator would give it a slot of another block
	}
	want := b.world.answers(g, p)
	got, err := b.ask(p, want)
	if !slices.Contains(want, got) {
		b.t.Logf("world:\n%s", b.world.text(g, p.port))
		t.Fatalf("round %d, seed %d: %+v to Gateway %s: got %+v (%v), want one of %+v", b.round, *streamSeed, *p, g.ns, got, err, want)
	}
	if err := b.decided(g, p, want); err != nil {
		b.t.Logf("world:\n%s", b.world.text(g, p.port))
		t.Fatalf("round %d, seed %d: %+v to Gateway %s: the tables: %v, want %+v", b.round, *streamSeed, *p, g.ns, err, want)
	}
	if err := b.explained(g, p, want); err != nil {
		b.t.Logf("world:\n%s", b.world.text(g, p.port))
		t.Fatalf("round %d, seed %d: %+v to Gateway %s: explain: %v, want %+v", b.round, *streamSeed, *p, g.ns, err, want)
	}
	switch {
	case p.udp && got.pod != "":
		seen["UDP"]++
	case got.pod != "" && !p.secure:
		seen["TCP"]++
	case got.pod != "" && got.cert == got.pod:
		seen["passed on"]++
	case got == outcome{}:
		seen["closed"]++
	case b.toRequests(g, p):
		statuses := map[int]bool{} // chance decides between targets of one rule
		for _, o := range want {
			statuses[o.status] = true
		}
		for status := range statuses {
			seen[fmt.Sprint("HTTPS ", status)]++
		}
	case got.pod != "":
		seen["ended"]++
	}
}

// toRequests reports whether the router reads requests of a probe.
func (b *streamBed) toRequests(g *worldGateway, p *sounding) bool {
	j := ownerOf(b.world.listeners(g), p.port, strings.ToLower(p.sni))
	return p.secure && j != nil && j.protocol == worldHTTPS
}

// ask sends a probe.
func (b *streamBed) ask(p *sounding, want []outcome) (got outcome, err error) {
	if p.udp {
		return b.askUDP(p, want)
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(b.cluster.slots[p.port]))), clientTimeout)
	if err != nil {
		return got, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(clientTimeout))
	if p.secure {
		secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, ServerName: p.sni}) // which certificate is shown is what is asked
		if err := secure.Handshake(); err != nil {
			return got, err
		}
		got.cert = secure.ConnectionState().PeerCertificates[0].Subject.CommonName
		conn = secure
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", p.path, p.host); err != nil {
		return got, err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return got, err
	}
	defer res.Body.Close()
	got.status, got.pod = res.StatusCode, res.Header.Get("X-Any-Pod")
	return got, nil
}

// askUDP sends datagrams until one is answered as it is to be: what relays them takes new routes
// after the agent has said that it has them.
func (b *streamBed) askUDP(p *sounding, want []outcome) (got outcome, err error) {
	for end := time.Now().Add(clientTimeout); ; {
		got, err = b.askOnce(int(b.cluster.udpSlots[p.port]))
		if slices.Contains(want, got) || time.Now().After(end) {
			return got, err
		}
	}
}

func (b *streamBed) askOnce(slot int) (outcome, error) {
	c := datagramClient(b.t, slot)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := c.Write([]byte("hello")); err != nil {
		return outcome{}, err
	}
	buffer := make([]byte, 100)
	n, err := c.Read(buffer)
	if name, _, is := strings.Cut(string(buffer[:n]), " "); is {
		return outcome{status: 200, pod: name}, nil
	}
	return outcome{}, err
}

// decided compares with the tables: the pods that a probe may get to.
func (b *streamBed) decided(g *worldGateway, p *sounding, want []outcome) error {
	if p.udp {
		return nil
	}
	r := request{method: "GET", tls: p.secure, host: p.sni, target: "/", sni: p.sni}
	if b.toRequests(g, p) {
		if want[0].status == http.StatusMisdirectedRequest {
			return nil // which the tables leave to HAProxy
		}
		r.host, r.target = p.host, p.path
	}
	if p.secure && p.sni == "" && !b.toRequests(g, p) {
		return nil // closed before
	}
	want = slices.DeleteFunc(slices.Clone(want), func(o outcome) bool { return o.pod == "" })
	if p.secure && len(want) == 0 {
		return nil // no certificate may be the reason
	}
	d := decideAt(b.core.pipeline.Want(), int(b.cluster.slots[p.port]), &r)
	if d.backend == nil {
		if len(want) > 0 {
			return fmt.Errorf("no backend: %q", d.value)
		}
		return nil
	}
	var pods []string
	for _, s := range d.backend.Servers {
		if s.Weight > 0 {
			pods = append(pods, podOf(s.Name))
		}
	}
	for _, o := range want {
		if !slices.Contains(pods, o.pod) {
			return fmt.Errorf("pods %v of %s", pods, d.value)
		}
	}
	if len(want) == 0 && len(pods) > 0 {
		return fmt.Errorf("pods %v of %s", pods, d.value)
	}
	return nil
}

// explained compares what explain says of a request.
func (b *streamBed) explained(g *worldGateway, p *sounding, want []outcome) error {
	if !p.secure {
		return nil
	}
	sni := p.sni
	if sni == "" {
		sni = "-"
	}
	host, _, _ := strings.Cut(p.host, ":")
	r, err := explain.ParseRequest(explain.RequestArgs{URL: fmt.Sprintf("https://%s:%d%s", host, p.port, p.path), SNI: sni, SNISet: true})
	if err != nil {
		return err
	}
	e, err := b.w.ExplainAt(r, g.ns, g.name)
	switch requests := b.toRequests(g, p); {
	case err != nil && !requests && strings.Contains(err.Error(), "handed on whole"):
		return nil
	case err != nil:
		return err
	case !requests && e.Result.Status == 0 && !e.Served:
		return nil
	case want[0] == outcome{}:
		if e.Served || e.Result.Status != 0 {
			return fmt.Errorf("%+v", e.Result)
		}
		return nil
	}
	for _, o := range want {
		switch {
		case o.pod != "" && e.Served, o.pod == "" && e.Result.Status == o.status:
			return nil
		case o.status == http.StatusServiceUnavailable && strings.HasPrefix(e.Result.Text, "503"):
			return nil
		}
	}
	return fmt.Errorf("served %v, %+v", e.Served, e.Result)
}

// reached compares what why says of the connections and datagrams that a route gets.
func (b *streamBed) reached(r *worldRoute) error {
	if r.kind == "HTTPRoute" {
		return nil
	}
	want, got := map[string]bool{}, map[string]bool{}
	pods, _ := r.targets()
	for _, g := range b.world.gateways {
		all := b.world.listeners(g)
		for _, j := range all {
			if !j.served || !r.attached(j) {
				continue
			}
			for _, h := range r.names() {
				url, name, comes := b.world.reach(all, j, h)
				if comes {
					want[url] = want[url] || len(pods) > 0 && b.world.route(j, name, "/") == r
				}
			}
		}
	}
	y, err := b.w.Why(r.kind, r.ns, r.name)
	if err != nil {
		return err
	}
	for _, reach := range y.Reach {
		got[reach.URL] = got[reach.URL] || reach.Served
	}
	if !maps.Equal(want, got) {
		return fmt.Errorf("%v, want %v", y.Reach, want)
	}
	return nil
}
