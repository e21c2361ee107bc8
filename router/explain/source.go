package explain

import (
	"fmt"
	"maps"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

var (
	_ door.Source        = (*source)(nil)
	_ door.Grants        = (*source)(nil)
	_ door.UnknownGrants = (*source)(nil)
)

// All implements door.Source.
func (s *source) All() []model.Object {
	var keys []model.Object
	for k := range s.selected {
		keys = append(keys, k)
	}
	return keys
}

// Object implements door.Source.
func (s *source) Object(key model.Object) door.Version {
	if r := s.routes[key]; r != nil && s.selected[key] {
		return r
	}
	return nil
}

// Service implements door.Source. Services that could not be read are taken
// as there.
func (s *source) Service(key model.Object) *backend.Service {
	if found := s.Services[key]; found != nil {
		return backend.NewService(found)
	}
	if !s.readable("Service", key.Namespace) {
		return &backend.Service{}
	}
	return nil
}

// Slices implements door.Source.
func (s *source) Slices(service model.Object) []*backend.Slice {
	reduce := backend.NewSlice
	if s.Complete {
		reduce = backend.NewLocalSlice
	}
	var read []*backend.Slice
	for _, slice := range s.Objects.Slices[service] {
		read = append(read, reduce(slice))
	}
	return read
}

// Secret implements door.Source.
func (s *source) Secret(key model.Object) (*corev1.Secret, error) {
	if why := s.secretGap(key); s.Secrets[key] == nil && why != "" {
		return nil, &unknownObject{key, why}
	}
	return s.Secrets[key], nil
}

// unknownObject is one that the router may know, and the user does not.
type unknownObject struct {
	key model.Object
	why string
}

// Error implements error.
func (e *unknownObject) Error() string {
	return string(e.key.Kind) + " " + e.key.String() + " " + e.why
}

// Unknown says that there is no knowing: what names the object is judged without it.
func (e *unknownObject) Unknown() bool { return true }

// ConfigMap implements door.Source.
func (s *source) ConfigMap(key model.Object) (*policy.ConfigMap, error) {
	if found := s.ConfigMaps[key]; found != nil {
		return policy.NewConfigMap(found), nil
	}
	if why := s.gapOf(key, false); why != "" {
		return nil, &unknownObject{key, why}
	}
	return nil, nil
}

// Policies implements door.Source.
func (s *source) Policies(namespace string) *policy.Set { return s.policies[namespace] }

// Namespace implements door.Source.
func (s *source) Namespace(name string) *policy.Namespace {
	if n := s.Namespaces[name]; n != nil {
		return policy.NewNamespace(n.Labels, n.Annotations)
	}
	return nil
}

// AllPolicies implements door.Source.
func (s *source) AllPolicies() []model.Object {
	return slices.Collect(maps.Keys(s.Objects.Policies))
}

// Grants implements door.Grants.
func (s *source) Grants(namespace string) []*gatewayv1.ReferenceGrant { return s.grants[namespace] }

// GrantGap implements door.UnknownGrants. Of namespaces that a user may not see, the grants to
// those that are seen are known.
func (s *source) GrantGap(namespace string) error {
	key := door.GrantsOf(namespace)
	if s.Offline && !s.Complete {
		return &unknownObject{key, "may be beside the manifests"}
	}
	for _, g := range s.Gaps {
		if model.Kind(g.Kind) == key.Kind && (g.Namespace == "" || g.Namespace == namespace) && g.Except != namespace {
			return &unknownObject{key, "could not be read: " + g.Why}
		}
	}
	return nil
}

// readPolicies sorts the policies by their namespace.
func (s *source) readPolicies() {
	s.grants = byNamespace[*gatewayv1.ReferenceGrant](s.Gateways)
	byNamespace := map[string][]*policy.Object{}
	for key, o := range s.Objects.Policies {
		byNamespace[key.Namespace] = append(byNamespace[key.Namespace], o)
	}
	s.policies = make(map[string]*policy.Set, len(byNamespace))
	for namespace, all := range byNamespace {
		s.policies[namespace] = policy.NewSet(all)
	}
}

// unknownNamespaces returns those of routes whose labels decide about policies and are not
// known, in order.
func (s *source) unknownNamespaces() []string {
	if !slices.ContainsFunc(s.policies[""].All(), (*policy.Object).ByLabels) {
		return nil
	}
	unknown := map[string]struct{}{}
	for key := range s.routes {
		if s.Namespaces[key.Namespace] == nil {
			unknown[key.Namespace] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(unknown))
}

// endpointsKnown reports whether a Service's endpoints could be read. Manifests
// of an application have none: pods do not exist yet.
func (s *source) endpointsKnown(service model.Object) bool {
	if !s.readable("EndpointSlice", service.Namespace) || s.pending(service) {
		return false
	}
	return !s.Offline || s.Complete || len(s.Objects.Slices[service]) > 0
}

// convertIngresses makes the routes that Ingresses stand for. In a cluster the
// operator has made them, and only its findings are repeated.
func (s *Snapshot) convertIngresses() error {
	s.ofIngresses = map[string]said{}
	for namespace, around := range s.surroundings(func(string) bool { return true }) {
		if err := s.convertNamespace(namespace, around); err != nil {
			return err
		}
	}
	return nil
}

// convertNamespace does so for the Ingresses of a namespace.
func (s *Snapshot) convertNamespace(namespace string, around *surroundings) error {
	before := said{s.findings, s.notes}
	s.findings, s.notes = nil, nil
	defer func() {
		s.ofIngresses[namespace] = said{s.findings, s.notes}
		s.findings, s.notes = before.findings, before.notes
	}()
	for _, i := range around.ingresses {
		if err := s.convertIngress(i, around); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) convertIngress(i *networkingv1.Ingress, around *surroundings) error {
	class, known := s.class(i)
	if !ingress.Managed(i, class, true) {
		if class == nil && s.objects.Complete {
			s.note("Ingress %s is not served: no file has its IngressClass %s; the class %s is there without a file", keyOf(i), ingress.ClassOf(i), api.IngressClassName(s.options.Router))
		}
		return nil
	}
	if name := ingress.ClassOf(i); !known && name != api.IngressClassName(s.options.Router) {
		s.note("IngressClass %s is not known; it is taken as Fairlead's", name)
	}
	in := around.input(i)
	in.Class = class
	out := ingress.Convert(in)
	s.findings = append(s.findings, s.withoutUnknown(i, out.Findings)...)
	if !s.objects.converts(i.Namespace) {
		return nil
	}
	return s.addConverted(i, out.Routes)
}

// addConverted takes in the routes that were made of an Ingress.
func (s *Snapshot) addConverted(i *networkingv1.Ingress, routes []*routev1.Route) error {
	for _, r := range routes {
		was := s.objects.Routes[keyOf(r)]
		inCluster := was != nil && !s.objects.Offline && ingress.Owner(was) == i.Name
		r.CreationTimestamp = i.CreationTimestamp
		switch {
		case inCluster:
			r.UID, r.CreationTimestamp, r.Status = was.UID, was.CreationTimestamp, was.Status
		case s.objects.Complete:
			r.UID = types.UID(string(i.UID) + "/" + r.Name)
		}
		s.objects.order[refOf(r)] = s.objects.order[refOf(i)]
		s.objects.Files[refOf(r)] = s.objects.Files[refOf(i)]
		rkey := keyOf(r)
		taken := was != nil && !inCluster
		switch {
		case taken && !s.objects.stopsAtNames():
			s.findings = append(s.findings, api.Finding{
				Object: refOf(i), Reason: api.ReasonRouteNameTaken, Severity: api.SeverityError,
				Message: "Route " + r.Name + " exists and does not belong to the Ingress", Effect: "the path is not served",
			})
			continue
		case taken:
			return fmt.Errorf("two objects meet: Ingress %s and Route %s: the Ingress becomes a Route of the same name; rename the Route", keyOf(i), rkey)
		}
		s.source.add(rkey, r)
		if why := s.unknownCertificate(i, r); why != "" {
			s.source.unreadable[rkey] = why
		}
	}
	return nil
}

// stopsAtNames reports whether an Ingress that becomes a Route of the name of another one
// ends all: manifests alone are then at odds with themselves.
func (o *Objects) stopsAtNames() bool { return o.Offline && !o.Complete }

// class returns the class that an Ingress names, nil if there is none, and
// whether it is known. Manifests seldom have the class: one that cannot be
// looked up is taken as Fairlead's.
func (s *Snapshot) class(i *networkingv1.Ingress) (class *networkingv1.IngressClass, known bool) {
	name := ingress.ClassOf(i)
	class = s.objects.Classes[name]
	if s.objects.Complete && (class != nil || name != api.IngressClassName(s.options.Router)) {
		return class, true
	}
	if class == nil && name != "" && (s.objects.Offline || !s.objects.readable("IngressClass", "")) {
		return &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: api.IngressClassController}}, false
	}
	return class, true
}

// withoutUnknown drops findings that only say that something is not known.
func (s *Snapshot) withoutUnknown(i *networkingv1.Ingress, findings []api.Finding) []api.Finding {
	var kept []api.Finding
	for _, f := range findings {
		switch {
		case f.Reason == api.ReasonBackendNotFound && !s.objects.readable("Service", i.Namespace):
		case f.Reason == api.ReasonCertificateInvalid && s.unknownSecret(i, f.Field):
		default:
			kept = append(kept, f)
		}
	}
	return kept
}

// unknownSecret reports whether the Secret of a field "spec.tls[0].secretName"
// is not known.
func (s *Snapshot) unknownSecret(i *networkingv1.Ingress, field string) bool {
	for n, t := range i.Spec.TLS {
		if field != fmt.Sprintf("spec.tls[%d].secretName", n) {
			continue
		}
		key := model.Object{Kind: door.KindSecret, Namespace: i.Namespace, Name: t.SecretName}
		if why := s.objects.secretGap(key); why != "" {
			s.note("Secret %s of Ingress %s %s", key, i.Name, why)
			return true
		}
	}
	return false
}

// unknownCertificate says why the certificate of a route that was made of an
// Ingress is not known, or returns "".
func (s *Snapshot) unknownCertificate(i *networkingv1.Ingress, r *routev1.Route) string {
	if r.Spec.TLS == nil || r.Spec.TLS.Certificate != "" || r.Spec.TLS.ExternalCertificate != nil || r.Spec.TLS.Termination == routev1.TLSTerminationPassthrough {
		return ""
	}
	for _, t := range i.Spec.TLS {
		key := model.Object{Kind: door.KindSecret, Namespace: i.Namespace, Name: t.SecretName}
		if t.SecretName == "" || !slices.Contains(t.Hosts, r.Spec.Host) {
			continue
		}
		if why := s.objects.secretGap(key); why != "" {
			return "Secret " + key.String() + " " + why
		}
	}
	return ""
}
