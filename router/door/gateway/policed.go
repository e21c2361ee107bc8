package gateway

import (
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// policed reports whether policies are for the route: those of connections that are handed on
// whole have none.
func (b *builder) policed() bool { return !b.stream() }

// Place implements door.Door.
func (HTTPRoutes) Place(v door.Version, s door.Settings) *policy.Place {
	r, ok := v.(*gatewayv1.HTTPRoute)
	if !ok {
		return &policy.Place{}
	}
	return placeOf(KindHTTPRoute, r, s)
}

// Place implements door.Door.
func (GRPCRoutes) Place(v door.Version, s door.Settings) *policy.Place {
	r, ok := v.(*gatewayv1.GRPCRoute)
	if !ok {
		return &policy.Place{}
	}
	return placeOf(KindGRPCRoute, newBuilder(KindGRPCRoute, v, nil, s, door.Past{}).asHTTP(r), s)
}

// placeOf returns what policies find a whole route by.
func placeOf(kind model.Kind, r *gatewayv1.HTTPRoute, s door.Settings) *policy.Place {
	p := &policy.Place{
		Object: model.Object{Kind: kind, Namespace: r.Namespace, Name: r.Name}, Labels: r.Labels, Named: r.Annotations[api.AnnotationPolicy],
		Router: s.RouterName, Part: &policy.Part{Whole: true},
	}
	for _, h := range r.Spec.Hostnames {
		p.Hosts = append(p.Hosts, string(h))
	}
	for i := range r.Spec.Rules {
		rule := &r.Spec.Rules[i]
		if rule.Name != nil {
			p.Part.All = append(p.Part.All, string(*rule.Name))
		}
		p.Services = append(p.Services, servicesOf(rule, r.Namespace)...)
	}
	return p
}

// servicesOf returns the Services of the route's namespace that a rule names.
func servicesOf(r *gatewayv1.HTTPRouteRule, namespace string) (names []string) {
	for i := range r.BackendRefs {
		ref := &r.BackendRefs[i]
		if ref.Kind != nil && string(*ref.Kind) != string(door.KindService) || ref.Namespace != nil && string(*ref.Namespace) != namespace {
			continue
		}
		if name := string(ref.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Guarded implements door.Door.
func (HTTPRoutes) Guarded(v door.Version, src door.Source, s door.Settings) bool {
	r, ok := v.(*gatewayv1.HTTPRoute)
	if !ok {
		return true
	}
	b := newBuilder(KindHTTPRoute, v, src, s, door.Past{})
	b.route = r
	b.hostnames()
	b.parents()
	return b.guarded()
}

// Guarded implements door.Door.
func (GRPCRoutes) Guarded(v door.Version, src door.Source, s door.Settings) bool {
	r, ok := v.(*gatewayv1.GRPCRoute)
	if !ok {
		return true
	}
	b := newBuilder(KindGRPCRoute, v, src, s, door.Past{})
	b.route = b.asHTTP(r)
	b.hostnames()
	b.parents()
	return b.guarded()
}

// guarded reports whether a policy keeps clients out of any part of the route.
func (b *builder) guarded() (protects bool) {
	place := b.place()
	scopes := b.scopes()
	for i := range scopes {
		s := b.selectFor(place, &scopes[i])
		b.dependOnPolicies(s)
		protects = protects || s.Protects()
	}
	return protects
}

// place returns what policies find the whole route by.
func (b *builder) place() *policy.Place {
	p := placeOf(b.result.Object.Kind, b.route, b.settings)
	p.Namespace = b.src.Namespace(b.route.Namespace)
	return p
}

// selectFor returns the policies for requests that come in by a listener.
func (b *builder) selectFor(place *policy.Place, l *listener) *policy.Selection {
	s := policy.Select(place, b.src.Policies(b.route.Namespace), b.src.Policies(""))
	s.AddMisplaced(b.misplaced(place.Object, b.route.Annotations))
	for _, name := range place.Services {
		if service := b.src.Service(model.Object{Kind: door.KindService, Namespace: b.route.Namespace, Name: name}); service != nil {
			s.AddService(place, service.Policy)
		}
	}
	key, name := gatewayObject(l.gateway), string(l.spec.Name)
	if l.owner != key {
		name = "" // a ListenerSet's, of which the Gateway's owner knows nothing
	}
	s.AddMisplaced(b.misplacedAt(l), nil)
	in := b.src.Policies(key.Namespace)
	if len(in.All()) == 0 {
		return s
	}
	names := make([]string, len(l.gateway.Spec.Listeners))
	for i := range names {
		names[i] = string(l.gateway.Spec.Listeners[i].Name)
	}
	s.AddGateway(key, name, names, in)
	return s
}

// misplacedAt returns what is wrong with annotations of the Gateway and the ListenerSet of a
// listener, as far as it closes. What has no effect is said there, and not to each route.
func (b *builder) misplacedAt(l *listener) []policy.Closing {
	closings, _ := b.misplaced(gatewayObject(l.gateway), l.gateway.Annotations)
	if l.set != nil {
		own, _ := b.misplaced(l.owner, l.set.Annotations)
		closings = slices.Concat(closings, own)
	}
	return closings
}

// sayMisplaced says of annotations of a Gateway or ListenerSet what becomes of them.
func sayMisplaced(res *door.Result, annotations map[string]string) {
	closings, unapplied := policy.Misplaced(res.Object, annotations)
	add := func(c policy.Closing, severity api.Severity, effect string) {
		res.Findings = append(res.Findings, api.Finding{Object: ref(res.Object), Field: c.Field, Reason: c.Reason, Severity: severity, Message: c.Message, Effect: effect})
	}
	for _, c := range closings {
		add(c, api.SeverityError, "paths of HTTPRoutes and GRPCRoutes that are attached answer 503, and other routes are not served")
	}
	for _, c := range unapplied {
		add(c, api.SeverityWarning, c.Effect)
	}
}

// misplaced is policy.Misplaced, once for each object: there are many rules and listeners.
func (b *builder) misplaced(o model.Object, annotations map[string]string) (closings, unapplied []policy.Closing) {
	found, known := b.annotations[o]
	if known || len(annotations) == 0 {
		return found[0], found[1]
	}
	if _, named := annotations[api.AnnotationPolicy]; named && o == b.result.Object {
		annotations = maps.Clone(annotations)
		delete(annotations, api.AnnotationPolicy)
	}
	found[0], found[1] = policy.Misplaced(o, annotations)
	if b.annotations == nil {
		b.annotations = map[model.Object][2][]policy.Closing{}
	}
	b.annotations[o] = found
	return found[0], found[1]
}

// dependOnPolicies notes that what comes of the route depends on policies.
func (b *builder) dependOnPolicies(s *policy.Selection) {
	for _, key := range s.Depends {
		b.depend(key)
	}
}

// policiesOf returns what policies say about the requests of a rule that come in by a listener.
// Listeners that the same ones are for share it.
func (b *builder) policiesOf(r *rule, l *listener) *policies {
	if known := r.byListener[l.scope]; known != nil {
		return known
	}
	if r.byListener == nil {
		r.byListener = map[model.ScopeID]*policies{}
	}
	p := b.policiesAt(r, l)
	r.byListener[l.scope] = p
	return p
}

func (b *builder) policiesAt(r *rule, l *listener) *policies {
	place := r.place
	if place == nil {
		place = b.place()
		own := &b.route.Spec.Rules[r.index]
		place.Part.Whole, place.Services = false, servicesOf(own, b.route.Namespace)
		if own.Name != nil {
			place.Part.Name = string(*own.Name)
		}
		r.place = place
	}
	s := b.selectFor(place, l)
	for _, known := range r.policies {
		if known.selection.Same(s) {
			return known
		}
	}
	p := b.readPolicies(r, s, len(r.policies))
	r.policies = append(r.policies, p)
	return p
}

// noteEffective notes what policies say about a claim.
func (b *builder) noteEffective(c *model.Claim, e *policy.Effective) {
	if b.result.Effectives == nil {
		b.result.Effectives = map[string]*policy.Effective{}
	}
	b.result.Effectives[c.Rule] = e
}

// effectives notes what policies say, for what is to be said about them.
func (b *builder) effectives(rules []rule) {
	var all []*policy.Effective
	for i := range rules {
		for _, p := range rules[i].policies {
			all = append(all, p.effective)
		}
	}
	b.result.Effective = policy.Join(all)
}

// barrier returns the claims of a refused route that policies protect, closed, as far as it is
// known which requests they are for: less specific routes must not get these.
func (b *builder) barrier(rules []rule) (all []*model.Claim) {
	if !b.guarded() || b.barriers == 0 || b.barriers > mostClaims {
		return nil
	}
	if b.result.Wants = b.barriers; b.past.Crowded {
		return nil
	}
	scopes := b.scopes()
	for i := range scopes {
		for n, host := range b.hostsOf(&scopes[i]) {
			for k := range rules {
				for m := range rules[k].matches {
					if rules[k].unread[m] {
						continue
					}
					c := b.bare(&scopes[i], n, named(host), rules[k].index, m)
					c.Match = rules[k].matches[m]
					all = append(all, closed(c))
				}
			}
		}
	}
	return all
}

// closed returns a claim closed. Those of a rule share a backend.
func closed(c *model.Claim) *model.Claim {
	out := c.Barred()
	rule, _, _ := strings.Cut(c.Rule, "-")
	out.Backend.Rule = rule + "-closed"
	return out
}
