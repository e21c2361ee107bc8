package explain

import (
	"strings"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// decision is where HAProxy's tables send a request.
type decision struct {
	listener Listener
	// value is a backend's name, one of match's values, or "" if nothing matches.
	value string
	// respelled says that the path as it is written led elsewhere.
	respelled bool
	// certLine is the crt-list filter that answers TLS, empty without TLS.
	certLine string
	certID   string
}

// decide looks a request up as HAProxy does, in the tables of the wanted state.
func (w *World) decide(r *Request) decision {
	if !r.Secure {
		d := decision{listener: Listener{"http", 80}}
		d.value, d.respelled = w.lookup(plan.MapHTTP, r)
		return d
	}
	sni := serverName(r.SNI)
	if v := w.tables[plan.MapSNI].Passthrough(sni); v != "" {
		return decision{listener: Listener{"passthrough", 443}, value: v}
	}
	d := decision{listener: Listener{"https", 443}}
	d.value, d.respelled = w.lookup(plan.MapHTTPS, r)
	if !d.routed() && d.value != match.BadPath && w.tables[plan.MapSNI].Passthrough(match.Host(r.Host)) != "" {
		d.value = match.Misdirected
	}
	lines := w.pipeline.Want().Lines
	for _, filter := range []string{sni, match.Wildcard(sni), "*"} {
		if id, ok := lines[filter]; ok && (sni != "" || filter == "*") {
			d.certLine, d.certID = filter, id
			break
		}
	}
	return d
}

func (w *World) lookup(m plan.Map, r *Request) (v string, respelled bool) {
	v, respelled = w.tables[m].Look(w.tables[plan.MapHTTP], r.Host, r.Path)
	if key, ok := w.byBackend[v]; ok && respelled {
		if c, _ := w.pipeline.Claim(key); c != nil && c.Backend.Policy.Rewrite != nil {
			return match.BadPath, true
		}
	}
	return v, respelled
}

// serverName returns a server name as the tables know it.
func serverName(sni string) string { return strings.ToLower(strings.TrimRight(sni, ".")) }

// name is the host that decides: the server name for passthrough, else the
// Host header.
func (d decision) name(r *Request) string {
	if d.listener.Name == "passthrough" {
		return serverName(r.SNI)
	}
	return match.Host(r.Host)
}

// routed reports whether the value is a backend.
func (d decision) routed() bool { return d.value != "" && !strings.HasPrefix(d.value, "!") }

// owner returns the claim that put the value there, or nil.
func (w *World) owner(d decision, r *Request) *model.Claim {
	if d.routed() {
		if key, ok := w.byBackend[d.value]; ok {
			c, _ := w.pipeline.Claim(key)
			return c
		}
		return nil
	}
	if d.value == "" {
		return nil
	}
	// Redirects and refusals have no name: the most specific rule is it.
	fits := func(c *model.Claim) bool { return matches(c, d.name(r), r.Path) }
	if d.respelled {
		fits = func(c *model.Claim) bool { return matchesNormal(c, d.name(r), r.Path) }
	}
	var best *model.Claim
	for _, c := range w.claimsFor(d.name(r)) {
		if c.Termination == model.Plain || !fits(c) || refusal(c) != d.value {
			continue
		}
		if best == nil || moreSpecific(c, best) {
			best = c
		}
	}
	return best
}

// refusal is the value of a TLS route on the HTTP listener.
func refusal(c *model.Claim) string {
	switch c.Insecure {
	case model.InsecureRedirect:
		return match.Redirect(c.RedirectStatus)
	case model.InsecureAllow:
		return ""
	case model.InsecureNone:
	}
	return match.Refuse
}

// claimsFor returns the served claims of a host, the wildcard's last.
func (w *World) claimsFor(host string) []*model.Claim {
	var served []*model.Claim
	for _, key := range w.about(host) {
		if c, ok := w.pipeline.Claim(key); ok {
			served = append(served, c)
		}
	}
	return served
}

// matches reports whether a claim alone would answer for a path of a host.
func matches(c *model.Claim, host, path string) bool {
	if c.Termination == model.Passthrough {
		return true
	}
	rule := match.Rule{Path: c.Path, Exact: c.Exact, Value: "+"}
	v := match.NewTable(c.Host, []match.Rule{rule}).Request(host, path)
	return v == "+"
}

// moreSpecific reports whether a goes before b where both match.
func moreSpecific(a, b *model.Claim) bool {
	wildA, wildB := strings.HasPrefix(a.Host, "*."), strings.HasPrefix(b.Host, "*.")
	switch {
	case (a.Host == match.Any) != (b.Host == match.Any):
		return b.Host == match.Any
	case wildA != wildB:
		return wildB
	case a.Exact != b.Exact:
		return a.Exact
	case pathLength(a) != pathLength(b):
		return pathLength(a) > pathLength(b)
	}
	return a.Older(b)
}

// pathLength takes "" and "/" as what they are: the same.
func pathLength(c *model.Claim) int {
	if c.Path == "/" && !c.Exact {
		return 0
	}
	return len(c.Path)
}

// matchesNormal is matches where paths are normalised before.
func matchesNormal(c *model.Claim, host, path string) bool {
	normal := *c
	var asked, has bool
	path, asked = match.Normal(path)
	normal.Path, has = match.Normal(c.Path)
	return asked && (has || c.Path == "") && matches(&normal, host, path)
}
