package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/router/convert"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// ConvertArgs say what is to be converted.
type ConvertArgs struct {
	// Namespace restricts it to one namespace; empty for all.
	Namespace string
	// Objects are Routes and Ingresses of the namespace; none for all.
	Objects []ConvertObject
	convert.Options
}

// ConvertObject names a Route or Ingress.
type ConvertObject struct{ Kind, Name string }

// Conversion is what Routes and Ingresses are as objects of the Gateway API.
type Conversion struct {
	*convert.Output
	snapshot *Snapshot
	// Notes say what is not known.
	Notes []string
}

// Convert returns Routes and Ingresses as objects of the Gateway API. What these say is
// decided by the router's own doors, and compared with what the Routes say: a route that
// would let more through is converted closed.
func (s *Snapshot) Convert(a ConvertArgs) (*Conversion, error) {
	in := s.conversionInput(&a)
	if err := s.choose(in, &a); err != nil {
		return nil, err
	}
	notes, err := s.conversionTarget(in)
	for _, g := range s.objects.Gaps {
		if OfGatewayAPI(g.Kind) || g.Kind == "Secret" {
			notes = append(notes, g.String()+"; make sure that no object has the name of a converted one")
		}
	}
	if err != nil {
		return nil, err
	}
	out, differences, err := s.convertClosing(in)
	if err != nil {
		return nil, err
	}
	c := &Conversion{Output: out, snapshot: s, Notes: append(s.Notes(), notes...)}
	for i := range in.Sources {
		source := &in.Sources[i]
		if d := differences[routeKey(source.Route)]; d != nil && !out.Shut[routeKey(source.Route)] {
			for _, text := range d.other {
				c.Findings = append(c.Findings, api.Finding{
					Object: source.Object, Reason: api.ReasonConversionDiffers, Severity: api.SeverityWarning, Message: text, Effect: "everything else is as it was",
				})
			}
		}
	}
	slices.SortStableFunc(c.Findings, func(a, b api.Finding) int { return cmp.Compare(a.Object.String(), b.Object.String()) })
	return c, nil
}

// convertClosing converts, and closes what would let more through until nothing does: that one
// Route is closed may change what becomes of others.
func (s *Snapshot) convertClosing(in *convert.Input) (*convert.Output, map[model.Object]*unlikeness, error) {
	for {
		out := convert.Convert(in)
		differences, err := s.compareConverted(in, out)
		if err != nil {
			return nil, nil, err
		}
		weaker := false
		for i := range in.Sources {
			d := differences[routeKey(in.Sources[i].Route)]
			if d != nil && len(d.weaker) > 0 && in.Sources[i].Closed == "" {
				in.Sources[i].Closed, weaker = "the converted route would not do what keeps requests in order: "+strings.Join(d.weaker, "; "), true
			}
		}
		if !weaker {
			return out, differences, nil
		}
	}
}

// conversionTarget finds out about the class and the Gateway that converted routes are to be served by.
func (s *Snapshot) conversionTarget(in *convert.Input) (notes []string, err error) {
	if g := s.gatewayOf(in.Gateway); g != nil {
		if gatewayapi.SharesAddress(g) {
			return nil, fmt.Errorf("--gateway %s/%s is at the address of the router, where ListenerSets have no listeners; convert without the flag, and give the Gateway of the output the annotation %s: %s", g.Namespace, g.Name, gatewayapi.AnnotationAddress, gatewayapi.AddressRouter)
		}
		in.Class = string(g.Spec.GatewayClassName)
		labels := func(name string) (map[string]string, bool) {
			n := s.objects.Namespaces[name]
			if n == nil {
				return nil, false
			}
			return n.Labels, true
		}
		for i := range in.Sources {
			namespace := in.Sources[i].Route.Namespace
			text := fmt.Sprintf("Gateway %s/%s does not allow ListenerSets of namespace %s, as far as is known; set spec.allowedListeners", g.Namespace, g.Name, namespace)
			if !gatewayapi.AllowsSets(g, namespace, labels) && !slices.Contains(notes, text) {
				notes = append(notes, text)
			}
		}
	} else if in.Gateway.Name != "" {
		notes = append(notes, fmt.Sprintf("Gateway %s/%s is not known; its spec.allowedListeners must allow ListenerSets of the namespaces of the Routes", in.Gateway.Namespace, in.Gateway.Name))
	}
	class, ok := s.objects.Gateways[model.Object{Kind: "GatewayClass", Name: in.Class}].(*gatewayv1.GatewayClass)
	if ok && class.Spec.ControllerName != gatewayapi.ControllerName {
		return nil, fmt.Errorf("GatewayClass %s is of the controller %s, where RoutePolicies do not hold; name a class of %s with --class", in.Class, class.Spec.ControllerName, gatewayapi.ControllerName)
	}
	return notes, nil
}

func routeKey(r *routev1.Route) model.Object {
	return model.Object{Kind: route.Kind, Namespace: r.Namespace, Name: r.Name}
}

// conversionInput gathers what the conversion depends on.
func (s *Snapshot) conversionInput(a *ConvertArgs) *convert.Input {
	in := &convert.Input{Settings: s.settings, Options: a.Options}
	in.Service = func(key model.Object) (*corev1.Service, string) {
		if found := s.objects.Services[key]; found != nil {
			return found, ""
		}
		return nil, s.objects.gapOf(key, false)
	}
	in.Slices = func(key model.Object) []*discoveryv1.EndpointSlice { return s.objects.Slices[key] }
	in.Taken = s.taken
	for _, key := range s.source.keys() {
		if a.Namespace != "" && key.Namespace != a.Namespace {
			continue
		}
		all, served := s.pipeline.Claims(key)
		source := convert.Source{Route: s.asWritten(key), Claims: ownFirst(all, served), Effective: s.pipeline.Effective(key), Refused: s.refusedBecause(key)}
		source.Object = refOf(source.Route)
		if name := s.source.ingress[key]; name != "" {
			source.Object = api.ObjectRef{Group: "networking.k8s.io", Kind: "Ingress", Namespace: key.Namespace, Name: name}
		}
		if len(source.Claims) > 0 && source.Claims[0].Alias {
			// Without it, a wildcard could have the requests for the second host.
			source.Closed = "its own host is another Route's, and requests for its second host " + source.Claims[0].Host + " are redirected there"
		}
		in.Sources = append(in.Sources, source)
	}
	return in
}

// ownFirst returns the claims that are served, that of the route itself first.
func ownFirst(all, served []*model.Claim) []*model.Claim {
	out := slices.Clone(served)
	slices.SortStableFunc(out, func(a, b *model.Claim) int {
		return cmp.Compare(slices.Index(all, a), slices.Index(all, b))
	})
	return out
}

// refusedBecause says why a route is not served.
func (s *Snapshot) refusedBecause(key model.Object) string {
	if why := s.source.unselected[key]; why != "" {
		return why
	}
	st := s.pipeline.Status(key)
	return cmp.Or(st.Message, string(st.Reason))
}

// asWritten returns a route with the reference to its certificate, also where the Secret
// cannot be read here.
func (s *Snapshot) asWritten(key model.Object) *routev1.Route {
	r := s.source.routes[key].DeepCopy()
	if r.Spec.TLS == nil || r.Spec.TLS.Certificate != "" || r.Spec.TLS.ExternalCertificate != nil || r.Spec.TLS.Termination == routev1.TLSTerminationPassthrough {
		return r
	}
	if written := s.objects.Routes[key]; written != nil && written.Spec.TLS != nil {
		r.Spec.TLS.ExternalCertificate = written.Spec.TLS.ExternalCertificate
		return r
	}
	i := s.objects.Ingresses[model.Object{Kind: "Ingress", Namespace: key.Namespace, Name: s.source.ingress[key]}]
	if i == nil {
		return r
	}
	host := r.Spec.Host
	if rest, ok := strings.CutPrefix(host, "wildcard."); ok && r.Spec.WildcardPolicy == routev1.WildcardPolicySubdomain {
		host = "*." + rest
	}
	_, parent, _ := strings.Cut(host, ".")
	for _, name := range []string{host, "*." + parent} {
		for _, t := range i.Spec.TLS {
			if t.SecretName != "" && slices.Contains(t.Hosts, name) {
				r.Spec.TLS.ExternalCertificate = &routev1.LocalObjectReference{Name: t.SecretName}
				return r
			}
		}
	}
	return r
}

// taken reports whether an object exists that no former conversion has made.
func (s *Snapshot) taken(key model.Object) bool {
	var o metav1.Object
	switch key.Kind {
	case door.KindSecret:
		if found := s.objects.Secrets[key]; found != nil {
			o = found
		}
	case door.KindConfigMap:
		if found := s.objects.ConfigMaps[key]; found != nil {
			o = found
		}
	default:
		if p := s.objects.Policies[key]; p != nil {
			return !s.objects.converted[key]
		}
		o = s.objects.Gateways[key]
	}
	return o != nil && o.GetAnnotations()[convert.Origin] == ""
}

// choose keeps the routes that are asked for.
func (s *Snapshot) choose(in *convert.Input, a *ConvertArgs) error {
	if len(a.Objects) == 0 {
		return nil
	}
	var kept []convert.Source
	for _, wanted := range a.Objects {
		before := len(kept)
		for i := range in.Sources {
			source := &in.Sources[i]
			ofIngress := source.Object.Kind == "Ingress" && wanted.Kind == "ingress" && source.Object.Name == wanted.Name
			if !ofIngress && (wanted.Kind != "route" || source.Route.Name != wanted.Name) {
				continue
			}
			if !slices.ContainsFunc(kept, func(o convert.Source) bool { return routeKey(o.Route) == routeKey(source.Route) }) {
				kept = append(kept, *source)
			}
		}
		if len(kept) == before {
			return fmt.Errorf("there is no %s %s in namespace %s that becomes anything; see kubectl fairlead why %s/%s", wanted.Kind, wanted.Name, a.Namespace, wanted.Kind, wanted.Name)
		}
	}
	in.Sources = kept
	return nil
}

// Text writes the objects as YAML.
func (c *Conversion) Text(w io.Writer) error { return c.YAML(w) }

// Report writes what is to be known about the objects: each finding, and at the end how many
// routes there were.
func (c *Conversion) Report(w io.Writer) error {
	p := &printer{w: w}
	for _, f := range c.Findings {
		finding := c.snapshot.finding(f)
		at := finding.Object
		if finding.File != "" {
			at = finding.File + " " + at
		}
		p.line("%s: %s %s", at, finding.Severity, strings.TrimSpace(string(finding.Reason)+" "+finding.Field))
		p.line("  %s; %s", finding.Message, finding.Effect)
	}
	for _, n := range c.Notes {
		p.line("note: %s", n)
	}
	p.line("%s: %d converted, %d closed, %d left out; %s written",
		count(c.Converted+c.Closed+c.Skipped, "Route"), c.Converted, c.Closed, c.Skipped, count(len(c.Objects), "object"))
	return p.err
}

// Complete reports whether each Route became one that does the same for its clients.
func (c *Conversion) Complete() bool { return c.Closed == 0 && c.Skipped == 0 }
