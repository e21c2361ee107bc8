package pipeline

import (
	"iter"
	"maps"
	"slices"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// replaceClients changes what the handshakes of a host ask clients for. The host keeps its
// line in the other list: what comes there is refused by the host's records.
func (p *Pipeline) replaceClients(host string, old *admit.Clients, t admit.Table, scope *plan.Scope) {
	if old != nil {
		p.useCA(old.CA, -1, scope)
	}
	if t.Clients != nil {
		p.useCA(t.Clients.CA, 1, scope)
	}
	p.clientLine(host, t, scope)
}

// clientLine sets the wanted line of a host in the list for client certificates.
func (p *Pipeline) clientLine(host string, t admit.Table, scope *plan.Scope) {
	if old, ok := p.want.ClientLines[host]; ok {
		delete(p.want.ClientLines, host)
		delete(p.want.Certs, old.CertID)
		scope.Certs[old.CertID], scope.ClientLines[host] = struct{}{}, struct{}{}
	}
	if t.Clients == nil {
		return
	}
	c, http2 := t.Certificate, false
	if c == nil {
		c = p.defaultCert
	} else {
		http2 = plan.HTTP2(p.want.Lines[host])
	}
	l := plan.NewClientLine(host, c.ID, t.Clients.CA, t.Clients.Required, http2)
	p.want.Certs[l.CertID], p.want.ClientLines[host] = c.PEM, l
	scope.Certs[l.CertID], scope.ClientLines[host] = struct{}{}, struct{}{}
}

// defaultClientLines are those of hosts that show the default certificate, which has
// changed.
func (p *Pipeline) defaultClientLines(scope *plan.Scope) {
	for _, host := range slices.Collect(maps.Keys(p.want.ClientLines)) {
		if h := p.hosts[host]; h != nil && h.Table.Certificate == nil {
			p.clientLine(host, h.Table, scope)
		}
	}
}

// clientNames returns the names that a claim brings to the wanted state because it asks
// clients for certificates.
func (p *Pipeline) clientNames(c *model.Claim) iter.Seq[string] {
	return func(yield func(string) bool) {
		h := p.hosts[c.Host]
		if h == nil || h.Table.Clients == nil || h.Table.Clients.Owner != c.Owner {
			return
		}
		if yield(h.Table.Clients.CA.ID) {
			yield(p.want.ClientLines[c.Host].CertID)
		}
	}
}
