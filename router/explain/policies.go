package explain

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
	"github.com/fairlead/fairlead/router/regex"
)

// policies lists what is in force for a route: how servers share requests, and
// each annotation that the router reads and the route has.
func (s *Snapshot) policies(c *model.Claim, r *Request) []Policy {
	route := s.source.routes[c.Owner]
	termination := string(c.Termination)
	if termination == "" {
		termination = "plain"
	}
	invalid := s.invalid(c.Owner)
	overridden := s.overridden(c.Owner)
	var out []Policy
	if s.defaultBalance(c.Owner, route.Annotations, invalid) {
		out = append(out, Policy{Name: "balance", Value: string(c.Backend.Profile.Balance), Source: "default", Doc: "How servers share the requests."})
	}
	if name := c.Backend.Cookie.Name; name != "" && c.Backend.Profile.Cookie {
		out = append(out, Policy{Name: "sticky cookie", Value: name, Source: s.cookieSource(c, name), Doc: "A client's requests stay with one endpoint."})
	}
	for _, a := range policy.Annotations() {
		v, set := route.Annotations[a.Key]
		if !set || overridden[a.Group] || !slices.Contains(a.Terminations, termination) || a.Key == api.AnnotationCookieName {
			continue
		}
		p := Policy{Name: shortName(a.Key), Value: v, Source: "metadata.annotations[" + a.Key + "]", Doc: a.Doc}
		switch isList := a.Key == api.AnnotationAllowlist || a.Key == api.AnnotationWhitelist; {
		case isList && s.pipeline.Effective(c.Owner) != nil:
			p.Value = strings.Join(strings.Fields(v), " ") // others may have a say, see below
		case isList && c.Backend.Policy().Restricted:
			p.Value = prefixes(c.Backend.Policy().Allow) // those that can be read
		case isList && strings.TrimSpace(v) == "":
			continue // all clients
		case invalid[a.Key]:
			p.Value, p.Source = a.Default, "default, because the annotation is invalid"
		}
		out = append(out, p)
	}
	if a := c.Backend.Policy().Agent; a != nil {
		out = append(out, Policy{Name: "policy agent", Value: a.Methods, Source: "authentication and authorization", Doc: "The agent decides about each request, or HAProxy by its last verdict."})
	}
	if k := c.Backend.Policy().APIKeys; k != nil {
		out = append(out, Policy{Name: "API keys", Value: fmt.Sprintf("%d keys", len(k.Consumers)), Source: "authentication", Doc: "HAProxy looks up the key of each request."})
	}
	if p := c.Backend.Policy().Pages; p.Shown() {
		out = append(out, Policy{Name: "error pages", Value: fmt.Sprintf("of pods for %s, of the router for %s", statuses(p.Pod), statuses(p.Router)), Source: "pages", Doc: "Clients get a page of a ConfigMap in place of these answers."})
	}
	if k := c.Backend.Policy().Certificate; k != nil {
		out = append(out, clientCertificate(k))
	}
	out = append(out, trafficPolicies(c.Backend.Policy())...)
	out = append(out, s.headerPolicies(c)...)
	out = append(out, s.limits(c, r)...)
	return append(out, groups(s.pipeline.Effective(c.Owner))...)
}

// trafficPolicies list what slows requests down, copies them or ends them.
func trafficPolicies(p *model.Policy) (out []Policy) {
	if b := p.Bandwidth; b != (model.Bandwidth{}) {
		out = append(out, Policy{Name: "bandwidth", Value: b.String(), Source: "bandwidth", Doc: "For each request."})
	}
	if t := p.Tracing; t.On {
		out = append(out, Policy{Name: "tracing", Value: t.String(), Source: "tracing, and " + api.AnnotationTracing + " of the IngressController", Doc: "Pods get a traceparent, and sampled requests become spans."})
	}
	if f := p.Firewall; f != nil {
		out = append(out, Policy{Name: "firewall", Value: f.String(), Source: "firewall", Doc: "The firewall judges each request by the OWASP core rule set."})
	}
	if m := p.Mirror; m != nil {
		out = append(out, Policy{Name: "copies", Value: m.String(), Source: "mirror", Doc: "The policy agent sends copies of requests, and drops the answers."})
	}
	if f := p.Fault; f != nil {
		out = append(out, Policy{Name: "fault", Value: f.String(), Source: "fault", Doc: "Requests that meet all conditions of the fault are delayed, or answered by the router."})
	}
	return out
}

// cookieSource says where the name of the sticky cookie comes from.
func (s *Snapshot) cookieSource(c *model.Claim, name string) string {
	if from := s.pipeline.Effective(c.Owner).Origin(policy.GroupAffinity); from != nil && policy.IsKind(from.Key.Kind) {
		return from.Title() + " " + from.Field(policy.GroupAffinity)
	}
	if s.source.routes[c.Owner].Annotations[api.AnnotationCookieName] == name {
		return "metadata.annotations[" + api.AnnotationCookieName + "]"
	}
	return "default"
}

// clientCertificate says what clients have to show.
func clientCertificate(k *model.ClientCertificate) Policy {
	value := "optional"
	if k.Demanded() {
		value = "required"
	}
	if n := len(k.Subjects); n > 0 {
		value += fmt.Sprintf(", of %d subjects", n)
	}
	for _, s := range k.Subjects {
		if s.Expression {
			value += ", regular expressions among them"
			break
		}
	}
	return Policy{Name: "client certificate", Value: value, Source: "authentication", Doc: "Asked for in the handshake; requests over a connection for another host get 421, over plain HTTP 403 if it is required."}
}

// invalid are the annotations of a route whose value cannot be used.
func (s *Snapshot) invalid(owner model.Object) map[string]bool {
	invalid := map[string]bool{}
	for _, f := range s.pipeline.Status(owner).Findings {
		if f.Reason == api.ReasonInvalidAnnotation || f.Reason == api.ReasonRegexBacktracks || f.Reason == api.ReasonPolicyClosed {
			invalid[strings.TrimSuffix(strings.TrimPrefix(f.Field, "metadata.annotations["), "]")] = true
		}
	}
	return invalid
}

// defaultBalance reports whether nothing that counts says how servers share requests.
func (s *Snapshot) defaultBalance(key model.Object, annotations map[string]string, invalid map[string]bool) bool {
	if s.pipeline.Effective(key).Origin(policy.GroupLoadBalancing) != nil {
		return false
	}
	for _, a := range []string{api.AnnotationBalance, policy.AnnotationHashBy} {
		if annotations[a] != "" && !invalid[a] {
			return false
		}
	}
	return true
}

// overridden are the groups of a route's annotations that a policy replaces: which one
// does is listed with the groups.
func (s *Snapshot) overridden(key model.Object) map[policy.Group]bool {
	lost := map[policy.Group]bool{}
	if e := s.pipeline.Effective(key); e != nil {
		for _, l := range e.Losses {
			lost[l.Group] = lost[l.Group] || l.Source.Own()
		}
	}
	return lost
}

// prefixes lists the addresses and networks of an allow-list.
func prefixes(list []netip.Prefix) string {
	var words []string
	for _, p := range list {
		if p.IsSingleIP() {
			words = append(words, p.Addr().String())
		} else {
			words = append(words, p.String())
		}
	}
	return strings.Join(words, " ")
}

// shortName is an annotation's key without its domain.
func shortName(key string) string {
	_, name, ok := strings.Cut(key, "/")
	if !ok {
		return key
	}
	return strings.ReplaceAll(name, "_", "-")
}

// answered is what the router itself answers now by the route's policy, if it does.
func answered(c *model.Claim, r *Request, now time.Time) (Result, bool) {
	client := r.client()
	client.Now = now
	a, ok := match.Judge(c.Backend.Policy(), client)
	switch {
	case !ok:
		return Result{}, false
	case c.Termination == model.Passthrough:
		return Result{Text: "the connection is closed: " + a.Why, Policy: a.Group}, true
	}
	if a.Location != "" {
		return Result{Status: a.Status, Location: a.Location, Text: fmt.Sprintf("redirect %d to %s: %s", a.Status, a.Location, a.Why), Policy: a.Group}, true
	}
	return Result{Status: a.Status, Text: fmt.Sprintf("%d of the router: %s", a.Status, a.Why), Policy: a.Group}, true
}

// client is what policies look at. Without the header Content-Length there is no
// body.
func (r *Request) client() *match.Client {
	c := &match.Client{Host: strings.ToLower(r.Host), Address: r.ClientIP, Path: r.Path, Query: r.Query, Value: r.value}
	if !r.Secure {
		c.Shows = match.ShowsNone
	}
	r.Subject.show(c)
	for _, h := range r.Headers {
		switch {
		case strings.EqualFold(h.Name, "Transfer-Encoding"):
			c.Body.Unknown = true
		case strings.EqualFold(h.Name, "Origin"):
			c.Origin = h.Value
		case strings.EqualFold(h.Name, "Access-Control-Request-Method"):
			c.RequestMethod, c.Method = h.Value, cmp.Or(r.Method, "OPTIONS") // nothing else has it
		case strings.EqualFold(h.Name, "Content-Length"):
			n, err := strconv.ParseUint(h.Value, 10, 64)
			if err != nil || n > math.MaxInt64 {
				n = math.MaxInt64
			}
			c.Body.Bytes = int64(n)
		}
	}
	return c
}

// rewritten returns the path that the pod sees.
func rewritten(p *model.Policy, path string) string {
	switch {
	case p.Rewrite == nil:
		return path
	case p.Rewrite.Applied() != nil:
		r := p.Rewrite.Regex
		return regex.Replace(r.Pattern, r.Replacement, r.Longest, path).Path
	}
	if p.Rewrite.Regex != nil {
		return path
	}
	rest := path[min(p.Rewrite.Strip, len(path)):]
	if rest == "" {
		return p.Rewrite.Empty
	}
	return p.Rewrite.To + rest
}

// podPath returns the path that the pods of a claim see, all of them if they see different ones,
// or nothing where no rewrite is asked for.
func podPath(c *model.Claim, path string) string {
	p := c.Backend.Policy()
	if p.Rewrite == nil && len(p.BranchRewrites) == 0 {
		return ""
	}
	var all []string
	for b := range c.Backends() {
		sees, branch := rewritten(p, path), b.Name()
		if branch == c.Backend.Name() {
			branch = ""
		}
		if to := p.BranchRewrites[branch].Path; to != nil {
			sees = rewritten(&model.Policy{Rewrite: to}, path)
		}
		if !slices.Contains(all, sees) {
			all = append(all, sees)
		}
	}
	return strings.Join(all, " or ")
}

// headerPolicies lists the header actions of spec.httpHeaders. Those of policies are
// a group (groups).
func (s *Snapshot) headerPolicies(c *model.Claim) []Policy {
	var own routev1.RouteHTTPHeaderActions
	if r := s.source.routes[c.Owner]; r.Spec.HTTPHeaders != nil {
		own = r.Spec.HTTPHeaders.Actions
	}
	first := false // a policy that overrides the route comes after it
	if from := s.pipeline.Effective(c.Owner).Origin(policy.GroupHeaders); from != nil {
		first = from.Rank < policy.RankAnnotations
	}
	var out []Policy
	for _, list := range []struct {
		name    string
		actions []model.HeaderAction
		own     int
	}{
		{"request", c.Backend.Policy().RequestHeaders, len(own.Request)}, {"response", c.Backend.Policy().ResponseHeaders, len(own.Response)},
	} {
		n := min(list.own, len(list.actions)) // a former version of the route may have fewer
		if first {
			list.actions = list.actions[:n]
		} else {
			list.actions = list.actions[len(list.actions)-n:]
		}
		for i, a := range list.actions {
			value := "set " + a.Name + ": " + a.Value
			if a.Delete {
				value = "delete " + a.Name
			}
			out = append(out, Policy{
				Name: list.name + " header", Value: value,
				Source: fmt.Sprintf("spec.httpHeaders.actions.%s[%d]", list.name, i),
			})
		}
	}
	return out
}
