package cases

import (
	"context"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/firewall"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/spop"
)

// evaluation decides requests without HAProxy.
type evaluation struct {
	pipeline *pipeline.Pipeline
	claims   map[string]*model.Claim
	// policies are what the agent is asked by, and agent is one in this process.
	policies *snapshot.Snapshot
	agent    *agent.Engine
	// counted are the requests that a limit has let through, by backend, limit and key.
	counted map[string]int
	// shared are the buckets of limits over all replicas.
	shared *sharedOracle
	logins []login
}

// verdict is what a request is answered by policies, and why.
type verdict struct {
	status int
	// group answers; empty for pods, and where no policy does.
	group, why string
}

var firewallRules = sync.OnceValues(firewall.Compile)

func newEvaluation(t *testing.T, k *core, sessions []snapshot.SessionKey, shared *sharedOracle) *evaluation {
	t.Helper()
	s := &snapshot.Snapshot{Version: snapshot.Version, Generation: 1, Sessions: sessions}
	e := &evaluation{pipeline: k.pipeline, claims: map[string]*model.Claim{}, counted: map[string]int{}, policies: s, shared: shared}
	for _, key := range k.cluster.All() {
		c, served := k.pipeline.Claim(key)
		if !served {
			continue
		}
		e.claims[c.Backend.Name()] = c
		if a := c.Backend.Policy().Agent; a != nil {
			p := readPolicy(t, a)
			s.Policies = append(append(s.Policies, identityPolicies(p)...), uncountedPolicy(p))
		}
	}
	e.agent = e.agentAt(t, time.Now)
	return e
}

// readPolicy is what the agent has of a policy.
func readPolicy(t *testing.T, a *model.Agent) (p snapshot.Policy) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Policy), &p); err != nil {
		t.Fatal(err)
	}
	p.ID = a.ID
	return p
}

// uncountedPolicy is a policy without what is counted over all replicas, which no agent of an
// evaluation does.
func uncountedPolicy(p snapshot.Policy) snapshot.Policy {
	p.Limits = nil
	return p
}

// identityPolicies are such policies that say what requests are counted by, one for each limit.
func identityPolicies(p snapshot.Policy) (all []snapshot.Policy) {
	for i := range p.Limits {
		one := uncountedPolicy(p)
		one.ID, one.Identities = fmt.Sprint(p.ID, "/", i), []snapshot.Identity{{Claim: p.Limits[i].Name}}
		all = append(all, one)
	}
	return all
}

// agentAt is an agent with another clock.
func (e *evaluation) agentAt(t *testing.T, now func() time.Time) *agent.Engine {
	t.Helper()
	a := agent.New(agent.Options{Metrics: agent.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler), Now: now})
	if refused := a.Swap(e.policies); len(refused) > 0 {
		t.Fatalf("the agent refuses %v", refused)
	}
	return a
}

// native returns what HAProxy answers by itself, and the policy that the agent is asked
// about otherwise, or nil.
func (e *evaluation) native(r *request, client *match.Client) (v verdict, asked *model.Agent) {
	d := decide(e.pipeline.Want(), r)
	c := e.claims[d.value]
	switch {
	case d.backend == nil:
		return verdict{d.page(), "", "the tables have " + d.value}, nil
	case c == nil || c.Closed:
		return verdict{http.StatusServiceUnavailable, "", "closed"}, nil
	}
	p := c.Backend.Policy()
	if r.stranger(p.Certificate) {
		return verdict{http.StatusForbidden, "authentication", "the certificate has no name that is let in"}, nil
	}
	if a, answered := match.Judge(p, client); answered {
		return verdict{a.Status, a.Group, a.Why}, nil
	}
	return verdict{http.StatusOK, "", "nothing is in the way"}, p.Agent
}

// answer returns what a request that was sent is answered, and counts it.
func (e *evaluation) answer(t *testing.T, r *request, sent *sentRequest) verdict {
	t.Helper()
	c := e.claims[decide(e.pipeline.Want(), r).value]
	if c == nil || c.Closed {
		v, _ := e.native(r, r.client())
		return v
	}
	p := *c.Backend.Policy()
	if r.stranger(p.Certificate) || r.unlisted(p.Certificate) {
		return verdict{http.StatusForbidden, "authentication", "the certificate has no name that is let in"}
	}
	client := r.client()
	client.HeaderBytes = r.headerBytes()
	judged := func(p model.Policy) (verdict, bool) {
		a, answered := match.Judge(&p, client)
		return verdict{a.Status, a.Group, a.Why}, answered
	}
	// Limits of rates come before those of sizes, the agent, the firewall and faults.
	first := p
	first.Sizes, first.Rewrite, first.Fault = model.Sizes{}, nil, nil
	if v, answered := judged(first); answered {
		return v
	}
	limit, counted := e.limit(c.Backend.Name(), p.Rates, r, "")
	if limit != nil {
		return verdict{limit.Status, "limits", "too many requests for limit " + limit.Name}
	}
	if p.Counted != nil {
		if v, refused := e.shared.take(t, readPolicy(t, p.Counted).Counted, r, sent, ""); refused {
			return v
		}
	}
	second := p
	second.Fault = nil
	if v, answered := judged(second); answered {
		return v
	}
	var admitted agent.Answer
	if p.Agent != nil {
		if admitted = e.agent.Decide(context.WithoutCancel(t.Context()), r.question(t, p.Agent.ID)); admitted.Status != http.StatusOK {
			return verdict{admitted.Status, "authentication", admitted.Reason}
		}
		if limits := readPolicy(t, p.Agent).Limits; len(limits) > 0 {
			who := ""
			for i := range limits {
				a := e.agent.Decide(context.WithoutCancel(t.Context()), r.question(t, fmt.Sprint(p.Agent.ID, "/", i)))
				who += a.Identities
			}
			if v, refused := e.shared.take(t, limits, r, sent, who); refused {
				return v
			}
		}
	}
	if limit, _ = e.limit(c.Backend.Name(), p.Identified, r, admitted.Identities); limit != nil {
		for _, key := range counted {
			e.counted[key]--
		}
		return verdict{limit.Status, "limits", "too many requests for limit " + limit.Name}
	}
	if v, refused := attacked(t, p.Firewall, r, &admitted); refused {
		return v
	}
	p.Agent, p.Firewall = nil, nil
	if v, answered := judged(p); answered {
		return v
	}
	return verdict{http.StatusOK, "", "nothing is in the way"}
}

// headerBytes is the length of all headers, with the line that ends them.
func (r *request) headerBytes() int {
	_, headers, _ := strings.Cut(r.text(), "\r\n")
	headers, _, _ = strings.Cut(headers, "\r\n\r\n")
	return len(headers) + len("\r\n\r\n")
}

// attacked judges a request by the core rule set, as the pod would get it.
func attacked(t *testing.T, f *model.Firewall, r *request, a *agent.Answer) (verdict, bool) {
	t.Helper()
	if !f.Blocks() {
		return verdict{}, false
	}
	rules, err := firewallRules()
	if err != nil {
		t.Fatal(err)
	}
	body := r.content()
	q := &firewall.Request{Method: r.method, Target: r.target, Version: "1.1", Client: "127.0.0.1", Body: []byte(body[:min(len(body), f.Body)]), Partial: len(body) > f.Body}
	if q.Partial && f.RefusesOver {
		return verdict{http.StatusRequestEntityTooLarge, "firewall", "the body is too large to be judged"}, true
	}
	for _, h := range append([]string{"Host: " + r.host, "Connection: close"}, r.header...) {
		name, value, _ := strings.Cut(h, ": ")
		if !slices.ContainsFunc(a.Del, func(n string) bool { return strings.EqualFold(n, name) }) {
			q.Headers = append(q.Headers, firewall.Header{Name: strings.ToLower(name), Value: value})
		}
	}
	for _, h := range a.Set {
		q.Headers = append(q.Headers, firewall.Header{Name: strings.ToLower(h.Name), Value: h.Value})
	}
	for _, by := range f.Rules {
		v, err := rules.Judge(q, by)
		if err != nil {
			t.Fatal(err)
		}
		if v.Attack && by.Block {
			return verdict{http.StatusForbidden, "firewall", "rules of the core rule set match"}, true
		}
	}
	return verdict{}, false
}

// stranger reports whether a client shows a certificate whose name is not let in.
func (r *request) stranger(c *model.ClientCertificate) bool {
	if c == nil || r.cert == "" {
		return false
	}
	name, common, err := nameIn(r.cert)
	return err != nil || !match.AdmitsSubject(c, name, common)
}

// unlisted reports whether a client shows a certificate without any of the alternative names that
// are let in, which are names of DNS here.
func (r *request) unlisted(c *model.ClientCertificate) bool {
	if c == nil || r.cert == "" || len(c.SANs) == 0 {
		return false
	}
	shown, err := pki().client(r.cert)
	return err != nil || !slices.ContainsFunc(c.SANs, func(s model.SAN) bool { return slices.Contains(shown.Leaf.DNSNames, s.Value) })
}

// nameIn returns the name in a certificate, and its last common name.
func nameIn(cert string) (name, common string, err error) {
	shown, err := pki().client(cert)
	if err != nil {
		return "", "", err
	}
	var parts pkix.RDNSequence
	if _, err := asn1.Unmarshal(shown.Leaf.RawSubject, &parts); err != nil {
		return "", "", err
	}
	return parts.String(), shown.Leaf.Subject.CommonName, nil
}

// subject is what explain is given of the client's certificate.
func (r *request) subject(t *testing.T) string {
	t.Helper()
	if !r.tls || r.cert == "" {
		return map[bool]string{true: "-"}[r.tls]
	}
	name, _, err := nameIn(r.cert)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// limit counts a request, or returns the limit that refuses it, for which nothing counts. Who
// has 16 digits for each limit by identity.
func (e *evaluation) limit(backend string, limits []model.RateLimit, r *request, who string) (refuses *model.RateLimit, keys []string) {
	client := r.client().Address
	path, plain := match.Normal(r.client().Path)
	for i, l := range limits {
		if l.DryRun || !l.Match.Has(r.method, path, plain) || slices.ContainsFunc(l.Exempt, func(n netip.Prefix) bool { return n.Contains(client) }) {
			continue
		}
		key := backend + " " + l.Name + " " + l.Key.String() + l.Match.String()
		if l.Key.Kind == model.KeyHeader {
			key += " " + r.kind()
		}
		if who != "" {
			key += " " + who[16*i:][:16]
		}
		for slices.Contains(keys, key) {
			key += " again" // of another policy, which counts for itself
		}
		if e.counted[key] >= l.Burst {
			return &limits[i], nil
		}
		keys = append(keys, key)
	}
	for _, key := range keys {
		e.counted[key]++
	}
	return nil, keys
}

// kind is the header X-Kind, by which limits count.
func (r *request) kind() string {
	for _, h := range r.header {
		if value, is := strings.CutPrefix(h, "X-Kind: "); is {
			return value
		}
	}
	return ""
}

// explained compares what explain says of a request; it asks no agent and counts nothing.
func (e *evaluation) explained(t *testing.T, w *explain.Snapshot, r *request) {
	t.Helper()
	scheme := "http"
	if r.tls {
		scheme = "https"
	}
	headers := slices.Clone(r.header)
	switch {
	case r.untold:
		headers = append(headers, "Transfer-Encoding: chunked")
	case r.body > 0:
		headers = append(headers, fmt.Sprint("Content-Length: ", r.body))
	}
	parsed, err := explain.ParseRequest(explain.RequestArgs{URL: scheme + "://" + r.host + r.target, Headers: headers, ClientIP: "127.0.0.1", Method: r.method, Subject: r.subject(t)})
	if err != nil {
		t.Fatal(err)
	}
	x := w.Explain(parsed)
	v, asked := e.native(r, r.client())
	told := slices.ContainsFunc(x.Notes, func(n string) bool { return strings.Contains(n, "the policy agent decides first") })
	if x.Served {
		x.Result.Status = http.StatusOK // of the pod, which explain does not know
	}
	if x.Result.Status != v.status || x.Result.Policy != v.group || told != (asked != nil) && v.status == http.StatusOK {
		t.Errorf("%s %s%.60s (TLS %v) %v: explain says %+v, notes %q; the evaluation says %+v", r.method, r.host, r.target, r.tls, headers, x.Result, x.Notes, v)
	}
}

// text is the record that HAProxy decides by.
func (e *evaluation) text(r *request) string { return decide(e.pipeline.Want(), r).target }

func (r *request) question(t *testing.T, policy string) *agent.Question {
	t.Helper()
	var list []byte
	for _, h := range append([]string{"Host: " + r.host}, r.header...) {
		name, value, _ := strings.Cut(h, ": ")
		var err error
		if list, err = spop.AppendHeader(list, strings.ToLower(name), value); err != nil {
			t.Fatal(err)
		}
	}
	headers, err := spop.ParseHeaders(spop.EndHeaders(list))
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Question{Policy: policy, Method: r.method, Target: r.target, Host: r.host, Client: netip.MustParseAddr("127.0.0.1"), TLS: r.tls, Headers: headers}
}
