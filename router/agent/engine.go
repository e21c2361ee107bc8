package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent/authorize"
	"github.com/fairlead/fairlead/router/agent/session"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/share/peers"
)

// Options of an Engine.
type Options struct {
	Metrics    *Metrics
	Registerer prometheus.Registerer
	Log        *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// Special reports whether no server of a tenant's has an address; default is Special.
	Special func(netip.Addr) bool
	// Slots is how many questions may wait for other servers.
	Slots int
	// Renewals is a folder in memory that the workers of a pod share; empty for none.
	Renewals string
	// Ended is the same for sessions that have ended, and Documents for what issuers said.
	Ended, Documents string
	// HashWorkers is how many passwords are verified at a time; default is half of the
	// processors.
	HashWorkers int
	// Member counts together with other replicas; nil refuses what they would count.
	// Worker is this worker's place among those of its pod.
	Member *peers.Member
	Worker int
}

// Bounds of what an Engine keeps.
const (
	defaultSlots   = 1024
	mostAnswers    = 100_000
	mostBytes      = 32 << 20
	mostTransports = 256
	mostRenewals   = 10_000
)

// Engine decides by the snapshot that it has.
type Engine struct {
	now      func() time.Time
	log      *slog.Logger
	metrics  *Metrics
	secret   []byte
	world    atomic.Pointer[world]
	cache    *cache[Answer]
	tokens   *cache[verified]
	slots    *slots
	mirrors  *slots
	hashes   *hashPool
	failures *failures
	keys     *keySets
	// providers are those that logins name, and renewals what they said about sessions.
	providers collection[provider]
	renewals  *cache[renewal]
	shared    sharedRenewals
	calls     *slots
	ended     *endedSessions
	documents documents
	servers   *authServers
	dialer    *dialer
	member    *peers.Member
	worker    int
	replicas  *snapshot.Replicas
	shown     *peers.Certificates

	swapping   sync.Mutex
	transports map[transportKey]*http.Transport
}

// world is a snapshot that requests are decided by. It does not change.
type world struct {
	generation uint64
	policies   map[string]*policy
	// reading are those that need documents of issuers, or ask auth servers.
	reading  []*policy
	sessions session.Keys
}

// New returns an Engine without a snapshot, which refuses everything.
func New(o Options) *Engine {
	if o.Special == nil {
		o.Special = Special
	}
	if o.Slots <= 0 {
		o.Slots = defaultSlots
	}
	if o.HashWorkers <= 0 {
		o.HashWorkers = max(runtime.GOMAXPROCS(0)/2, 1)
	}
	e := &Engine{
		now: o.Now, log: o.Log, metrics: o.Metrics, secret: make([]byte, 32),
		cache:  newCache(mostAnswers, mostBytes, Answer.bytes, o.Now, o.Metrics.cache),
		tokens: newCache(mostAnswers, mostBytes, verified.bytes, o.Now, o.Metrics.cache),
		slots:  newSlots(o.Slots), mirrors: newSlots(mirrorSlots), hashes: newHashPool(o.HashWorkers, o.Now, o.Metrics), failures: newFailures(o.Now),
		shared: sharedRenewals{o.Renewals}, calls: newSlots(mostCalled), ended: newEndedSessions(o.Ended), documents: documents(o.Documents), servers: newAuthServers(),
		providers: newCollection[provider](), renewals: newCache(mostRenewals, mostBytes/2, renewal.bytes, o.Now, o.Metrics.cache),
		keys: newKeySets(o.Now), dialer: &dialer{special: o.Special}, transports: map[transportKey]*http.Transport{},
		member: o.Member, worker: o.Worker,
	}
	_, _ = rand.Read(e.secret) // it never fails
	e.world.Store(&world{})
	if e.member != nil {
		e.member.Share(endsOf{e})
		e.member.Answer(e.answerRenewal)
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(e.keys)
	}
	return e
}

// Generation returns the generation of the snapshot that is used.
func (e *Engine) Generation() uint64 { return e.world.Load().generation }

// MayReach returns why no connection may be made to an address, and no datagram sent, or nil.
func (e *Engine) MayReach(a netip.Addr) error { return e.dialer.check(a) }

// Swap takes a snapshot into use. Policies that cannot be used refuse everything; the
// result names them. Requests in flight end with the snapshot that they began with.
func (e *Engine) Swap(s *snapshot.Snapshot) map[string]error {
	e.swapping.Lock()
	defer e.swapping.Unlock()
	e.dialer.byName.Store(!s.ByEndpoints)
	networks := slices.Clone(s.Forbidden)
	if before := e.dialer.networks.Swap(&networks); before != nil && !slices.Equal(*before, networks) {
		// Connections that are open were checked by other networks.
		for _, t := range e.transports {
			t.CloseIdleConnections()
		}
	}
	e.join(s.Replicas)
	old := e.world.Load()
	w := &world{generation: s.Generation, policies: make(map[string]*policy, len(s.Policies))}
	var keysErr error
	w.sessions, keysErr = sessionKeys(s.Sessions)
	closed := map[string]error{}
	used, providers := map[*keySet]bool{}, map[*kept[provider]]bool{}
	for i := range s.Policies {
		p := e.compile(&s.Policies[i], old)
		if p.err != nil {
			closed[p.id] = p.err
		}
		if p.login != nil && keysErr != nil {
			closed[p.id] = keysErr
		}
		p.uses(used, providers)
		if p.asks || len(p.reads()) > 0 {
			w.reading = append(w.reading, p)
		}
		w.policies[p.id] = p
	}
	e.world.Store(w)
	e.servers.keep(w.policies, e.now())
	e.documents.keep(append(e.keys.keep(used), e.providers.keep(providers)...), time.Now())
	e.metrics.generation.Set(float64(w.generation))
	e.metrics.policies.WithLabelValues("usable").Set(float64(len(w.policies) - len(closed)))
	e.metrics.policies.WithLabelValues("closed").Set(float64(len(closed)))
	return closed
}

// policy is a policy in use.
type policy struct {
	id, hash, namespace string
	satisfy             snapshot.Satisfy
	listed              []netip.Prefix
	methods             []method
	tokens              *tokens
	login               *login
	rules               []authorize.Rule
	// mirrors are targets of copies.
	mirrors []*mirror
	// identities are what limits of HAProxy count by.
	identities []snapshot.Identity
	// counted are limits over all replicas, and limits those of the requests that are let on.
	counted, limits []snapshot.Counted
	// asks is set if an auth server is asked.
	asks bool
	// byPath is set if a rule asks for the path.
	byPath bool
	// mapped are the plain names of the headers that the policy writes for the pod, sorted.
	mapped []string
	// kept is set if HAProxy may let a client on by an earlier verdict.
	kept bool
	err  error
}

// method is a way to authenticate.
type method interface {
	decide(ctx context.Context, e *Engine, p *policy, q *Question, id *identity) Answer
	// mapped are the headers that it may set for the pod.
	mapped() []string
}

// compile prepares a policy. One that is as before is taken over, with its connections.
func (e *Engine) compile(s *snapshot.Policy, old *world) *policy {
	hash := s.Hash()
	if p := old.policies[s.ID]; p != nil && p.hash == hash && p.err == nil {
		return p
	}
	p := &policy{id: s.ID, hash: hash, namespace: s.Namespace, satisfy: s.Satisfy, listed: s.Listed, rules: s.Authorization, identities: s.Identities, limits: s.Limits}
	p.err = e.fill(p, s)
	return p
}

func (e *Engine) fill(p *policy, s *snapshot.Policy) error {
	if len(s.Mirrors) > 0 {
		return e.addMirrors(p, s)
	}
	if len(s.Counted) > 0 {
		p.counted = s.Counted
		return checkCounted(s.Counted)
	}
	if err := checkCounted(s.Limits); err != nil {
		return err
	}
	if s.Satisfy != "" && s.Satisfy != snapshot.All && s.Satisfy != snapshot.Any {
		return fmt.Errorf("unknown satisfy %q; use one of: All, Any", s.Satisfy)
	}
	if len(s.Listed) > 0 && s.Satisfy != snapshot.Any {
		return errors.New("listed addresses are for satisfy Any")
	}
	p.byPath = slices.ContainsFunc(s.Authorization, func(r authorize.Rule) bool { return len(r.Paths) > 0 })
	if len(s.Authorization) > authorize.MaxRules {
		return fmt.Errorf("more than %d rules of authorization", authorize.MaxRules)
	}
	if len(s.Identities) > snapshot.MaxIdentities {
		return fmt.Errorf("more than %d identities", snapshot.MaxIdentities)
	}
	if err := e.addMethods(p, s); err != nil {
		return err
	}
	if len(p.methods)+len(p.rules) == 0 {
		return errors.New("the policy has neither a method nor rules")
	}
	for _, m := range p.methods {
		for _, n := range m.mapped() {
			p.mapped = append(p.mapped, plainName([]byte(n)))
		}
	}
	slices.Sort(p.mapped)
	p.kept = s.Credentials() != ""
	return nil
}

// addMethods prepares the ways to authenticate, those first that cost least.
func (e *Engine) addMethods(p *policy, s *snapshot.Policy) error {
	if s.APIKeys != nil {
		m, err := newAPIKeys(s.APIKeys)
		if err != nil {
			return err
		}
		p.methods = append(p.methods, m)
	}
	if s.JWT != nil {
		m, err := e.newTokens(s.JWT)
		if err != nil {
			return err
		}
		p.tokens = m
		p.methods = append(p.methods, m)
	}
	if s.Basic != nil {
		m, err := newBasic(s.Basic)
		if err != nil {
			return err
		}
		p.methods = append(p.methods, m)
	}
	if s.External != nil {
		m, err := e.newExternal(s.External)
		if err != nil {
			return err
		}
		p.methods, p.asks = append(p.methods, m), true
	}
	if s.OIDC != nil {
		m, err := e.newLogin(s)
		if err != nil {
			return err
		}
		p.login = m
		p.methods = append(p.methods, m)
	}
	return nil
}

// Decide answers a question.
func (e *Engine) Decide(ctx context.Context, q *Question) Answer {
	began := e.now()
	e.metrics.inflight.Inc()
	defer e.metrics.inflight.Dec()
	a := e.decide(ctx, q)
	e.metrics.decided(&a, e.now().Sub(began))
	return a
}

func (e *Engine) decide(ctx context.Context, q *Question) Answer {
	p := e.world.Load().policies[q.Policy]
	switch {
	case p == nil:
		return refuse(unavailable, groupNone, "unknown policy")
	case p.err != nil || len(p.mirrors) > 0 || len(p.counted) > 0:
		return refuse(unavailable, groupNone, "policy closed")
	}
	id := &identity{}
	a := p.authenticate(ctx, e, q, id)
	switch {
	case a.Status == noVerdict:
		return refuse(unavailable, groupNone, "internal error")
	case !a.Allowed():
		return a
	}
	if refused, ok := p.authorize(q, id, a.Consumer); !ok {
		return refused
	}
	if refused, ok := p.within(ctx, e, q, id, &a); !ok {
		return refused
	}
	// What the client sent must not look like what the policy sets.
	a.Del = append(slices.Clone(a.Del), spellings(q.Headers, p.mapped)...)
	if p.login != nil {
		stripCookies(q, &a)
	}
	if !p.kept {
		a.TTL = 0
	}
	a.Identities = identities(p.identities, a.Consumer, id.claims)
	return a
}

// authenticate asks the methods: with All each of them must admit, with Any one.
func (p *policy) authenticate(ctx context.Context, e *Engine, q *Question, id *identity) Answer {
	if len(p.methods) == 0 {
		return Answer{Status: allowed, group: groupAuthorization, from: fromAgent}
	}
	if slices.ContainsFunc(p.listed, func(n netip.Prefix) bool { return n.Contains(q.Client.Unmap()) }) {
		return Answer{Status: allowed, group: groupNone, from: fromAgent}
	}
	var sum Answer
	for i, m := range p.methods {
		a := m.decide(ctx, e, p, q, id)
		a.Ended = a.Ended || sum.Ended // whatever else is said of the request
		switch {
		case p.satisfy == snapshot.Any && a.Allowed():
			return a
		case p.satisfy != snapshot.Any && !a.Allowed():
			return a
		case i == 0:
			sum = a
		case p.satisfy == snapshot.Any:
			ended := a.Ended
			sum = worse(sum, a)
			sum.Ended = ended
		default:
			sum = both(sum, a)
		}
	}
	return sum
}
