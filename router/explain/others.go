package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/spelling"
)

// others lists the other routes of the host, and why they do not decide.
func (s *Snapshot) others(d decision, r *Request, winner *model.Claim) []Other {
	host := d.name(r)
	var out []Other
	for _, key := range s.about(host) {
		if winner != nil && key == winner.Owner {
			continue
		}
		if s.hides(key) {
			out = append(out, Other{Route: hiddenInfo(), Why: notShown})
			continue
		}
		code, why := s.lost(key, d, r, winner)
		out = append(out, Other{Route: s.info(key), Code: code, Why: why})
	}
	slices.SortStableFunc(out, func(a, b Other) int {
		return cmp.Or(cmp.Compare(len(b.Route.Path), len(a.Route.Path)), cmp.Compare(a.Route.Namespace, b.Route.Namespace), cmp.Compare(a.Route.Name, b.Route.Name))
	})
	return conceal(out)
}

// lost says why a route does not decide a request.
func (s *Snapshot) lost(key model.Object, d decision, r *Request, winner *model.Claim) (code, why string) {
	if why := s.source.unselected[key]; why != "" {
		if names := admittingRouters(s.source.routes[key]); len(names) > 0 {
			why += "; it is served by router " + strings.Join(names, ", ")
		}
		return LostNotSelected, why
	}
	c, served := s.claimAt(key, d.name(r))
	if !served {
		return s.refusedFor(key)
	}
	asked := r.asked()
	switch {
	case d.Listener == match.ListenerHTTPS && c.Termination == model.Plain:
		return LostNoTLS, "it has no TLS, so it answers on port 80 only"
	case d.Listener == match.ListenerHTTPS && c.Termination == model.Passthrough:
		return LostPassthrough, "passthrough goes by the server name of the TLS hello, and that was " + cmp.Or(match.ServerName(r.SNI), "not sent")
	case d.Listener == match.ListenerPassthrough && c.Termination == model.Plain:
		return LostNoTLS, "it has no TLS, so it answers on port 80 only"
	case d.Listener == match.ListenerPassthrough && !wild(c):
		return LostPassthrough, "the connection goes to the pods of a passthrough route, unopened"
	case c.Host == match.Any && (winner == nil || winner.Host != match.Any) && s.hasHost(d.name(r)):
		return LostWildcard, "the host is some route's, so routes for any host have no part in it"
	case !matches(c, d.name(r), r.Path, &asked):
		return LostOtherPath, fmt.Sprintf("its path %s does not match", pathText(c))
	case winner == nil:
		return LostOtherPath, "it does not answer here"
	case winner.IsShared():
		for _, f := range s.pipeline.Status(key).Findings {
			if f.Reason == api.ReasonReplacedByHTTPRoute {
				return string(f.Reason), s.said(f.Message)
			}
		}
	}
	if s.hides(winner.Owner) {
		return string(api.ReasonHostAlreadyClaimed), goesFirst
	}
	return beaten(c, winner)
}

// hasHost reports whether a route has the host, or a wildcard that covers it.
func (s *Snapshot) hasHost(host string) bool {
	return len(s.byHost[host])+len(s.byHost[match.Wildcard(host)]) > 0
}

// refusedFor returns the finding that keeps a route from being served.
func (s *Snapshot) refusedFor(key model.Object) (code, why string) {
	for _, f := range s.pipeline.Status(key).Findings {
		if f.Severity == api.SeverityError || f.Reason == api.ReasonHostAlreadyClaimed {
			return string(f.Reason), s.said(f.Message)
		}
	}
	return "", "it is not served"
}

// beaten says why a matching claim is not the one that decides.
func beaten(c, winner *model.Claim) (code, why string) {
	switch {
	case c.Host == match.Any && winner.Host != match.Any:
		return LostWildcard, "a route for the host goes before one for any host"
	case wild(c) && !wild(winner):
		return LostWildcard, fmt.Sprintf("an exact host goes before the wildcard %s", c.Host)
	case winner.Exact && !c.Exact:
		return LostPrefix, fmt.Sprintf("the exact path %s goes before a prefix", winner.Path)
	case winner.Conditions != nil && len(c.Path) <= len(winner.Path):
		return LostConditions, fmt.Sprintf("%s goes before path %s", pathText(winner), pathText(c))
	case len(c.Path) < len(winner.Path):
		return LostShorterPath, fmt.Sprintf("its path %s is shorter than %s", pathText(c), pathText(winner))
	}
	return string(api.ReasonHostAlreadyClaimed), fmt.Sprintf("%s %s has the same path and goes first", strings.ToLower(string(winner.Owner.Kind)), winner.Owner.Name)
}

func wild(c *model.Claim) bool { return strings.HasPrefix(c.Host, "*.") }

func pathText(c *model.Claim) string {
	if e := c.Expression(); e != nil {
		return e.Written + " (expression)"
	}
	p := c.Path
	if p == "" {
		p = "/"
	}
	if c.Exact {
		p += " (exact)"
	}
	return p
}

// nothingMatches says what to do where no route takes the request.
func (s *Snapshot) nothingMatches(e *Explanation, r *Request) {
	next := func(format string, args ...any) { e.Next = append(e.Next, fmt.Sprintf(format, args...)) }
	if len(e.Others) == 0 {
		e.Result.Text += ": no route has host " + e.Host
		if near := s.nearest(e.Host); near != "" {
			next("a route exists for %s; was that meant?", near)
		}
		next("create a route: kubectl fairlead lint checks its manifest before")
		return
	}
	byCode := map[string]Other{}
	for _, o := range e.Others {
		if o.Route.Hidden {
			continue
		}
		if _, have := byCode[o.Code]; !have {
			byCode[o.Code] = o
		}
	}
	if o, ok := byCode[LostNoTLS]; ok {
		e.Result.Text += ": the host has no route with TLS for this path"
		next("add spec.tls with termination: edge to route %s/%s, or ask the http:// address", o.Route.Namespace, o.Route.Name)
	}
	if o, ok := byCode[LostPassthrough]; ok && r.Secure {
		next("send server name %s", o.Route.Host)
	}
	if _, ok := byCode[LostOtherPath]; ok {
		e.Result.Text += ": no route of the host has a path that matches " + r.Path
		next("give a route of the host path / or %s", firstSegment(r.Path))
	}
	if o, ok := byCode[LostNotSelected]; ok {
		next("label route %s/%s as the router's selectors ask, or ask another router with --router", o.Route.Namespace, o.Route.Name)
	}
	for _, o := range e.Others {
		if remedy, ok := api.RemedyOf(api.Reason(o.Code)); ok && remedy.Remedy != "" {
			next("route %s/%s is refused: %s", o.Route.Namespace, o.Route.Name, remedy.Remedy)
		}
	}
}

func firstSegment(path string) string {
	seg, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + seg
}

// nearest returns a known host that differs by at most two letters.
func (s *Snapshot) nearest(host string) string {
	best, distance := "", 3
	for _, key := range s.source.keys() {
		c, served := s.pipeline.Claim(key)
		if !served || wild(c) || s.hides(key) {
			continue
		}
		if n := spelling.Distance(c.Host, host, distance); n < distance {
			best, distance = c.Host, n
		}
	}
	return best
}
