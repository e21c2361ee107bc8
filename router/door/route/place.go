package route

import (
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Place implements door.Door.
func (Door) Place(v door.Version, s door.Settings) *policy.Place {
	if r, ok := v.(*routev1.Route); ok {
		return Place(r, s)
	}
	return &policy.Place{}
}

// Place returns what policies find a Route by.
func Place(r *routev1.Route, s door.Settings) *policy.Place {
	p := &policy.Place{
		Object: model.Object{Kind: Kind, Namespace: r.Namespace, Name: r.Name},
		Labels: r.Labels, Annotations: r.Annotations, Named: r.Annotations[api.AnnotationPolicy], Host: hostOf(r, s), Router: s.RouterName,
	}
	for _, to := range append([]routev1.RouteTargetReference{r.Spec.To}, r.Spec.AlternateBackends...) {
		p.Services = append(p.Services, to.Name)
	}
	if p.Ingress = ingressOf(r); p.Ingress != "" {
		p.IngressLabels = readLabels(r.Annotations[api.AnnotationIngressLabels])
	}
	return p
}

// ingressOf returns the name of the Ingress that the operator made a Route of, or
// an empty text.
func ingressOf(r *routev1.Route) string {
	owner := metav1.GetControllerOfNoCopy(r)
	if owner == nil || owner.Kind != "Ingress" || !strings.HasPrefix(owner.APIVersion, networkingv1.GroupName+"/") {
		return ""
	}
	return owner.Name
}

// readLabels reads "key=value" separated by commas, neither of which a label can
// have.
func readLabels(text string) map[string]string {
	if text == "" {
		return nil
	}
	labels := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(item, "=")
		labels[key] = value
	}
	return labels
}

// hostOf returns the host of a Route's claim, as far as the Route has one.
func hostOf(r *routev1.Route, s door.Settings) string {
	host := r.Spec.Host
	switch {
	case r.Annotations[api.AnnotationAnyHost] == "true":
		return match.Any
	case host == "" && r.Spec.Subdomain != "" && s.Domain != "":
		host = r.Spec.Subdomain + "." + s.Domain
	}
	if _, domain, ok := strings.Cut(host, "."); ok && r.Spec.WildcardPolicy == routev1.WildcardPolicySubdomain {
		return "*." + domain
	}
	return host
}

// selectFor returns the policies for a Route.
func selectFor(r *routev1.Route, src door.Source, s door.Settings) *policy.Selection {
	place := Place(r, s)
	place.Namespace = src.Namespace(r.Namespace)
	selection := policy.Select(place, src.Policies(r.Namespace), src.Policies(""))
	for _, name := range place.Services {
		if service := src.Service(model.Object{Kind: door.KindService, Namespace: r.Namespace, Name: name}); service != nil {
			selection.AddService(place, service.Policy)
		}
	}
	return selection
}

// effective returns what policies and annotations say together, or nil where nothing but
// its own annotations is for the Route.
func effective(r *routev1.Route, selection *policy.Selection, spec *policy.Spec) *policy.Effective {
	if selection.Empty() {
		return nil
	}
	object := model.Object{Kind: Kind, Namespace: r.Namespace, Name: r.Name}
	e := selection.Effective(policy.FromAnnotations(object, r.Annotations, spec))
	selection.BoundAnnotations(e, object, spec.Groups.Limits)
	if kind := r.Annotations[api.AnnotationPathType]; kind == api.PathTypeRegex || kind == api.PathTypeRegexIgnoreCase {
		selection.BoundPath(e, object, "metadata.annotations["+api.AnnotationPathType+"]")
	}
	if t, _ := termination(r.Spec.TLS); t == model.Passthrough {
		e.Passthrough()
	}
	return e
}

// policies puts what policies say into what the annotations ask for, and reports
// whether nothing may get through.
func (b *builder) policies(c *model.Claim, spec *policy.Spec) (closed bool) {
	e := effective(b.route, b.selection, spec)
	if e == nil {
		spec.Alone()
		closed, without := b.firewalls(c, spec, nil)
		e = &policy.Effective{Closings: slices.Concat(b.authenticate(c, spec, nil), b.readUpstream(c, spec, nil), b.shareLimits(c, spec, nil), closed), Unapplied: append(without, b.mirrors(c, spec, nil)...)}
		b.closings(c, e)
		return e.Closed()
	}
	b.result.Effective = e
	own := []match.Rule{{Path: c.Path, Exact: spec.Exact && c.Path != "", Conditions: c.Conditions}}
	e.OutOfReach(own, own, ingressOf(b.route) != "")
	spec.Apply(e)
	shut, without := b.firewalls(c, spec, e)
	e.Closings = slices.Concat(e.Closings, b.authenticate(c, spec, e), b.readUpstream(c, spec, e), b.shareLimits(c, spec, e), shut)
	e.Unapplied = slices.Concat(e.Unapplied, without, b.mirrors(c, spec, e))
	b.closings(c, e)
	if wrong := spec.TooManyLimits(); wrong != "" && !e.Closed() {
		b.find(api.SeverityError, "metadata.annotations["+policy.AnnotationLimit+"]", api.ReasonPolicyClosed, wrong, effectClosed(c.Termination))
		return true
	}
	return e.Closed()
}

// closings tells what policies keep from being served.
func (b *builder) closings(c *model.Claim, e *policy.Effective) {
	for _, f := range e.Findings(effectClosed(c.Termination)) {
		f.Object = Ref(b.result.Object)
		b.result.Findings = append(b.result.Findings, f)
	}
}
