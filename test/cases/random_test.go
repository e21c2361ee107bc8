package cases

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/settings"
	"github.com/fairlead/fairlead/router/share/peers"
	"github.com/fairlead/fairlead/test/openid"
	"github.com/fairlead/fairlead/test/wait"
)

var (
	randomRequests = flag.Int("random-requests", 3000, "how many requests TestRandomPolicies sends")
	randomSeed     = flag.Uint64("random-seed", 1, "what TestRandomPolicies begins with; another one makes other policies")
)

// TestRandomPolicies sends random requests to routes with random policies of five ranks,
// which change while HAProxy runs. HAProxy, the policy agent and the firewall together answer as
// the pure evaluation says: package match for what HAProxy decides by itself, the agent's engine
// and the core rule set, in this process, for what it asks, and a count of what limits over all
// replicas have left. The access log names the group that answers as the evaluation does, and so
// does explain, for what it can know. -random-requests 100000 is its long form.
func TestRandomPolicies(t *testing.T) {
	t.Parallel()
	b := newRandomBed(t)
	seen := map[string]int{}
	const each = 150
	for sent := 0; sent < *randomRequests; sent += each {
		b.next(t, sent >= 5*each)
		for range each {
			r := b.g.request()
			b.g.show(r, b.e.logins)
			b.send(t, r, sent, seen)
		}
	}
	t.Logf("answers: %v; requests that shared limits refused: %d, that were not counted in time: %d", seen, b.shared.exhausted, b.shared.late)
	if b.shared.late > *randomRequests/50 {
		t.Errorf("%d requests were not counted in time", b.shared.late)
	}
	for _, some := range randomSome {
		if seen[some] == 0 && *randomSeed == 1 {
			t.Errorf("no request is %q: the policies are not as random as they should be", some)
		}
	}
	if b.shared.exhausted == 0 && *randomSeed == 1 {
		t.Error("no limit over all replicas was exhausted")
	}
	if n := b.count("fairlead_router_policy_live_duration_seconds"); n < randomRoutes {
		t.Errorf("%d changes of policies were measured", n)
	}
	if n := b.reloads(); n != 0 {
		t.Errorf("%d reloads", n)
	}
}

// randomSome are answers that there must be: statuses, groups, and what is about sessions and
// bodies.
var randomSome = []string{
	"200", "204", "302", "303", "401", "403", "413", "429", "502", "503",
	"access", "authentication", "cors", "fault", "firewall", "limits", "maintenance", "redirects", "-",
	"of another namespace, granted", "of another namespace, not granted",
	"login", "valid session, in", "expired session, out", "forged session, out", "session of another host, out", "body", "answer of the wanted length",
}

// randomBed is a router with all that policies may ask for, and the same without HAProxy.
type randomBed struct {
	*bed
	op     *openid.Provider
	log    *logServer
	core   *core
	set    door.Settings
	g      *policyDice
	e      *evaluation
	w      *explain.Snapshot
	shared *sharedOracle
	// began is when limits over all replicas had an owner.
	began time.Time
}

// newRandomBed starts it.
func newRandomBed(t *testing.T) *randomBed {
	t.Helper()
	b := &randomBed{bed: newBed(t, "haproxy", newMemory()), log: syslog(t), op: openid.New(t, "198.18.250.72"), core: newCore(t), shared: &sharedOracle{buckets: map[string]*sharedBucket{}}}
	b.adjust = func(s *settings.Settings) {
		s.Render.HTTP.Bandwidth, s.Ingest.Bandwidth = true, true
		s.Render.Log = render.Log{Target: fmt.Sprint("127.0.0.1:", b.log.port), Format: "at=%cp by=%[var(txn.answered_by)]."}
	}
	certificate, err := peers.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	self := netip.MustParseAddr("127.0.74.1")
	b.agent = &agentBed{dir: b.layout.Run, silence: patience} // nothing is killed here
	b.agent.replicas.Store(&snapshot.Replicas{Self: self, Members: []netip.Addr{self}, Port: 9443, Certificates: [][]byte{certificate}})
	// Keys of sessions that were there when those began that have expired.
	b.agent.sessions.Store(&[]snapshot.SessionKey{sessionKey(1, 4*expiredBy)})
	b.set = b.core.cluster.Settings()
	b.set.Agent, b.set.Firewall, b.set.Bandwidth = true, true, true
	b.core.pipeline.SetSettings(b.set)
	b.startFirewall()
	b.startAgent()
	b.start()
	c := parseStep(t, map[string]string{"in.yaml": sharedRoutes(), "services": "rt/web http=8080 web@198.18.250.96"})
	b.core.applyWith(c, b.set)
	b.apply(c)
	acting(t, []*bed{b.bed})
	b.began = time.Now()
	b.g = &policyDice{Rand: rand.New(rand.NewPCG(*randomSeed, 0)), signer: newIssuerKey(t, "a"), stranger: newIssuerKey(t, "a"), op: b.op}
	return b
}

// next changes all policies. With full, owners of limits have earned their bursts.
func (b *randomBed) next(t *testing.T, full bool) {
	t.Helper()
	if full && !b.g.shared {
		<-time.After(time.Until(b.began.Add(sharedPer + time.Second)))
		b.g.shared = true
	}
	c := b.g.change(t)
	b.core.applyWith(c, b.set)
	b.apply(c)
	b.eventually("the agent decides by the newest policies", func() error { return wait.True(b.gauge("fairlead_router_agent_behind") == 0) })
	b.e = newEvaluation(t, b.core, b.agent.sessionKeys(), b.shared)
	b.e.logIn(t, b.op)
	b.w = explainer(t, b.core.cluster, `{"firewall":"Enabled","bandwidthLimits":"Enabled"}`)
}

// send sends one request, and compares its answer.
func (b *randomBed) send(t *testing.T, r *request, sent int, seen map[string]int) {
	t.Helper()
	x := &sentRequest{began: time.Now()}
	x.got = r.do(b.http, b.https)
	x.ended = time.Now()
	got := &x.got
	if got.err == nil {
		x.line = b.log.about(got.port)
	}
	want := b.e.answer(t, r, x)
	if (want.status == http.StatusBadRequest || want.status >= http.StatusForbidden) && r.cert == "" && got.err != nil && noCertificate(r, got.err) {
		got.err, got.status = nil, want.status // TLS refuses what each of the host's routes would refuse
		x.line.group = cmp.Or(want.group, "-")
	}
	fail := func(what string) {
		t.Helper()
		t.Log(b.sameAs(b.core))
		t.Fatalf("%s after %d requests, seed %d: status %d by %s, error %v, pod %v; want %+v\n%s %s%.60s (TLS %v, session %s) %v body %d\n%s",
			what, sent, *randomSeed, got.status, x.line.group, got.err, got.pod, want, r.method, r.host, r.target, r.tls, r.session, r.header, r.body, b.e.text(r))
	}
	switch {
	case got.err != nil || got.status != want.status || got.pod != nil && want.status != http.StatusOK:
		fail("another answer")
	case x.line.group != cmp.Or(want.group, "-"):
		fail("the log has another group")
	case got.pod != nil && r.session != "" && r.session != sessionValid && b.e.onlyLogin(t, r):
		fail("a session lets in that should not")
	case got.pod != nil && r.method == http.MethodPost && got.pod.Body != r.content():
		fail(fmt.Sprintf("%d bytes of the body arrive", len(got.pod.Body)))
	case got.pod != nil && len(got.pod.Fill) != r.fill():
		fail(fmt.Sprintf("%d bytes of the answer arrive", len(got.pod.Fill)))
	}
	b.g.checkGrant(t, r, got, seen)
	b.note(t, r, x, seen)
	b.e.explained(t, b.w, r)
}

// noCertificate reports whether the handshake failed for want of a certificate. A client that was
// still sending its request may see no more of that than the connection's end.
func noCertificate(r *request, err error) bool {
	return strings.HasSuffix(err.Error(), "tls: certificate required") || r.tls && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET))
}

// note counts what there was.
func (b *randomBed) note(t *testing.T, r *request, x *sentRequest, seen map[string]int) {
	t.Helper()
	got := &x.got
	seen[strconv.Itoa(got.status)]++
	seen[x.line.group]++
	switch in := got.pod != nil; {
	case r.session == "" || !b.e.onlyLogin(t, r):
	case r.session == sessionForeign && !in:
		seen["session of another host, out"]++
	default:
		seen[r.session+" session, "+map[bool]string{true: "in", false: "out"}[in]]++
	}
	if strings.HasPrefix(got.header.Get("Location"), b.op.Issuer) {
		seen["login"]++
		if err := loginShape(b.op, r, got); err != nil {
			t.Error(err)
		}
	}
	if got.pod != nil && r.body >= 2000 {
		seen["body"]++
	}
	if got.pod != nil && r.fill() > 0 {
		seen["answer of the wanted length"]++
	}
}

// logged is a line of the access log.
type logged struct{ group string }

// about waits for the line about the request of a client's port.
func (s *logServer) about(port int) logged {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case l := <-s.lines:
			if _, rest, found := strings.Cut(l, fmt.Sprintf("at=%d by=", port)); found {
				group, _, _ := strings.Cut(rest, ".")
				return logged{group}
			}
		case <-deadline:
			s.t.Fatalf("no line about the request of port %d", port)
		}
	}
}

// applyWith is apply for a router with an agent, which the settings of a case do not
// have.
func (c *core) applyWith(ch change, s door.Settings) {
	own := change{del: ch.del}
	for _, o := range ch.put {
		own.put = append(own.put, clone(o))
	}
	c.cluster.apply(own)
	changes := c.cluster.Take()
	if changes.All {
		c.pipeline.SetSettings(s)
	}
	_, touched := c.pipeline.Update(changes)
	c.pipeline.Accept(touched)
}
