// Package route is the front door for Routes. It turns one Route, with the Services, EndpointSlices and
// Secrets that it names, into a claim for a host and path, or into the finding
// that says why not. It is pure: all it needs comes from a Source.
package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Effects that findings name.
const (
	effectNotServed       = "the route is not served"
	effectLastCertificate = "the last good certificate keeps serving"
	effectDefault         = "the default is used"
	effect503             = "requests get a 503 page"
	effectLeftOut         = "this backend gets no requests"
)

// Kind is that of Routes.
const Kind model.Kind = "Route"

// Door is the front door of Routes.
type Door struct{}

// Kind implements door.Door.
func (Door) Kind() model.Kind { return Kind }

// Ref implements door.Door.
func (Door) Ref(o model.Object) api.ObjectRef { return Ref(o) }

// Ingest implements door.Door.
func (Door) Ingest(v door.Version, src door.Source, s door.Settings, past door.Past) *door.Result {
	r, ok := v.(*routev1.Route)
	if !ok {
		return &door.Result{}
	}
	return Route(r, src, s, past)
}

// Continues implements door.Door.
func (Door) Continues(former, newest door.Version) bool {
	f, n, ok := routes(former, newest)
	return ok && f.Spec.Host == n.Spec.Host
}

// Covers implements door.Door.
func (Door) Covers(former, newest door.Version, src door.Source, s door.Settings) bool {
	f, n, ok := routes(former, newest)
	return ok && Covers(f, n, src, s)
}

// Guarded implements door.Door.
func (Door) Guarded(v door.Version, src door.Source, s door.Settings) bool {
	r, ok := v.(*routev1.Route)
	return !ok || Guarded(r, src, s)
}

// Content implements door.Door.
func (Door) Content(v door.Version) any {
	r, ok := v.(*routev1.Route)
	if !ok {
		return nil
	}
	return struct {
		UID         string
		Annotations map[string]string
		Spec        *routev1.RouteSpec
	}{string(r.UID), r.Annotations, &r.Spec}
}

// Decode implements door.Door.
func (Door) Decode(text []byte) (door.Version, error) {
	r := &routev1.Route{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	return r, nil
}

func routes(a, b door.Version) (former, newest *routev1.Route, ok bool) {
	former, isRoute := a.(*routev1.Route)
	newest, ok = b.(*routev1.Route)
	return former, newest, ok && isRoute
}

// Route ingests one route. It has one claim at most, and perhaps an alias.
func Route(r *routev1.Route, src door.Source, s door.Settings, past door.Past) *door.Result {
	b := &builder{route: r, src: src, settings: s, past: past, result: &door.Result{
		Object:         model.Object{Kind: Kind, Namespace: r.Namespace, Name: r.Name},
		UID:            string(r.UID),
		WildcardPolicy: string(r.Spec.WildcardPolicy),
	}}
	if len(past.Claims) > 0 {
		b.last = past.Claims[0].Certificate
	}
	// Dependencies come first: a refused route must notice their change, too.
	refs := b.services()
	b.selection = selectFor(r, src, s)
	b.result.Depends = append(b.result.Depends, b.selection.Depends...)
	b.result.Patterns = b.selection.PatternsPerNamespace()
	claim := &model.Claim{
		Owner: b.result.Object, UID: b.result.UID, Version: r.ResourceVersion,
		Created: r.CreationTimestamp.Time, Match: model.Match{Path: r.Spec.Path},
	}
	switch {
	case !b.host(claim):
	case !b.path(claim):
		if claim.Conditions != nil { // it is known how its paths begin
			b.result.Barrier = []*model.Claim{b.bar(claim)}
		}
	case b.tls(claim) && b.backend(claim, refs):
		b.result.Claims = append([]*model.Claim{claim}, b.alias(claim)...)
	default:
		b.result.Barrier = []*model.Claim{b.bar(claim)}
	}
	return b.result
}

type builder struct {
	route    *routev1.Route
	src      door.Source
	settings door.Settings
	result   *door.Result
	// selection are the policies for the route.
	selection *policy.Selection
	// agent is what the policy agent decides, or nil.
	agent *model.Agent
	// keys are what HAProxy looks up, or nil.
	keys *model.APIKeys
	// upstream is how the router speaks to pods.
	upstream upstream
	// mirror is what is copied, or nil.
	mirror *model.Mirror
	// client is what clients show in the handshake, or nil.
	client *model.ClientCertificate
	ca     *model.CA
	last   *model.Certificate
	// past is what the pipeline remembers of the route.
	past door.Past
	// otherName is a second host, whose requests are redirected, or empty.
	otherName string
	// tooMany says that the paths of the route would be one pattern too many.
	tooMany bool
	// serviceCA is true if ca is the router's own, which knows services by name.
	serviceCA bool
}

func (b *builder) find(severity api.Severity, field string, reason api.Reason, message, effect string) {
	b.result.Findings = append(b.result.Findings, api.Finding{
		Object: Ref(b.result.Object), Field: field, Reason: reason,
		Message: message, Severity: severity, Effect: effect,
	})
}

// refuse reports an error that keeps the route from being served.
func (b *builder) refuse(field string, reason api.Reason, message string) bool {
	b.find(api.SeverityError, field, reason, message, effectNotServed)
	return false
}

// Ref names a Route in findings.
func Ref(k model.Object) api.ObjectRef {
	return api.ObjectRef{Group: routev1.GroupName, Kind: "Route", Namespace: k.Namespace, Name: k.Name}
}

// services lists the backends that the route names.
func (b *builder) services() []serviceRef {
	var refs []serviceRef
	add := func(t routev1.RouteTargetReference, field string) {
		key := model.Object{Kind: door.KindService, Namespace: b.route.Namespace, Name: t.Name}
		if t.Kind != "" && t.Kind != "Service" {
			b.find(api.SeverityWarning, field+".kind", api.ReasonInvalidField, "must be Service", effectLeftOut)
			return
		}
		if slices.ContainsFunc(refs, func(r serviceRef) bool { return r.key == key }) {
			b.find(api.SeverityWarning, field+".name", api.ReasonInvalidField, "names the same Service again", effectLeftOut)
			return
		}
		if t.Weight != nil && (*t.Weight < 0 || *t.Weight > backend.MaxWeight) {
			b.find(api.SeverityWarning, field+".weight", api.ReasonInvalidField, "must be from 0 to 256", "the nearest of these is used")
		}
		refs = append(refs, serviceRef{key: key, field: field, weight: backend.ClampWeight(t.Weight)})
		b.result.Depends = append(b.result.Depends, key)
	}
	add(b.route.Spec.To, "spec.to")
	for i, t := range b.route.Spec.AlternateBackends {
		add(t, "spec.alternateBackends["+string(rune('0'+i%10))+"]")
	}
	return refs
}

func (b *builder) path(c *model.Claim) bool {
	if c.Path != "" && c.Path[0] == '/' && c.Termination == model.Passthrough {
		return b.refuse("spec.path", api.ReasonInvalidField, "passthrough termination does not support paths")
	}
	var wrong error
	if c.Match, wrong = matchOf(b.route); wrong != nil {
		return b.refuse("spec.path", api.ReasonInvalidField, wrong.Error())
	}
	if b.past.Unpatterned && c.Expression() != nil {
		b.tooMany = true
		beginning := c.Path
		c.Match = nothing(b.route.Spec.Path)
		if Guarded(b.route, b.src, b.settings) {
			c.Match = below(beginning, b.route.Spec.Path)
		}
	}
	return true
}

func (b *builder) tls(c *model.Claim) bool {
	t := b.route.Spec.TLS
	if t == nil {
		return true
	}
	var ok bool
	if c.Insecure, ok = insecurePolicy(t); !ok {
		return b.refuse("spec.tls.insecureEdgeTerminationPolicy", api.ReasonExtendedValidationFailed, "must be None, Allow or Redirect")
	}
	switch c.Termination {
	case model.Passthrough:
		if t.Certificate != "" || t.Key != "" || t.CACertificate != "" || t.DestinationCACertificate != "" || t.ExternalCertificate != nil {
			return b.refuse("spec.tls", api.ReasonExtendedValidationFailed, "passthrough termination does not support certificates")
		}
		if c.Insecure == model.InsecureAllow {
			return b.refuse("spec.tls.insecureEdgeTerminationPolicy", api.ReasonExtendedValidationFailed, "passthrough termination does not support Allow")
		}
		return true
	case model.Edge:
		if t.DestinationCACertificate != "" {
			return b.refuse("spec.tls.destinationCACertificate", api.ReasonExtendedValidationFailed, "edge termination does not support destination certificates")
		}
	case model.Reencrypt:
		if !b.destinationCA(t) {
			return false
		}
	case model.Plain:
	}
	return b.certificate(c, t)
}

func (b *builder) destinationCA(t *routev1.TLSConfig) bool {
	if strings.TrimSpace(t.DestinationCACertificate) == "" && b.settings.DestinationCA != nil {
		if b.settings.DestinationCA.ID == "" {
			return b.refuse("spec.tls.destinationCACertificate", api.ReasonExtendedValidationFailed, "is not set, and the router's own CA for pods cannot be read")
		}
		b.ca, b.serviceCA = b.settings.DestinationCA, true
		return true
	}
	if strings.TrimSpace(t.DestinationCACertificate) == "" {
		b.find(api.SeverityInfo, "spec.tls.destinationCACertificate", api.ReasonUnverifiedBackend,
			"is not set, so the pod's certificate is not verified", "traffic to the pod is encrypted, but anyone between could answer")
		return true
	}
	ca, err := b.past.Material.Bundle(b.result.Object, t.DestinationCACertificate)
	if err != nil {
		return b.refuse("spec.tls.destinationCACertificate", api.ReasonExtendedValidationFailed, err.Error())
	}
	b.ca = ca
	return true
}

func (b *builder) certificate(c *model.Claim, t *routev1.TLSConfig) bool {
	if t.ExternalCertificate != nil && t.ExternalCertificate.Name != "" {
		if t.Certificate != "" {
			return b.refuse("spec.tls", api.ReasonExtendedValidationFailed, "cannot specify both tls.certificate and tls.externalCertificate")
		}
	}
	cert, secret, err := b.routeCertificate(c.Owner, c.Host, t)
	if secret != (model.Object{}) {
		b.result.Depends = append(b.result.Depends, secret)
	}
	if err != nil {
		if external, ok := errors.AsType[*externalError](err); ok {
			b.result.Pending = external.pending
			return b.refuse("spec.tls.externalCertificate", api.ReasonExternalCertificateValidationFailed, err.Error())
		}
		if secret != (model.Object{}) && b.last != nil {
			b.find(api.SeverityError, "spec.tls.externalCertificate", api.ReasonExtendedValidationFailed, err.Error(), effectLastCertificate)
			c.Certificate = b.last
			return true
		}
		return b.refuse("spec.tls", api.ReasonExtendedValidationFailed, err.Error())
	}
	c.Certificate = cert
	return true
}

// insecurePolicy reads spec.tls.insecureEdgeTerminationPolicy.
func insecurePolicy(t *routev1.TLSConfig) (model.InsecurePolicy, bool) {
	switch p := model.InsecurePolicy(t.InsecureEdgeTerminationPolicy); p {
	case "":
		return model.InsecureNone, true
	case model.InsecureNone, model.InsecureAllow, model.InsecureRedirect:
		return p, true
	}
	return "", false
}

// termination reads spec.tls.termination with the defaults of the API server.
func termination(t *routev1.TLSConfig) (model.Termination, bool) {
	if t == nil {
		return model.Plain, true
	}
	switch strings.ToLower(string(t.Termination)) {
	case "":
		if t.DestinationCACertificate != "" {
			return model.Reencrypt, true
		}
		return model.Edge, true
	case "edge":
		return model.Edge, true
	case "reencrypt":
		return model.Reencrypt, true
	case "passthrough":
		return model.Passthrough, true
	}
	return "", false
}

// serviceRef is one backend reference of a route.
type serviceRef struct {
	key    model.Object
	field  string
	weight int
}
