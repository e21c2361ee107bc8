package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// hostGroups returns the hosts to decide, in groups that must be decided
// together: a host alone, or with the wildcard host that covers it and all
// others that this one covers.
func (p *Pipeline) hostGroups(hosts map[string]struct{}) [][]string {
	var out [][]string
	wild := map[string]struct{}{}
	for host := range hosts {
		w := host
		if !strings.HasPrefix(host, "*.") {
			w = match.Wildcard(host)
		}
		if _, decided := p.hosts[w]; len(p.claims[w]) == 0 && !decided {
			out = append(out, []string{host})
			continue
		}
		wild[w] = struct{}{}
	}
	for w := range wild {
		out = append(out, append(slices.Collect(maps.Keys(p.covered[w])), w))
	}
	return out
}

// noteGuards notes what hosts of scopes keep out now, and adds those whose paths are therefore
// to be looked up in another way.
func (p *Pipeline) noteGuards(hosts map[string]struct{}) {
	var more []string
	for host := range hosts {
		if model.Scoped(host) {
			more = append(more, p.guards.Note(host, p.claims[host])...)
		}
	}
	for _, host := range more {
		hosts[host] = struct{}{}
	}
}

// decide decides a group of hosts again.
func (p *Pipeline) decide(group []string, scope *plan.Scope, touched model.Objects) {
	claims := make(map[string][]*model.Claim, len(group))
	for _, host := range group {
		claims[host] = nil
		for _, c := range p.claims[host] {
			claims[host] = append(claims[host], c)
			touched[c.Owner] = struct{}{}
		}
	}
	if len(group) == 1 && p.decideDatagrams(group[0], claims[group[0]]) {
		return
	}
	decided := map[string]*admit.Host{}
	if model.Scoped(group[0]) {
		decided[group[0]] = admit.DecideScoped(group[0], claims[group[0]], p.guards.Guarded(group[0]))
	} else {
		decided = admit.Decide(claims, p.settings.InterNamespace)
	}
	for host, h := range decided {
		old := p.hosts[host]
		p.hosts[host] = h
		if len(claims[host]) == 0 {
			delete(p.claims, host)
			delete(p.hosts, host)
			p.cover(host, false)
		}
		p.replaceTable(host, old, h, scope)
	}
}

// cover notes that a host has claims, for the wildcard host above it.
func (p *Pipeline) cover(host string, claimed bool) {
	if strings.HasPrefix(host, "*.") || model.Scoped(host) {
		return
	}
	w := match.Wildcard(host)
	if !claimed {
		delete(p.covered[w], host)
		if len(p.covered[w]) == 0 {
			delete(p.covered, w)
		}
		return
	}
	if p.covered[w] == nil {
		p.covered[w] = map[string]struct{}{}
	}
	p.covered[w][host] = struct{}{}
}

// replaceTable changes the wanted routing keys and certificate of a host.
func (p *Pipeline) replaceTable(host string, old, h *admit.Host, scope *plan.Scope) {
	if old == nil {
		old = &admit.Host{}
	}
	p.listeners.shared.certify(host, old, h)
	targets := make(map[string]string, len(h.Winners))
	for _, c := range h.Winners {
		targets[c.Backend.Name()] = plan.Target(&c.Backend, h.Guarded)
	}
	replace := func(m plan.Map, from, to []match.Entry) {
		for _, k := range from {
			e := plan.Entry{Map: m, Key: k.Key}
			scope.Entries[e] = struct{}{}
			delete(p.want.Entries, e)
		}
		for _, k := range to {
			e, v := plan.Entry{Map: m, Key: k.Key}, k.Value
			scope.Entries[e] = struct{}{}
			p.want.Entries[e] = match.MapValue(v, func(name string) string { return cmp.Or(targets[name], name) })
		}
	}
	replace(plan.MapHTTP, old.Table.HTTP, h.Table.HTTP)
	replace(plan.MapHTTPS, old.Table.HTTPS, h.Table.HTTPS)
	replace(plan.MapSNI, sniTable(host, old), sniTable(host, h))
	p.replaceSuffixes(host, len(h.Table.HTTP) > 0, scope)
	if host == match.Any || model.Scoped(host) {
		return // the default certificate is not a route's
	}
	p.use(old.Table.Certificate, host, false, scope)
	p.use(h.Table.Certificate, host, true, scope)
	p.line(host, h.Table.Certificate, scope)
	p.replaceClients(host, old.Table.Clients, h.Table, scope)
}

// use notes which hosts share a chain. While only one host has it, the host may
// speak HTTP/2: browsers send requests for other hosts over a connection whose
// certificate covers them, which would reach a passthrough or client-certificate
// host by the wrong door.
func (p *Pipeline) use(c *model.Certificate, host string, used bool, scope *plan.Scope) {
	if c == nil {
		return
	}
	hosts := p.chains[c.Chain]
	if hosts == nil {
		hosts = map[string]struct{}{}
		p.chains[c.Chain] = hosts
	}
	if used {
		hosts[host] = struct{}{}
	} else {
		delete(hosts, host)
	}
	switch {
	case len(hosts) == 0:
		delete(p.chains, c.Chain)
	case len(hosts) <= 2: // one became two or two became one
		for other := range hosts {
			if h := p.hosts[other]; other != host && h != nil {
				p.line(other, h.Table.Certificate, scope)
				p.clientLine(other, h.Table, scope)
			}
		}
	}
}

// line sets the wanted certificate of a host.
func (p *Pipeline) line(host string, c *model.Certificate, scope *plan.Scope) {
	if old, ok := p.want.Lines[host]; ok {
		delete(p.want.Lines, host)
		delete(p.want.Certs, old)
		scope.Certs[old] = struct{}{}
	}
	scope.Lines[host] = struct{}{}
	if c == nil {
		return
	}
	id := c.ID
	if p.settings.HTTP2 && len(p.chains[c.Chain]) == 1 && c.Chain != p.defaultChain {
		id = plan.WithHTTP2(id)
	}
	p.want.Certs[id], p.want.Lines[host] = c.PEM, id
	scope.Certs[id] = struct{}{}
}

func sniTable(host string, h *admit.Host) []match.Entry {
	if h.Table.SNI == "" || host == match.Any {
		return nil
	}
	return []match.Entry{{Key: host, Value: h.Table.SNI}}
}

// useCA counts the backends that a CA verifies: the router's own verifies many.
func (p *Pipeline) useCA(ca *model.CA, n int, scope *plan.Scope) {
	p.caUses[ca.ID] += n
	p.want.CAs[ca.ID] = ca.PEM
	if p.caUses[ca.ID] == 0 {
		delete(p.caUses, ca.ID)
		delete(p.want.CAs, ca.ID)
	}
	scope.CAs[ca.ID] = struct{}{}
}

// showPods notes a certificate that pods are shown, which may be nil. It is one object's
// alone, and has no line in the list of those for clients.
func (p *Pipeline) showPods(c *model.Certificate, used bool, scope *plan.Scope) {
	if c == nil {
		return
	}
	scope.Certs[c.ID] = struct{}{}
	if used {
		p.want.Certs[c.ID] = c.PEM
	} else {
		delete(p.want.Certs, c.ID)
	}
}

// usePages counts the backends that show the pages of a claim.
func (p *Pipeline) usePages(pages *model.Pages, n int, scope *plan.Scope) {
	for hash, page := range pages.All() {
		p.pageUses[hash] += n
		used := p.pageUses[hash] > 0
		if !used {
			delete(p.pageUses, hash)
		}
		if _, wanted := p.want.Entries[plan.PageEntry(hash)]; used && wanted {
			continue
		}
		for e, v := range plan.PageEntries(page) {
			scope.Entries[e] = struct{}{}
			if used {
				p.want.Entries[e] = v
			} else {
				delete(p.want.Entries, e)
			}
		}
	}
}

func certID(c *model.Certificate) string {
	if c == nil {
		return ""
	}
	return c.ID
}
