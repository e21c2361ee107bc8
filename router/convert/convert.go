// Package convert writes what Routes say as objects of the Gateway API. Ingresses come in as
// the Routes that the operator makes of them. It is pure.
//
//	Route, what the router makes of it ── draft ─▶ HTTPRoute, GRPCRoute or TLSRoute
//	                                         ├──▶ listeners of a Gateway or ListenerSet
//	                                         ├──▶ RoutePolicy: what no field of these can say
//	                                         └──▶ BackendTLSPolicy, Secret, ReferenceGrant
//
// A route of which something that protects has no form there is converted closed: with its
// host and path, and without backends. Leaving it out would hand its requests to the route of
// a shorter path.
package convert

import (
	"cmp"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Source is a Route with what the router makes of it.
type Source struct {
	Route *routev1.Route
	// Object is what findings are about: the Route, or the Ingress that it is made of.
	Object api.ObjectRef
	// Claims are those of the Route that are served, its own one first; none if it is not served.
	Claims []*model.Claim
	// Effective is what policies say about the Route, nil if none is for it.
	Effective *policy.Effective
	// Refused says why the Route is not served.
	Refused string
	// Closed says why it is to be converted closed; empty if it is not.
	Closed string
}

func (s *Source) key() model.Object {
	return model.Object{Kind: "Route", Namespace: s.Route.Namespace, Name: s.Route.Name}
}

// Input is what Routes are converted with.
type Input struct {
	Sources []Source
	// Service returns a Service, or nil and why it is not known; no reason means that it does
	// not exist. Slices returns its EndpointSlices.
	Service func(model.Object) (*corev1.Service, string)
	Slices  func(model.Object) []*discoveryv1.EndpointSlice
	// Taken reports whether an object exists that is not one of a former conversion.
	Taken func(model.Object) bool
	// Settings are those of the router.
	Settings door.Settings
	Options
}

// Options are the user's.
type Options struct {
	// Gateway is the one whose listeners ListenerSets add to. With an empty name, each
	// namespace gets a Gateway of its own.
	Gateway model.Object
	// Class is that of new Gateways.
	Class string
	// Certificate is the Secret that listeners show for Routes without a certificate of their
	// own; an empty name has them wait for Secrets of their own.
	Certificate model.Object
	// Keys puts private keys of Routes into Secrets of the output.
	Keys bool
}

// Origin is the annotation of all converted objects: what they are made of.
const Origin = api.AnnotationConvertedFrom

// Output is what became of the Routes.
type Output struct {
	// Objects are in the order in which they are to be applied.
	Objects  []metav1.Object
	Findings []api.Finding
	// Made are the routes that each Route became, by the Route.
	Made map[model.Object][]model.Object
	// Shut are the Routes that were converted closed.
	Shut map[model.Object]bool
	// Converted, Closed and Skipped count Routes.
	Converted, Closed, Skipped int
}

// Convert returns the objects that say what the Routes say.
func Convert(in *Input) *Output {
	c := &conversion{in: in, out: &Output{Made: map[model.Object][]model.Object{}, Shut: map[model.Object]bool{}}, names: map[model.Object]bool{}, owned: map[asked]*draft{}, sets: map[string]*listeners{}}
	sources := slices.Clone(in.Sources)
	slices.SortFunc(sources, func(a, b Source) int {
		return cmp.Or(a.Route.CreationTimestamp.Compare(b.Route.CreationTimestamp.Time), cmp.Compare(a.Route.Namespace, b.Route.Namespace), cmp.Compare(a.Route.Name, b.Route.Name))
	})
	for i := range sources {
		if d := c.draft(&sources[i]); d != nil {
			c.drafts = append(c.drafts, d)
		}
	}
	c.podTLS()
	for _, d := range c.drafts {
		c.listen(d)
		if d.plain() { // of plain HTTP, Routes that take it have it before those that redirect or refuse it
			c.first(d, d.host, gatewayv1.HTTPProtocolType)
			if d.alias != nil {
				c.first(d, d.alias.Host, gatewayv1.HTTPProtocolType)
			}
		}
	}
	for _, d := range c.drafts {
		c.routes(d)
		switch {
		case len(c.out.Made[d.key()]) == 0:
			c.skip(d.Source, "older Routes have all requests for its host and path")
		case d.closed:
			c.out.Closed++
		default:
			c.out.Converted++
		}
	}
	c.writePolicies()
	c.writeListeners()
	slices.SortStableFunc(c.out.Objects, func(a, b metav1.Object) int { return cmp.Compare(orderOf(a), orderOf(b)) })
	return c.out
}

type conversion struct {
	in     *Input
	out    *Output
	drafts []*draft
	// names are those of objects that were made.
	names map[model.Object]bool
	// owned says whose requests of a host and path are.
	owned map[asked]*draft
	// sets are the listeners of each namespace, by namespace and whether they hand on
	// connections whole.
	sets     map[string]*listeners
	policies []*madePolicy
}

func (c *conversion) add(o metav1.Object) { c.out.Objects = append(c.out.Objects, o) }

func (c *conversion) find(s *Source, severity api.Severity, field string, reason api.Reason, message, effect string) {
	f := api.Finding{Object: s.Object, Field: field, Reason: reason, Message: message, Severity: severity, Effect: effect}
	if !slices.Contains(c.out.Findings, f) {
		c.out.Findings = append(c.out.Findings, f)
	}
}

// Effects that findings name.
const (
	effectClosed  = "the converted route is closed: it answers 500, or ends connections"
	effectNone    = "the converted route does without it"
	effectSkipped = "nothing is made of it"
)

// name returns a free name for an object of a kind, the wanted one if possible. What exists
// and is not of a former conversion is never replaced.
func (c *conversion) name(kind model.Kind, namespace, wanted string) string {
	for n := 1; ; n++ {
		name := numbered(wanted, n)
		key := model.Object{Kind: kind, Namespace: namespace, Name: name}
		if c.names[key] || c.in.Taken != nil && c.in.Taken(key) {
			continue
		}
		c.names[key] = true
		return name
	}
}
