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
	"github.com/fairlead/fairlead/router/agent/jwt"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/spop"
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
	// HashWorkers is how many passwords are verified at a time; default is half of the
	// processors.
	HashWorkers int
}

// Bounds of what an Engine keeps.
const (
	defaultSlots   = 1024
	mostAnswers    = 100_000
	mostBytes      = 32 << 20
	mostTransports = 256
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
	hashes   *hashPool
	failures *failures
	keys     *keySets
	dialer   *dialer

	swapping   sync.Mutex
	transports map[string]*http.Transport
}

// world is a snapshot that requests are decided by. It does not change.
type world struct {
	generation uint64
	policies   map[string]*policy
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
		slots:  newSlots(o.Slots), hashes: newHashPool(o.HashWorkers, o.Now, o.Metrics), failures: newFailures(o.Now),
		keys: newKeySets(o.Now), dialer: &dialer{special: o.Special}, transports: map[string]*http.Transport{},
	}
	_, _ = rand.Read(e.secret) // it never fails
	e.world.Store(&world{})
	if o.Registerer != nil {
		o.Registerer.MustRegister(e.keys)
	}
	return e
}

// Generation returns the generation of the snapshot that is used.
func (e *Engine) Generation() uint64 { return e.world.Load().generation }

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
	old := e.world.Load()
	w := &world{generation: s.Generation, policies: make(map[string]*policy, len(s.Policies))}
	closed := map[string]error{}
	used := map[*keySet]bool{}
	for i := range s.Policies {
		p := e.compile(&s.Policies[i], old)
		if p.err != nil {
			closed[p.id] = p.err
		}
		if p.tokens != nil {
			for _, i := range p.tokens.issuers {
				used[i.fetched] = true
			}
		}
		w.policies[p.id] = p
	}
	e.world.Store(w)
	e.keys.keep(used)
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
	rules               []authorize.Rule
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

// identity is what a method found out about the client, for rules.
type identity struct {
	consumer string
	claims   jwt.Claims
}

// compile prepares a policy. One that is as before is taken over, with its connections.
func (e *Engine) compile(s *snapshot.Policy, old *world) *policy {
	hash := s.Hash()
	if p := old.policies[s.ID]; p != nil && p.hash == hash && p.err == nil {
		return p
	}
	p := &policy{id: s.ID, hash: hash, namespace: s.Namespace, satisfy: s.Satisfy, listed: s.Listed, rules: s.Authorization}
	p.err = e.fill(p, s)
	return p
}

func (e *Engine) fill(p *policy, s *snapshot.Policy) error {
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
		p.methods = append(p.methods, m)
	}
	return nil
}

// transport returns connections for a CA. Policies with the same CA share them.
func (e *Engine) transport(ca string) (*http.Transport, error) {
	if t := e.transports[ca]; t != nil {
		return t, nil
	}
	if len(e.transports) >= mostTransports {
		// Those of CAs that no policy has any more end with their idle connections.
		clear(e.transports)
	}
	t, err := e.dialer.transport(ca)
	if err == nil {
		e.transports[ca] = t
	}
	return t, err
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
	case p.err != nil:
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
	// What the client sent must not look like what the policy sets.
	a.Del = append(slices.Clone(a.Del), spellings(q.Headers, p.mapped)...)
	if !p.kept {
		a.TTL = 0
	}
	if len(a.Consumer) > longestConsumer || !spop.ValidValue(a.Consumer) {
		a.Consumer = ""
	}
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
		switch {
		case p.satisfy == snapshot.Any && a.Allowed():
			return a
		case p.satisfy != snapshot.Any && !a.Allowed():
			return a
		case i == 0:
			sum = a
		case p.satisfy == snapshot.Any:
			sum = worse(sum, a)
		default:
			sum = both(sum, a)
		}
	}
	return sum
}

// both joins two answers that admit.
func both(a, b Answer) Answer {
	a.Set = append(slices.Clone(a.Set), b.Set...)
	a.Del = append(slices.Clone(a.Del), b.Del...)
	a.Client = append(slices.Clone(a.Client), b.Client...)
	a.Success = append(slices.Clone(a.Success), b.Success...)
	a.TTL = min(a.TTL, b.TTL)
	if a.Consumer == "" {
		a.Consumer = b.Consumer
	}
	if b.from == fromAgent {
		a.from = fromAgent
	}
	a.group = b.group
	return a
}

// worse joins two refusals: a method that could not decide makes it 503, and a client
// that may still show credentials gets all challenges.
func worse(a, b Answer) Answer {
	switch {
	case a.Status == unavailable:
		return a
	case b.Status == unavailable:
		return b
	case a.Status == unauthorized && b.Status == unauthorized:
		a.Client = append(slices.Clone(a.Client), b.Client...)
		return a
	case b.Status == unauthorized:
		return b
	}
	return a
}

// bytes is what an answer takes in the cache.
func (a Answer) bytes() int {
	n := len(a.Body) + len(a.Consumer) + len(a.Reason)
	for _, list := range [][]Header{a.Set, a.Client, a.Success} {
		for _, h := range list {
			n += len(h.Name) + len(h.Value) + 32
		}
	}
	return n + 200
}

func (v verified) bytes() int { return 4*v.size + 400 }

// Handle answers HAProxy.
func (e *Engine) Handle(ctx context.Context, r *spop.Request, out *spop.Reply) {
	q, ok := readQuestion(r)
	a := refuse(unavailable, groupNone, "unreadable question")
	if ok {
		a = e.Decide(ctx, &q)
	}
	a.write(out)
}

// Busy answers HAProxy when a connection has too many questions.
func (e *Engine) Busy(_ *spop.Request, out *spop.Reply) {
	e.metrics.shed.Inc()
	a := refuse(unavailable, groupNone, "too much work")
	a.write(out)
}
