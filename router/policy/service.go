package policy

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/spelling"
)

// KindService is that of Services, whose annotations and policies say how requests get to
// their pods.
const KindService model.Kind = "Service"

// ServicePolicy is what the annotations of a Service say, read once for each version. It
// is never changed.
type ServicePolicy struct {
	key model.Object
	// source has the groups that are set, or is nil.
	source *Source
	// problems are annotations that are wrong, or in the wrong place.
	problems []Problem
	// annotations are all that were read.
	annotations map[string]string
}

// ReadService reads the annotations of a Service under our own prefix. It returns nil if
// there are none, as of most Services.
func ReadService(o metav1.Object) *ServicePolicy {
	p := &ServicePolicy{key: model.Object{Kind: KindService, Namespace: o.GetNamespace(), Name: o.GetName()}}
	for key, v := range o.GetAnnotations() {
		if strings.HasPrefix(key, ownPrefix) && key != api.AnnotationEndpoints {
			if p.annotations == nil {
				p.annotations = map[string]string{}
			}
			p.annotations[key] = v
		}
	}
	if p.annotations == nil {
		return nil
	}
	var spec Spec
	fields := map[Group]string{}
	for i := range table {
		row := &table[i]
		v, set := p.annotations[row.Key]
		if !set || !row.OfServices {
			continue
		}
		before := spec
		if err := row.set(&spec, v); err != nil {
			spec = before
			p.problems = append(p.problems, Problem{Key: row.Key, Severity: api.SeverityWarning, Reason: ReasonOf(err, api.ReasonInvalidAnnotation), Message: err.Error(), Effect: effectDefault})
			continue
		}
		fields[row.Group] = field(row.Key)
	}
	if len(fields) > 0 {
		p.source = &Source{Rank: RankService, Key: p.key, Created: o.GetCreationTimestamp().Time, UID: string(o.GetUID()), Spec: &spec.Groups, Fields: fields}
	}
	p.misplaced()
	return p
}

// misplaced finds annotations that have no effect on a Service. One that protects a Route
// was meant to keep requests out, so it closes. Others have readers of their own, such as
// the controllers of load balancers.
func (p *ServicePolicy) misplaced() {
	for _, key := range slices.Sorted(maps.Keys(p.annotations)) {
		at := slices.IndexFunc(table, func(a Annotation) bool { return a.Key == key })
		near, protects := "", false
		if at < 0 {
			near, protects = Nearest(key)
		}
		message := "is for Routes and Ingresses, and protects nothing on a Service; name the Service in the targetRefs of a RoutePolicy, or set it there"
		switch {
		case at >= 0 && table[at].OfServices:
		case at >= 0 && table[at].protects != nil:
			p.problems = append(p.problems, closing(key, message))
		case at >= 0:
			p.problems = append(p.problems, Problem{Key: key, Severity: api.SeverityWarning, Reason: api.ReasonUnknownAnnotation, Message: "is for Routes and Ingresses", Effect: "it has no effect"})
		case protects:
			p.problems = append(p.problems, closing(key, "the router does not read this annotation, and "+near+", which protects, may be meant"))
		case nearService(key) != "":
			p.problems = append(p.problems, Problem{
				Key: key, Severity: api.SeverityWarning, Reason: api.ReasonUnknownAnnotation,
				Message: "the router does not read this annotation; " + nearService(key) + " may be meant", Effect: "it has no effect",
			})
		}
	}
}

// nearService returns the annotation of Services that an unknown one may be meant to be, or
// an empty text.
func nearService(key string) string {
	for i := range table {
		if table[i].OfServices && spelling.Distance(key, table[i].Key, misspelt+1) <= misspelt {
			return table[i].Key
		}
	}
	return ""
}

// Equal reports whether two versions, either of which may be nil, mean the same.
func (p *ServicePolicy) Equal(o *ServicePolicy) bool {
	if p == nil || o == nil {
		return p == o
	}
	return maps.Equal(p.annotations, o.annotations) && (p.source == nil || p.source.UID == o.source.UID)
}

// AddService takes in what a Service of the object says, which may be nil.
func (s *Selection) AddService(p *Place, of *ServicePolicy) {
	if of == nil || slices.Contains(s.services, of.key) {
		return
	}
	s.services = append(s.services, of.key)
	s.addProblems(p, of.key, of.problems)
	if of.source != nil {
		s.Sources = append(s.Sources, of.source)
	}
}
