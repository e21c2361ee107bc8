package route

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// This file compares what versions of a route forbid, so that a version served
// in place of a newer one never lets through what the newer one keeps out.

// guard is what a version of a route forbids, or tries to.
type guard struct {
	// closed lets nothing through.
	closed bool
	// unreadable holds something that protects and cannot be read, so that it
	// is not known what it forbids.
	unreadable bool
	// policy has the lists of clients, limits and sizes.
	policy     model.Policy
	serverName string
	forwarded  model.Forwarded
	// authentication is what clients have to show, with what stands in the namespace
	// namedIn; nil for nothing.
	authentication *v1alpha1.Authentication
	namedIn        string
	// upstream says which pods are trusted, with Secrets of the namespace upstreamIn; nil
	// for no policy.
	upstream   *v1alpha1.UpstreamTLS
	upstreamIn string
	// authorization is what clients may do; listed clients need not show who they are.
	authorization *v1alpha1.Authorization
	listed        []netip.Prefix

	termination model.Termination
	insecure    model.InsecurePolicy
	ca          string
	// rule is where the version answers; anywhere says that its path cannot
	// be read.
	rule     match.Rule
	anywhere bool
	// headers are its changes of headers.
	headers []string
}

// Covers reports whether a former version of a route forbids all that the
// newest one forbids, as far as that can be read.
func Covers(former, newest *routev1.Route, src door.Source, s door.Settings) bool {
	f, n := readGuard(former, src, s), readGuard(newest, src, s)
	switch {
	case f.closed:
		return true
	case n.closed || n.unreadable:
		return false
	}
	return f.coversClients(&n) && f.coversTLS(&n, s) && (n.anywhere || n.rule.Covers(f.rule)) &&
		(n.forwarded != model.ForwardedReplace || f.forwarded == model.ForwardedReplace) &&
		!slices.ContainsFunc(n.headers, func(h string) bool { return !slices.Contains(f.headers, h) })
}

// Guarded reports whether a route has, or tries to have, anything that keeps
// clients out. Then its path is better closed than left to others.
func Guarded(r *routev1.Route, src door.Source, s door.Settings) bool {
	g := readGuard(r, src, s)
	return g.closed || g.unreadable || g.policy.KeepsOut() || g.serverName != "" || g.authentication != nil || g.authorization != nil || g.upstream != nil
}

func readGuard(r *routev1.Route, src door.Source, s door.Settings) guard {
	spec, unreadable := policy.Protection(r.Annotations, defaults(s))
	g := guard{closed: Closed(r), unreadable: unreadable}
	if e := effective(r, selectFor(r, src, s), &spec); e != nil {
		spec.Apply(e)
		g.closed = g.closed || e.Closed() || spec.TooManyLimits() != ""
	} else {
		spec.Alone()
	}
	spec.Compile(&g.policy)
	g.serverName, g.forwarded = spec.ServerName, spec.Forwarded
	g.authentication, g.namedIn = spec.Groups.Authentication, spec.NamedIn
	g.upstream, g.upstreamIn = spec.UpstreamTLS(), spec.UpstreamIn
	g.authorization, g.listed = spec.Groups.Authorization, spec.Listed
	m, wrong := matchOf(r)
	g.rule, g.anywhere = match.Rule{Path: m.Path, Exact: spec.Exact && m.Path != "", Conditions: m.Conditions}, wrong != nil
	g.readTLS(r.Spec.TLS)
	if h := r.Spec.HTTPHeaders; h != nil {
		g.headers = append(headerTexts("request", h.Actions.Request), headerTexts("response", h.Actions.Response)...)
	}
	for i, list := range [][]model.HeaderAction{g.policy.RequestHeaders, g.policy.ResponseHeaders} {
		for _, a := range list {
			g.headers = append(g.headers, fmt.Sprint("policy ", i, a))
		}
	}
	return g
}

func (g *guard) readTLS(t *routev1.TLSConfig) {
	if t == nil {
		return
	}
	var ok bool
	if g.termination, ok = termination(t); !ok {
		g.unreadable = true
	}
	if g.insecure, ok = insecurePolicy(t); !ok {
		g.unreadable = true
	}
	g.ca = strings.TrimSpace(t.DestinationCACertificate)
}

func headerTexts(direction string, actions []routev1.RouteHTTPHeader) []string {
	out := make([]string, 0, len(actions))
	for _, a := range actions {
		text := direction + " " + strings.ToLower(a.Name) + " " + string(a.Action.Type)
		if a.Action.Set != nil {
			text += " " + a.Action.Set.Value
		}
		out = append(out, text)
	}
	return out
}

// coversClients compares which clients get through, and how often.
func (g *guard) coversClients(n *guard) bool {
	if n.authentication != nil && (g.namedIn != n.namedIn || !reflect.DeepEqual(g.authentication, n.authentication)) {
		return false
	}
	if n.authorization != nil && !reflect.DeepEqual(g.authorization, n.authorization) || n.authentication != nil && !policy.Within(g.listed, n.listed) {
		return false
	}
	former, newest := &g.policy, &n.policy
	if newest.Restricted && (!former.Restricted || !policy.Within(former.Allow, newest.Allow)) || !policy.Within(newest.Deny, former.Deny) {
		return false
	}
	return covers(former.Limits.Concurrent, newest.Limits.Concurrent) && covers(former.Limits.Connections, newest.Limits.Connections) &&
		covers(former.Limits.Requests, newest.Limits.Requests) && covers(former.Sizes.Body, newest.Sizes.Body) &&
		covers(former.Sizes.URI, newest.Sizes.URI) && covers(former.Sizes.Headers, newest.Sizes.Headers) && coversCounts(former, newest) && former.Firewall.Covers(newest.Firewall)
}

func covers[T int | int64](limit, newest T) bool { return newest == 0 || limit != 0 && limit <= newest }

// coversTLS compares what stays encrypted, and which pods are trusted.
func (g *guard) coversTLS(n *guard, s door.Settings) bool {
	switch {
	case (g.termination == model.Passthrough) != (n.termination == model.Passthrough),
		encrypted[g.termination] < encrypted[n.termination]:
		return false
	case n.termination != model.Plain && g.insecure == model.InsecureAllow && n.insecure != model.InsecureAllow:
		return false
	case n.upstream != nil && (g.upstreamIn != n.upstreamIn || !reflect.DeepEqual(g.upstream, n.upstream)):
		return false
	case n.termination != model.Reencrypt:
		return true
	}
	return (n.serverName == "" || n.serverName == g.serverName) &&
		(g.ca == n.ca || n.ca == "" && s.DestinationCA == nil)
}

var encrypted = map[model.Termination]int{model.Plain: 0, model.Edge: 1, model.Reencrypt: 2, model.Passthrough: 3}

// bar returns what is served of a refused route where it must not be left to
// others: its path, on the listeners that it asks for, without a pod.
func (b *builder) bar(c *model.Claim) *model.Claim {
	if t := b.route.Spec.TLS; t != nil {
		if p, ok := insecurePolicy(t); ok {
			c.Insecure = p
		} else {
			c.Insecure = model.InsecureAllow // to a 503 page
		}
	}
	kind := b.route.Annotations[api.AnnotationPathType]
	c.Exact, c.Fallback = c.Path != "" && kind == "Exact", kind == "Default"
	return c.Barred()
}

// coversCounts reports whether each limit of the newest version has one that is as
// strict in the former one.
func coversCounts(former, newest *model.Policy) bool {
	// What all replicas count together is stricter than what each counts by itself.
	covers := func(rates, limits []model.RateLimit) bool {
		for i := range limits {
			n := &limits[i]
			if !n.DryRun && !slices.ContainsFunc(rates, func(f model.RateLimit) bool { return stricter(&f, n) }) {
				return false
			}
		}
		return true
	}
	shared := slices.Concat(former.Shared, former.SharedIdentified)
	if !covers(slices.Concat(former.Rates, former.Shared), newest.Rates) || !covers(slices.Concat(former.Identified, former.SharedIdentified), newest.Identified) ||
		!covers(shared, slices.Concat(newest.Shared, newest.SharedIdentified)) {
		return false
	}
	had := slices.Concat(former.Concurrents, former.IdentifiedConcurrents)
	for _, n := range slices.Concat(newest.Concurrents, newest.IdentifiedConcurrents) {
		if !slices.ContainsFunc(had, func(f model.ConcurrentLimit) bool {
			return f.Key == n.Key && f.Count <= n.Count && wider(&f.Match, &n.Match)
		}) {
			return false
		}
	}
	return true
}

// stricter reports whether a limit admits no request that another one refuses.
func stricter(f, n *model.RateLimit) bool {
	return f.Key == n.Key && wider(&f.Match, &n.Match) && !f.DryRun && f.Burst <= n.Burst && policy.Within(f.Exempt, n.Exempt) &&
		int64(f.Requests)*int64(n.Per/time.Second) <= int64(n.Requests)*int64(f.Per/time.Second)
}

// wider reports whether a limit counts each request that another one does.
func wider(f, n *model.RequestMatch) bool { return f.Any() || f.Same(n) }
