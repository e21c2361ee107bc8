package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// Detail is all that there is to say about one Route.
type Detail struct {
	Row Row
	// Why has its URLs, what shadows it, its findings and what to do next; Ingress what
	// is wrong with the Ingress that it was made of.
	Why     *Why
	Ingress []Finding
	// Policies are in force for its requests, if it is served.
	Policies []Policy
	// Pods are its endpoints, those that are not ready included.
	Pods []Pod
	// PodsKnown is false if the endpoints could not be read, or the manifests have none.
	PodsKnown bool
	// Certificate is what clients of its host are shown; nil if the router ends no TLS.
	Certificate *Cert
	// Words are what the routers themselves say in the status.
	Words []RouterWord
	// Manifest is the Route in YAML, without private keys and without what the API server
	// keeps for itself.
	Manifest string
}

// Pod is an endpoint of a Route.
type Pod struct {
	// Name is the pod's, or empty for an endpoint that is none.
	Name    string
	Service string
	Address string
	Ready   bool
	// Weight is HAProxy's, 0 to 256. Share is the percentage of requests without sticky
	// cookie. Both are 0 for endpoints that are not ready.
	Weight int
	Share  float64
}

// RouterWord is the condition Admitted that a router wrote.
type RouterWord struct {
	Router, Reason, Message string
	Admitted                bool
}

// Detail returns what there is to say about a Route. The error says what to ask instead.
func (s *Snapshot) Detail(namespace, name string) (*Detail, error) {
	key := model.Object{Kind: route.Kind, Namespace: namespace, Name: name}
	y, err := s.Why(string(route.Kind), namespace, name)
	if err != nil {
		return nil, err
	}
	d := &Detail{Row: s.row(key), Why: y, PodsKnown: len(s.unknownServices(key)) == 0, Words: words(s.source.routes[key])}
	if c, served := s.pipeline.Claim(key); served {
		d.Policies = s.policies(c, nil)
		d.Pods = s.pods(key, &c.Backend)
	}
	if i := s.source.ingress[key]; i != "" {
		if of, err := s.Why("ingress", namespace, i); err == nil {
			d.Ingress = of.Findings
		}
	}
	if list, err := s.Certs(CertArgs{Namespace: namespace, Name: name}); err == nil && len(list.Items) > 0 {
		d.Certificate = &list.Items[0]
	}
	d.Manifest, err = manifestOf(s.source.routes[key])
	return d, err
}

// pods lists the servers of a backend, and then the endpoints of the Route's Services
// that are not ready.
func (s *Snapshot) pods(key model.Object, b *model.Backend) []Pod {
	total := 0
	for i := range b.Servers {
		total += b.Servers[i].Weight
	}
	var out []Pod
	for i := range b.Servers {
		p := podOf(&b.Servers[i])
		if total > 0 {
			p.Share = percent(b.Servers[i].Weight, total)
		}
		out = append(out, p)
	}
	for _, service := range s.pipeline.Services(key) {
		out = append(out, s.notReady(service)...)
	}
	return out
}

// notReady lists the endpoints of a Service that get no requests yet, or no more.
func (s *Snapshot) notReady(service model.Object) (out []Pod) {
	for _, slice := range s.objects.Slices[service] {
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			if ready(e) || len(e.Addresses) == 0 {
				continue
			}
			p := Pod{Service: service.Name, Address: e.Addresses[0]}
			if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
				p.Name = e.TargetRef.Name
			}
			out = append(out, p)
		}
	}
	return out
}

// ready takes an endpoint without the condition as ready, as the API says.
func ready(e *discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

// words are the Admitted conditions of a Route, by router.
func words(r *routev1.Route) (out []RouterWord) {
	for _, i := range r.Status.Ingress {
		for _, c := range i.Conditions {
			if c.Type == routev1.RouteAdmitted {
				out = append(out, RouterWord{Router: i.RouterName, Reason: c.Reason, Message: c.Message, Admitted: c.Status == corev1.ConditionTrue})
			}
		}
	}
	slices.SortFunc(out, func(a, b RouterWord) int { return strings.Compare(a.Router, b.Router) })
	return out
}

const (
	// keyLeftOut takes the place of private keys.
	keyLeftOut = "(a private key, which is not shown)"
	// lastApplied repeats the whole object in an annotation, the key included.
	lastApplied = corev1.LastAppliedConfigAnnotation
)

// anyKey is a private key wherever it is, also if it has no end.
var anyKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`)

// manifestOf returns a Route in YAML. The key goes before the text is made: whatever is in
// that field is one. Keys elsewhere, where users paste them by mistake, go after that.
func manifestOf(r *routev1.Route) (string, error) {
	shown := r.DeepCopy()
	shown.APIVersion, shown.Kind = routev1.GroupVersion.String(), string(route.Kind)
	shown.ManagedFields = nil
	delete(shown.Annotations, lastApplied)
	if shown.Spec.TLS != nil && shown.Spec.TLS.Key != "" {
		shown.Spec.TLS.Key = keyLeftOut
	}
	shown.Status = routev1.RouteStatus{}
	for name, text := range shown.Annotations {
		shown.Annotations[name] = anyKey.ReplaceAllString(text, keyLeftOut)
	}
	if t := shown.Spec.TLS; t != nil {
		for _, field := range []*string{&t.Certificate, &t.CACertificate, &t.DestinationCACertificate} {
			*field = anyKey.ReplaceAllString(*field, keyLeftOut)
		}
	}
	text, err := yaml.Marshal(shown)
	if err != nil {
		return "", fmt.Errorf("write Route %s/%s as YAML: %w", r.Namespace, r.Name, err)
	}
	return string(text), nil
}
