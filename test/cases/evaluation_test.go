package cases

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/router/agent"
	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/spop"
)

// evaluation decides requests without HAProxy.
type evaluation struct {
	pipeline *pipeline.Pipeline
	claims   map[string]*model.Claim
	agent    *agent.Engine
	// counted are the requests that a limit has let through, by backend, limit and key.
	counted map[string]int
}

func newEvaluation(t *testing.T, k *core) *evaluation {
	t.Helper()
	registry := prometheus.NewRegistry()
	e := &evaluation{
		pipeline: k.pipeline, claims: map[string]*model.Claim{}, counted: map[string]int{},
		agent: agent.New(agent.Options{Metrics: agent.NewMetrics(registry), Log: slog.New(slog.DiscardHandler), Now: time.Now}),
	}
	s := &snapshot.Snapshot{Version: snapshot.Version, Generation: 1}
	for _, key := range k.cluster.All() {
		c, served := k.pipeline.Claim(key)
		if !served {
			continue
		}
		e.claims[c.Backend.Name()] = c
		if a := c.Backend.Policy().Agent; a != nil {
			var p snapshot.Policy
			if err := json.Unmarshal([]byte(a.Policy), &p); err != nil {
				t.Fatal(err)
			}
			p.ID = a.ID
			s.Policies = append(s.Policies, p)
		}
	}
	if refused := e.agent.Swap(s); len(refused) > 0 {
		t.Fatalf("the agent refuses %v", refused)
	}
	return e
}

// native returns what HAProxy answers by itself, and the policy that the agent is asked
// about otherwise, or nil.
func (e *evaluation) native(r *request, client *match.Client) (status int, why string, asked *model.Agent) {
	d := decide(e.pipeline.Want(), r)
	c := e.claims[d.value]
	switch {
	case d.backend == nil:
		return d.page(), "the tables have " + d.value, nil
	case c == nil || c.Closed:
		return http.StatusServiceUnavailable, "closed", nil
	}
	p := c.Backend.Policy()
	if a, answered := match.Judge(p, client); answered {
		return a.Status, a.Why, nil
	}
	return http.StatusOK, "nothing is in the way", p.Agent
}

// status returns what a request is answered, and why. It counts the request.
func (e *evaluation) status(t *testing.T, r *request) (status int, why string) {
	t.Helper()
	c := e.claims[decide(e.pipeline.Want(), r).value]
	if c == nil || c.Closed {
		status, why, _ = e.native(r, r.client())
		return status, why
	}
	if r.stranger(c.Backend.Policy().Certificate) {
		return http.StatusForbidden, "the certificate has no name that is let in"
	}
	// Limits of rates come before those of sizes, the agent and faults.
	p := *c.Backend.Policy()
	first := p
	first.Sizes, first.Rewrite, first.Fault = model.Sizes{}, nil, nil
	if a, answered := match.Judge(&first, r.client()); answered {
		return a.Status, a.Why
	}
	if limit := e.limit(c.Backend.Name(), p.Rates, r); limit != nil {
		return limit.Status, "too many requests for limit " + limit.Name
	}
	status, why, asked := e.native(r, r.client())
	if asked == nil {
		return status, why
	}
	if a := e.agent.Decide(context.WithoutCancel(t.Context()), r.question(t, asked.ID)); a.Status != http.StatusOK {
		return a.Status, a.Reason
	}
	p.Agent = nil
	if a, answered := match.Judge(&p, r.client()); answered {
		return a.Status, a.Why
	}
	return http.StatusOK, "the agent lets it on"
}

// stranger reports whether a client shows a certificate whose common name is not let in.
func (r *request) stranger(c *model.ClientCertificate) bool {
	name, _, _ := strings.Cut(r.cert, "@")
	return c != nil && len(c.Subjects) > 0 && r.cert != "" && !slices.ContainsFunc(c.Subjects, func(s model.Subject) bool { return s.Value == name })
}

// limit counts a request, or returns the limit that refuses it, for which nothing counts.
func (e *evaluation) limit(backend string, limits []model.RateLimit, r *request) *model.RateLimit {
	var keys []string
	client := r.client().Address
	for i, l := range limits {
		if l.DryRun || slices.ContainsFunc(l.Exempt, func(n netip.Prefix) bool { return n.Contains(client) }) {
			continue
		}
		key := backend + " " + l.Name + " " + l.Key.String()
		if l.Key.Kind == model.KeyHeader {
			for _, h := range r.header {
				if value, is := strings.CutPrefix(h, "X-Kind: "); is {
					key += " " + value
				}
			}
		}
		for slices.Contains(keys, key) {
			key += " again" // of another policy, which counts for itself
		}
		if e.counted[key] >= l.Burst {
			return &limits[i]
		}
		keys = append(keys, key)
	}
	for _, key := range keys {
		e.counted[key]++
	}
	return nil
}

// explained compares what explain says of a GET request, which asks no agent.
func (e *evaluation) explained(t *testing.T, w *explain.Snapshot, r *request) {
	t.Helper()
	scheme := "http"
	if r.tls {
		scheme = "https"
	}
	parsed, err := explain.ParseRequest(explain.RequestArgs{URL: scheme + "://" + r.host + r.target, Headers: r.header, ClientIP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	x := w.Explain(parsed)
	client := r.client()
	if r.tls {
		client.Shows = match.ShowsUnknown // explain is not given the certificate
	}
	status, why, asked := e.native(r, client)
	told := slices.ContainsFunc(x.Notes, func(n string) bool { return strings.Contains(n, "the policy agent decides first") })
	if x.Served {
		x.Result.Status = http.StatusOK // of the pod, which explain does not know
	}
	if x.Result.Status != status || told != (asked != nil) && status == http.StatusOK {
		t.Errorf("%s%.60s (TLS %v) %v: explain says %+v, notes %q; the evaluation says %d: %s", r.host, r.target, r.tls, r.header, x.Result, x.Notes, status, why)
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
