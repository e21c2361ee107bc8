package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/policy"
)

// annotationCanary makes an Ingress the canary of the one that has the same hosts and
// paths: it gets some of their requests, and all that the other one asks for holds.
const annotationCanary = prefixNginx + "canary"

// IsCanary reports whether an Ingress gets some requests of the paths of another.
func IsCanary(i *networkingv1.Ingress) bool { return enabled(i.Annotations[annotationCanary]) }

// isCanary and ofCanary are for Ingresses that are no canaries: those never come here.
func isCanary(string, *carried) error { return nil }

func ofCanary(string, *carried) error {
	return errors.New("it is for an Ingress with " + annotationCanary + `: "true"`)
}

// SameController reports whether two Ingresses are of one class: only then can one be
// the canary of the other.
func SameController(a, b *networkingv1.Ingress) bool { return ClassOf(a) == ClassOf(b) }

// sharedPath is what a canary and the Ingress that it belongs to have in common.
type sharedPath struct {
	host, path string
	exact      bool
}

// eachPath calls a function for each path of an Ingress that leads to a Service.
func eachPath(i *networkingv1.Ingress, do func(field string, at sharedPath, to *networkingv1.IngressServiceBackend)) {
	for n, rule := range i.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for m, p := range rule.HTTP.Paths {
			at := sharedPath{host: rule.Host, path: cmp.Or(p.Path, "/"), exact: p.PathType != nil && *p.PathType == networkingv1.PathTypeExact}
			if !at.exact {
				at.path = cmp.Or(strings.TrimRight(at.path, "/"), "/")
			}
			if p.Backend.Service != nil {
				do(fmt.Sprintf("spec.rules[%d].http.paths[%d]", n, m), at, p.Backend.Service)
			}
		}
	}
}

// relatives returns the other Ingresses that are canaries, or those that are not, the
// oldest first.
func (c *conversion) relatives(canaries bool) []*networkingv1.Ingress {
	var out []*networkingv1.Ingress
	for _, i := range c.in.Relatives {
		if IsCanary(i) == canaries && SameController(i, c.in.Ingress) {
			out = append(out, i)
		}
	}
	slices.SortFunc(out, olderIngress)
	return out
}

func olderIngress(a, b *networkingv1.Ingress) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// canaries finds, for each path of the Ingress, the annotation that says what its canary
// gets: by the field of the path.
func (c *conversion) canaries() map[string]string {
	all := c.relatives(true)
	if len(all) == 0 {
		return nil
	}
	main := c.in.Ingress
	at := map[sharedPath]string{}
	for _, i := range all {
		spec, problems := readCanary(i, main)
		if len(problems) > 0 {
			continue // which the canary's own events say
		}
		eachPath(i, func(_ string, path sharedPath, to *networkingv1.IngressServiceBackend) {
			_, taken := at[path]
			if _, protected := c.serviceProtectionOf(to.Name); !taken && protected == "" {
				at[path] = policy.CanaryText(c.withService(spec, to))
			}
		})
	}
	out := map[string]string{}
	eachPath(main, func(field string, path sharedPath, _ *networkingv1.IngressServiceBackend) {
		if text, has := at[path]; has {
			out[field] = text
		}
	})
	return out
}

// withService returns a copy of a canary for a Service.
func (c *conversion) withService(spec *v1alpha1.Canary, to *networkingv1.IngressServiceBackend) *v1alpha1.Canary {
	out := *spec
	s := spec.Services[0]
	s.Name = v1alpha1.ObjectName(to.Name)
	if name := c.portName(to); name != "" {
		port := intstr.FromString(name)
		s.Port = &port
	}
	out.Services = []v1alpha1.CanaryService{s}
	return &out
}

// portName returns the name of a Service's port, as Routes name it. The one port of a
// Service may have none.
func (c *conversion) portName(to *networkingv1.IngressServiceBackend) string {
	if to.Port.Name != "" {
		return to.Port.Name
	}
	if service := c.in.Services[to.Name]; service != nil {
		for _, p := range service.Spec.Ports {
			if p.Port == to.Port.Number {
				return p.Name
			}
		}
	}
	return ""
}

// problem is what is wrong with an annotation of a canary.
type problem struct{ key, message string }

// readCanary returns what an Ingress says about being a canary of another, without its
// Services, and why it cannot be one. Nothing of it is read that the other Ingress says,
// as in ingress-nginx; but what keeps requests away must be there, too, else pods would
// get what their Ingress keeps from them.
func readCanary(i, main *networkingv1.Ingress) (*v1alpha1.Canary, []problem) {
	var problems []problem
	for _, key := range slices.Sorted(maps.Keys(i.Annotations)) {
		if protectsPaths(key, i.Annotations[key]) && main.Annotations[key] != i.Annotations[key] {
			problems = append(problems, problem{key, fmt.Sprintf("keeps requests away, and Ingress %s, whose annotations hold for its canary, does not have it with the same value", main.Name)})
		}
	}
	spec, wrong := canarySpec(i.Annotations)
	problems = append(problems, wrong...)
	if main.Annotations[prefixNginx+"affinity"] == "cookie" && i.Annotations[prefixNginx+"affinity-canary-behavior"] != "legacy" &&
		main.Annotations[prefixNginx+"affinity-canary-behavior"] != "legacy" {
		spec.Sticky = &v1alpha1.CanarySticky{}
	}
	return spec, problems
}

// protectsPaths reports whether an annotation keeps requests away from the paths of its
// Ingress.
func protectsPaths(key, value string) bool {
	if key == annotationCanary {
		return false
	}
	if f, vendor := vendorAnnotationOf(key); vendor {
		return f.protects != nil && f.protects(value)
	}
	return policy.Protects(key)
}

// canarySpec reads ingress-nginx's annotations.
func canarySpec(annotations map[string]string) (*v1alpha1.Canary, []problem) {
	var problems []problem
	find := func(name, message string) { problems = append(problems, problem{prefixNginx + name, message}) }
	spec := &v1alpha1.Canary{}
	var service v1alpha1.CanaryService
	whole := func(name string, to *int32) {
		text, set := annotations[prefixNginx+name]
		if !set {
			return
		}
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
		if err != nil {
			find(name, "must be a whole number")
			return
		}
		*to = int32(n)
	}
	whole("canary-weight", &service.Weight)
	whole("canary-weight-total", &spec.Total)
	if header := annotations[prefixNginx+"canary-by-header"]; header != "" {
		value, pattern := annotations[prefixNginx+"canary-by-header-value"], annotations[prefixNginx+"canary-by-header-pattern"]
		switch {
		case value != "":
			service.When = append(service.When, v1alpha1.CanaryCondition{Type: "Header", Name: header, Match: "Exact", Value: value})
		case pattern != "":
			service.When = append(service.When, v1alpha1.CanaryCondition{Type: "Header", Name: header, Match: "Regex", Value: pattern})
		default:
			service.When = append(service.When, alwaysNever("Header", header)...)
		}
	}
	if cookie := annotations[prefixNginx+"canary-by-cookie"]; cookie != "" {
		service.When = append(service.When, alwaysNever("Cookie", cookie)...)
	}
	service.Name = "canary" // each path has its own
	spec.Services = []v1alpha1.CanaryService{service}
	if field, err := policy.CheckCanary(spec); len(problems) == 0 && err != nil {
		find(canaryKey(field, &service), err.Error())
	}
	return spec, problems
}

// alwaysNever are the two values by which a header or cookie decides.
func alwaysNever(kind, name string) []v1alpha1.CanaryCondition {
	return []v1alpha1.CanaryCondition{
		{Type: kind, Name: name, Match: "Exact", Value: "always"},
		{Type: kind, Name: name, Match: "Exact", Value: "never", To: "Route"},
	}
}

// canaryKey names the annotation that a field of the group comes from.
func canaryKey(field string, service *v1alpha1.CanaryService) string {
	switch {
	case strings.Contains(field, "when") && len(service.When) > 0 && strings.Contains(field, "when[0]") && service.When[0].Type == "Header":
		if service.When[0].Match == "Regex" {
			return "canary-by-header-pattern"
		}
		return "canary-by-header"
	case strings.Contains(field, "when"):
		return "canary-by-cookie"
	case field == "total":
		return "canary-weight-total"
	}
	return "canary-weight"
}

// convertCanary returns what becomes of an Ingress that is a canary: its paths are those
// of another Ingress. A path that no other has is closed, because it is not known what it
// would have been protected by.
func (c *conversion) convertCanary() Output {
	mains, rivals := c.relatives(false), c.relatives(true)
	if err := c.checkCanary(mains); err != nil {
		c.warn("metadata.annotations["+annotationCanary+"]", api.ReasonForeignAnnotation, err.Error(), "no request goes to its Services")
	}
	c.only, c.closed, c.effect = c.controller(), true, effectClosed
	eachPath(c.in.Ingress, func(field string, at sharedPath, to *networkingv1.IngressServiceBackend) {
		has := func(i *networkingv1.Ingress) bool { return hasPath(i, at) }
		if key, why := c.serviceProtectionOf(to.Name); why != "" {
			c.find(api.SeverityError, fmt.Sprintf("Service %s: metadata.annotations[%s]", to.Name, key), api.ReasonForeignProtection, why, "no request goes to the Service")
		}
		switch {
		case !slices.ContainsFunc(mains, has):
			c.find(api.SeverityError, field, api.ReasonCanaryWithoutMain,
				"no other Ingress of the namespace and class has this host and path, of which it could be the canary", "the path answers 503")
			if path, err := routePath(at.path, at.exact); err == nil {
				c.add(field, field+".backend.service", hostPath{host: at.host, path: path, exact: at.exact}, at.path, to)
			}
		case slices.ContainsFunc(rivals, func(i *networkingv1.Ingress) bool { return olderIngress(i, c.in.Ingress) < 0 && has(i) }):
			c.warn(field, api.ReasonForeignAnnotation, "an older canary has this host and path; there is one for each path", "no request goes to its Service")
		}
	})
	c.reportSize()
	return Output{Routes: c.routes, Findings: c.findings, Cut: c.in.Limits.Namespace && c.tooMany > 0}
}

// checkCanary reports what keeps the Ingress from being a canary.
func (c *conversion) checkCanary(mains []*networkingv1.Ingress) error {
	_, wrong := canarySpec(c.in.Ingress.Annotations)
	for _, main := range mains {
		if shares(main, c.in.Ingress) {
			_, problems := readCanary(c.in.Ingress, main)
			wrong = problems
			if len(problems) > 0 {
				break
			}
		}
	}
	for _, p := range wrong {
		c.warn("metadata.annotations["+p.key+"]", api.ReasonInvalidAnnotation, p.message, "no request goes to the canary's Services")
	}
	if len(wrong) > 0 {
		return nil
	}
	spec, _ := canarySpec(c.in.Ingress.Annotations)
	if s := spec.Services[0]; s.Weight == 0 && len(s.When) == 0 {
		return errors.New("neither a weight nor a header nor a cookie says which requests the canary gets")
	}
	return nil
}

// ServicesOf returns the Services that an Ingress and its canaries name, each once, sorted.
func ServicesOf(in *Input) []string {
	names := ServiceNames(in.Ingress)
	if !IsCanary(in.Ingress) {
		for _, i := range in.Relatives {
			names = append(names, ServiceNames(i)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// serviceProtectionOf returns the annotation by which a Service is protected, and why
// that is so; nothing if it is not.
func (c *conversion) serviceProtectionOf(name string) (key, why string) {
	service := c.in.Services[name]
	if service == nil {
		return "", ""
	}
	for _, key := range slices.Sorted(maps.Keys(service.Annotations)) {
		if why := serviceProtection(key, service.Annotations[key]); why != "" {
			return key, why
		}
	}
	return "", ""
}

func hasPath(i *networkingv1.Ingress, at sharedPath) (has bool) {
	eachPath(i, func(_ string, other sharedPath, _ *networkingv1.IngressServiceBackend) { has = has || other == at })
	return has
}

func shares(a, b *networkingv1.Ingress) (share bool) {
	eachPath(a, func(_ string, at sharedPath, _ *networkingv1.IngressServiceBackend) { share = share || hasPath(b, at) })
	return share
}
