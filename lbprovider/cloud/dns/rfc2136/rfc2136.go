// Package rfc2136 publishes names on a DNS server by dynamic update (RFC 2136),
// signed with a shared key (TSIG, RFC 8945). BIND, Knot, PowerDNS, Windows DNS
// and many others understand it.
//
// An update carries what must still hold of the records that it replaces
// (RFC 2136, section 2.4), so that it never overwrites what another client wrote
// in the meantime.
package rfc2136

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Options say where updates go and how they are signed.
type Options struct {
	// Server is the primary server of the zones, as host or host:port. The
	// port is 53 if there is none.
	Server string
	// Key returns the key that signs updates and questions. It is called for
	// each, so that a new key is used at once; nil for none.
	Key func() (*Key, error)
	// Timeout is that of one question or update; the default is 10 seconds.
	Timeout time.Duration
	// Registry is how zones note who owns a name.
	Registry dns.Registry
}

// Provider is a hook.DNSHook.
type Provider struct {
	server   string
	key      func() (*Key, error)
	client   mdns.Client
	registry dns.Registry
}

var _ hook.DNSHook = (*Provider)(nil)

// New returns a Provider. Nothing is sent yet.
func New(o Options) (*Provider, error) {
	if o.Server == "" {
		return nil, errors.New("no DNS server is given")
	}
	server := o.Server
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(strings.Trim(server, "[]"), "53")
	}
	p := &Provider{server: server, key: o.Key, registry: o.Registry}
	p.client.Net = "tcp"
	p.client.Timeout = o.Timeout
	if p.client.Timeout == 0 {
		p.client.Timeout = 10 * time.Second
	}
	return p, nil
}

// ResolveZone finds the zone whose name is the selector's ID, or the one that
// its Suffix lies in. DNS has no tags.
func (p *Provider) ResolveZone(ctx context.Context, s hook.ZoneSelector) (hook.Zone, error) {
	switch {
	case s.ID != "":
		name := dns.Name(s.ID)
		top, err := p.apex(ctx, name)
		if mayNotAsk(err) {
			return hook.Zone{ID: name, Name: name, Private: s.Private}, p.probe(ctx, name, err)
		}
		if err == nil && top != name {
			err = hook.Errorf(hook.ClassInvalidConfig, "server %s has no zone %s (it answers from zone %s)", p.server, name, top)
		}
		return hook.Zone{ID: name, Name: name, Private: s.Private}, err
	case len(s.Tags) > 0:
		return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "zones of a DNS server have no tags; give the zone's name as its id")
	case s.Suffix == "":
		return hook.Zone{}, hook.Errorf(hook.ClassInvalidConfig, "no zone is named")
	}
	top, err := p.apex(ctx, dns.Name(s.Suffix))
	return hook.Zone{ID: top, Name: top, Private: s.Private}, err
}

// apex returns the name of the zone that a name lies in: the server's SOA
// record stands in the answer, or beside the news that there is none
// (RFC 2308, section 2).
func (p *Provider) apex(ctx context.Context, name string) (string, error) {
	answer, err := p.ask(ctx, name, mdns.TypeSOA)
	if err != nil {
		return "", err
	}
	if answer.Authoritative {
		for _, rr := range append(answer.Answer, answer.Ns...) {
			if soa, ok := rr.(*mdns.SOA); ok && dns.Within(name, dns.Name(soa.Hdr.Name)) {
				return dns.Name(soa.Hdr.Name), nil
			}
		}
	}
	return "", hook.Errorf(hook.ClassInvalidConfig, "server %s has no zone for %s", p.server, name)
}

// EnsureRecord makes the name answer as the Record says.
func (p *Provider) EnsureRecord(ctx context.Context, r *hook.Record, zone hook.Zone) (*hook.RecordResult, error) {
	if err := p.registry.Fits(r, zone); err != nil {
		return nil, err
	}
	have, err := p.read(ctx, r)
	if mayNotAsk(err) {
		return p.ensureUnread(ctx, r, zone)
	}
	if err != nil {
		return nil, err
	}
	change, err := p.registry.Ensure(have, dns.Sets(r), r)
	if err != nil || change.Empty() {
		return &hook.RecordResult{}, err
	}
	if err := p.write(ctx, zone, have, change); err != nil {
		return nil, err
	}
	return &hook.RecordResult{Changed: true}, nil
}

// DeleteRecord removes the name, if it is ours.
func (p *Provider) DeleteRecord(ctx context.Context, r *hook.Record, zone hook.Zone) error {
	if err := p.registry.Fits(r, zone); err != nil {
		return err
	}
	have, err := p.read(ctx, r)
	if mayNotAsk(err) {
		return p.deleteUnread(ctx, r, zone)
	}
	if err != nil {
		return err
	}
	change := p.registry.Remove(have, dns.Sets(r), r)
	if change.Empty() {
		return nil
	}
	return p.write(ctx, zone, have, change)
}

// read returns the sets of the Record's names that the server has.
func (p *Provider) read(ctx context.Context, r *hook.Record) ([]dns.RRSet, error) {
	var have []dns.RRSet
	for i, name := range p.registry.Names(r) {
		types := []uint16{mdns.TypeTXT}
		if i == 0 {
			types = []uint16{mdns.TypeCNAME, mdns.TypeA, mdns.TypeAAAA}
		}
		for _, t := range types {
			answer, err := p.ask(ctx, name, t)
			if err != nil {
				return nil, err
			}
			if set, ok := setOf(name, t, answer.Answer); ok {
				have = append(have, set)
			}
		}
	}
	return have, nil
}

// ask asks the server itself; it must not ask others on our behalf.
func (p *Provider) ask(ctx context.Context, name string, t uint16) (*mdns.Msg, error) {
	m := new(mdns.Msg).SetQuestion(name, t)
	m.RecursionDesired = false
	answer, err := p.exchange(ctx, m)
	if err != nil {
		return nil, fmt.Errorf("ask for %s %s: %w", name, mdns.TypeToString[t], err)
	}
	switch answer.Rcode {
	case mdns.RcodeSuccess, mdns.RcodeNameError:
		return answer, nil
	case mdns.RcodeRefused:
		return nil, &hook.Error{
			Class: hook.ClassInvalidConfig, Action: "Query", Code: mdns.RcodeToString[answer.Rcode],
			Message: fmt.Sprintf("server %s has no zone for %s, or does not answer the operator's questions", p.server, name),
		}
	}
	return nil, p.refusal("Query", answer.Rcode)
}

// fudge is by how many seconds the clocks may differ (RFC 8945, section 10).
const fudge = 300

func (p *Provider) exchange(ctx context.Context, m *mdns.Msg) (*mdns.Msg, error) {
	c := p.client
	if p.key != nil {
		key, err := p.key()
		if err != nil {
			return nil, &hook.Error{Class: hook.ClassDenied, Message: err.Error(), Cause: err}
		}
		m.SetTsig(key.Name, key.Algorithm, fudge, time.Now().Unix())
		c.TsigSecret = map[string]string{key.Name: key.Secret}
	}
	answer, _, err := c.ExchangeContext(ctx, m, p.server)
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(err, mdns.ErrSig), errors.Is(err, mdns.ErrAuth), errors.Is(err, mdns.ErrSecret), errors.Is(err, mdns.ErrKeyAlg):
		if answer != nil && answer.Rcode != mdns.RcodeSuccess {
			return nil, p.refusal("Query", answer.Rcode)
		}
		return nil, &hook.Error{Class: hook.ClassDenied, Message: fmt.Sprintf("server %s does not accept the key: %v", p.server, err), Cause: err}
	}
	return nil, &hook.Error{Class: hook.ClassUnavailable, Message: fmt.Sprintf("server %s does not answer: %v", p.server, err), Cause: err}
}

// write sends a change as one update.
func (p *Provider) write(ctx context.Context, zone hook.Zone, have []dns.RRSet, c dns.Change) error {
	return p.send(ctx, zone, update(dns.Name(zone.Name), have, c))
}

// send sends an update.
func (p *Provider) send(ctx context.Context, zone hook.Zone, m *mdns.Msg) error {
	answer, err := p.exchange(ctx, m)
	if err != nil {
		return fmt.Errorf("update zone %s: %w", zone.Name, err)
	}
	if answer.Rcode != mdns.RcodeSuccess {
		return p.refusal("Update", answer.Rcode)
	}
	return nil
}

// refusal returns the error of a response code (RFC 2136, section 2.2, and
// RFC 8945, section 5.3).
func (p *Provider) refusal(action string, code int) error {
	e := &hook.Error{Action: action, Code: mdns.RcodeToString[code]}
	switch code {
	case mdns.RcodeYXDomain, mdns.RcodeYXRrset, mdns.RcodeNXRrset:
		e.Class, e.Message = hook.ClassBusy, "the records changed meanwhile; they are read again"
	case mdns.RcodeNotAuth, mdns.RcodeBadSig, mdns.RcodeBadKey, mdns.RcodeBadTime:
		e.Class, e.Message = hook.ClassDenied, "server "+p.server+" does not accept the key, is not the primary server of the zone, or has another time of day"
	case mdns.RcodeRefused:
		e.Class, e.Message = hook.ClassDenied, "server "+p.server+" does not allow it; check its update policy and the key (BIND also wants allow-query for the client that updates)"
	case mdns.RcodeNotZone:
		e.Class, e.Message = hook.ClassInvalidConfig, "the name does not lie in the zone"
	default:
		e.Class, e.Message = hook.ClassUnavailable, "server "+p.server+" cannot do it now"
	}
	return e
}
