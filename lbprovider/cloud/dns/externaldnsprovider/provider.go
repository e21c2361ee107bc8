// Package externaldnsprovider publishes names by a provider webhook of external-dns,
// without external-dns: the many DNS services that have one can be used as they
// are. The provider is mostly a container beside the operator.
//
// The protocol has no conditions, so what another client writes between our look
// and our change can be overwritten. The owner records separate clients that
// follow them.
package externaldnsprovider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
)

// mediaType is version 1 of the protocol (external-dns, webhook provider).
const mediaType = "application/external.dns.webhook+json;version=1"

// maxBody is the largest answer: a provider returns all of its records.
const maxBody = 64 << 20

// Options say where the provider is.
type Options struct {
	// URL is https://host:port, or http://host:port on the loopback.
	URL string
	// Timeout is that of one call; the default is 30 seconds.
	Timeout time.Duration
	// Registry is how the records say who owns a name.
	Registry dns.Registry
}

// Provider is a hook.DNSHook.
type Provider struct {
	base     string
	http     *http.Client
	registry dns.Registry
	// mu makes look and change of one record one step, as far as we go.
	mu sync.Mutex
}

var _ hook.DNSHook = (*Provider)(nil)

// New returns a Provider. Nothing is asked yet.
func New(o Options) (*Provider, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no URL of the form http://host:port", o.URL)
	}
	if u.Scheme == "http" && !webhook.Loopback(u.Hostname()) {
		return nil, fmt.Errorf("%q is plain http to another machine, where any machine on the way could answer: use https, or a loopback address such as 127.0.0.1", o.URL)
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	return &Provider{base: strings.TrimSuffix(o.URL, "/"), http: &http.Client{Timeout: o.Timeout, CheckRedirect: webhook.NoRedirect}, registry: o.Registry}, nil
}

// ResolveZone finds the longest domain of the provider that a name lies in. A
// provider that names none serves all.
func (p *Provider) ResolveZone(ctx context.Context, s hook.ZoneSelector) (hook.Zone, error) {
	if len(s.Tags) > 0 {
		return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "domains of a provider of external-dns have no tags; give the domain's name")
	}
	var filter struct {
		Include []string `json:"include"`
		Filters []string `json:"filters"` // as the protocol's description has it
	}
	if err := p.call(ctx, http.MethodGet, "/", nil, &filter); err != nil {
		return hook.Zone{}, err
	}
	name := s.Suffix
	if s.ID != "" {
		name = s.ID
	}
	domains := slices.Concat(filter.Include, filter.Filters)
	if len(domains) == 0 {
		return hook.Zone{ID: ".", Name: ".", Private: s.Private}, nil
	}
	longest := ""
	for _, d := range domains {
		if d = dns.Name(strings.TrimPrefix(d, ".")); dns.Within(dns.Name(name), d) && len(d) > len(longest) {
			longest = d
		}
	}
	if longest == "" {
		return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "the provider serves %s, and not %s", shortened(strings.Join(domains, ", ")), name)
	}
	return hook.Zone{ID: longest, Name: longest, Private: s.Private}, nil
}

// EnsureRecord makes the name answer as the Record says.
func (p *Provider) EnsureRecord(ctx context.Context, r *hook.Record, _ hook.Zone) (*hook.RecordResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// What the provider makes of a record is what it shows later.
	var adjusted []endpoint
	if err := p.call(ctx, http.MethodPost, "/adjustendpoints", endpointsOf(dns.Sets(r), nil), &adjusted); err != nil {
		return nil, err
	}
	wanted := setsOf(adjusted)
	if len(wanted) == 0 {
		return nil, hook.Errorf(hook.ClassInvalidConfig, "the provider does not take records of type %s", r.Type)
	}
	for _, w := range wanted {
		switch {
		case w.Name != dns.Name(r.Name):
			return nil, hook.Errorf(hook.ClassUnavailable, "the provider makes a record of %s of one of %s; nothing is written", shortened(w.Name), r.Name)
		case !slices.Contains(types(), w.Type):
			return nil, hook.Errorf(hook.ClassUnavailable, "the provider makes a record of type %q of one of type %s; nothing is written", shortened(string(w.Type)), r.Type)
		}
	}
	have, err := p.read(ctx, r, wanted)
	if err != nil {
		return nil, err
	}
	change, err := p.registry.Ensure(have, wanted, r)
	if err != nil || change.Empty() {
		return &hook.RecordResult{}, err
	}
	return &hook.RecordResult{Changed: true}, p.write(ctx, have, change, adjusted)
}

// types are those of records that a Record can become. The names of ownership records
// are made of them.
func types() []hook.RecordType {
	return []hook.RecordType{hook.RecordA, hook.RecordAAAA, hook.RecordCNAME}
}

// DeleteRecord removes the name, if it is ours.
func (p *Provider) DeleteRecord(ctx context.Context, r *hook.Record, _ hook.Zone) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	have, err := p.read(ctx, r, nil)
	if err != nil {
		return err
	}
	change := p.registry.Remove(have, dns.Sets(r), r)
	if change.Empty() {
		return nil
	}
	return p.write(ctx, have, change, nil)
}

// read returns the sets of the Record's names that the provider has. One
// without a TTL has that of what is wanted: not every provider returns it.
func (p *Provider) read(ctx context.Context, r *hook.Record, wanted []dns.RRSet) ([]dns.RRSet, error) {
	var all []endpoint
	if err := p.call(ctx, http.MethodGet, "/records", nil, &all); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, n := range p.registry.Names(r) {
		names[n] = true
	}
	targets := slices.Clone(wanted)
	for _, w := range wanted {
		targets = append(targets, p.registry.Owner(w, r))
	}
	var have []dns.RRSet
	for _, s := range setsOf(all) {
		if !names[s.Name] {
			continue
		}
		for _, w := range targets {
			if s.TTL == 0 && w.Name == s.Name && w.Type == s.Type {
				s.TTL = w.TTL
			}
		}
		have = append(have, s)
	}
	return have, nil
}

// write sends a change.
func (p *Provider) write(ctx context.Context, have []dns.RRSet, c dns.Change, adjusted []endpoint) error {
	out := changes{
		Create: endpointsOf(c.Create, adjusted), UpdateNew: endpointsOf(c.Update, adjusted), Delete: endpointsOf(c.Delete, nil),
	}
	for _, u := range c.Update {
		for _, h := range have {
			if h.Name == u.Name && h.Type == u.Type {
				out.UpdateOld = append(out.UpdateOld, endpointsOf([]dns.RRSet{h}, nil)...)
			}
		}
	}
	return p.call(ctx, http.MethodPost, "/records", out, nil)
}

// call makes a call. Its error is a *hook.Error.
func (p *Provider) call(ctx context.Context, method, path string, in, out any) error {
	fail := func(class hook.Class, format string, args ...any) error {
		e := hook.Errorf(class, format, args...)
		e.Action = method + " " + path
		return e
	}
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fail(hook.ClassInternal, "write the request: %v", err)
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.base+path, body)
	if err != nil {
		return fail(hook.ClassInternal, "make the request: %v", err)
	}
	req.Header.Set("Accept", mediaType)
	if in != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	response, err := p.http.Do(req)
	if err != nil {
		return fail(hook.ClassUnavailable, "the provider does not answer: %v", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	switch {
	case err != nil || len(text) > maxBody:
		return fail(hook.ClassUnavailable, "read the answer: more than %d bytes, or %v", maxBody, err)
	case response.StatusCode >= http.StatusInternalServerError:
		return fail(hook.ClassUnavailable, "the provider failed: %s: %s", response.Status, shortened(string(text)))
	case response.StatusCode >= http.StatusMultipleChoices:
		return fail(hook.ClassInvalidConfig, "the provider refused: %s: %s", response.Status, shortened(string(text)))
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fail(hook.ClassUnavailable, "the answer is not what the protocol says: %v", err)
	}
	return nil
}

// shortened returns the beginning of what a provider says.
func shortened(text string) string {
	const most = 200
	return strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), most)]), "")
}
