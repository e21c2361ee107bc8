package policy

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/spelling"
)

// KindNamespace is that of namespaces, whose annotations say which policy is for all of
// their objects.
const KindNamespace model.Kind = "Namespace"

// Namespace is what of a namespace decides which policies are for its objects. It is
// never changed.
type Namespace struct {
	Labels map[string]string
	// defaultPolicy is the RoutePolicy that is for all objects of the namespace, or empty.
	defaultPolicy string
	// problems are annotations of which it is not known what they keep out.
	problems []Problem
}

// NewNamespace reads the labels and annotations of a namespace, of which it keeps the
// labels.
func NewNamespace(labels, annotations map[string]string) *Namespace {
	n := &Namespace{Labels: labels}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		switch v := annotations[key]; {
		case !strings.HasPrefix(key, ownPrefix):
		case key == api.AnnotationDefaultPolicy && len(validation.IsDNS1123Subdomain(v)) == 0:
			n.defaultPolicy = v
		case key == api.AnnotationDefaultPolicy:
			n.problems = append(n.problems, closing(key, "must be the name of a RoutePolicy"))
		case spelling.Distance(key, api.AnnotationDefaultPolicy, misspelt+1) <= misspelt:
			n.problems = append(n.problems, closing(key, "the router does not read this annotation, and "+api.AnnotationDefaultPolicy+" may be meant"))
		case Protects(key):
			n.problems = append(n.problems, closing(key, "is for Routes and Ingresses; name a RoutePolicy that protects with "+api.AnnotationDefaultPolicy))
		}
	}
	return n
}

// SamePolicy reports whether two versions of a namespace, neither of them nil, differ at
// most in their labels.
func (n *Namespace) SamePolicy(o *Namespace) bool {
	return n.defaultPolicy == o.defaultPolicy && slices.Equal(n.problems, o.problems)
}

// names reports whether the namespace, which may be nil, has a policy of that name for all
// of its objects.
func (n *Namespace) names(policy string) bool { return n != nil && n.defaultPolicy == policy }

// addNamespace closes where the namespace names a policy that is not there: it may be one
// that protects.
func (s *Selection) addNamespace(p *Place, in *Set) {
	if p.Namespace == nil {
		return
	}
	key := model.Object{Kind: KindNamespace, Name: p.Object.Namespace}
	s.addProblems(p, key, p.Namespace.problems)
	if name := p.Namespace.defaultPolicy; name != "" && in.Get(name) == nil {
		s.addMissing(p, key, api.AnnotationDefaultPolicy, name)
	}
}

// addMissing closes an object for which an annotation names a policy that is not there.
func (s *Selection) addMissing(p *Place, by model.Object, annotation, name string) {
	s.Depends = append(s.Depends, model.Object{Kind: KindRoutePolicy, Namespace: p.Object.Namespace, Name: name})
	s.closings = append(s.closings, Closing{
		Key: by, Field: field(annotation), Reason: api.ReasonTargetNotFound,
		Message: "there is no RoutePolicy \"" + name + "\" in the namespace",
	})
}

// addProblems takes in what is wrong with annotations of another object, a Namespace or
// Service. What the object itself has by the same key counts there.
func (s *Selection) addProblems(p *Place, of model.Object, problems []Problem) {
	for _, problem := range problems {
		if _, own := p.Annotations[problem.Key]; own {
			continue
		}
		c := Closing{Key: of, Field: field(problem.Key), Reason: problem.Reason, Message: problem.Message, Effect: problem.Effect}
		if problem.Closes {
			s.closings = append(s.closings, c)
		} else {
			s.unapplied = append(s.unapplied, c)
		}
	}
}
