package filesource

import (
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// ConfigNamespace holds the ConfigMaps that an IngressController names, as in a cluster.
const ConfigNamespace = "openshift-config"

const kindNamespace = policy.KindNamespace

// merged is what all files say together.
type merged struct {
	objects *explain.Objects
	// raw are the objects as the files have them. The same pointer means the same
	// object.
	raw map[api.ObjectRef]metav1.Object
	// from is the file of each.
	from     map[api.ObjectRef]string
	problems []explain.Problem
	kept     int
}

// merge puts files together, which are in the order that counts: of two manifests of an
// object, the one in the first file is used.
func merge(files []*file, ages *ages, now time.Time) *merged {
	m := &merged{objects: explain.NewObjects(), raw: map[api.ObjectRef]metav1.Object{}, from: map[api.ObjectRef]string{}}
	m.objects.Offline, m.objects.Complete = true, true
	before, there, hasSlices := len(ages.known), map[string]bool{}, map[[2]string]bool{}
	for _, f := range files {
		m.kept += f.kept
		m.problems = append(m.problems, f.problems...)
		for _, doc := range f.manifests {
			if first, twice := m.objects.Files[doc.Ref]; twice {
				m.problems = append(m.problems, explain.Problem{File: doc.At, Finding: api.Finding{
					Object: doc.Ref, Reason: api.ReasonDuplicateObject, Severity: api.SeverityWarning,
					Message: "the object is also in " + first, Effect: "that one counts, this one is left out",
				}})
				continue
			}
			ages.complete(doc.Ref, doc.Object, now)
			there[doc.Ref.String()] = true
			m.objects.Files[doc.Ref], m.raw[doc.Ref], m.from[doc.Ref] = doc.At, doc.Object, f.path
			m.objects.Add(doc.Object)
			if s, ok := doc.Object.(*discoveryv1.EndpointSlice); ok {
				hasSlices[[2]string{s.Namespace, s.Labels[discoveryv1.LabelServiceName]}] = true
			}
		}
	}
	for ref, o := range m.raw {
		if s, ok := o.(*corev1.Service); ok {
			for _, finding := range nameEndpoints(m.objects, s, hasSlices[[2]string{s.Namespace, s.Name}]) {
				m.problems = append(m.problems, explain.Problem{Finding: finding, File: m.objects.Files[ref]})
			}
		}
	}
	m.nameNamespaces()
	ages.forget(there, before, now)
	m.objects.Problems = m.problems
	return m
}

// nameNamespaces makes the namespaces of objects, each with the label that the API server
// gives it.
func (m *merged) nameNamespaces() {
	names := map[string]bool{}
	for ref := range m.raw {
		names[ref.Namespace] = names[ref.Namespace] || ref.Namespace != ""
	}
	for name := range names {
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if given := m.objects.Namespaces[name]; given != nil {
			made = given.DeepCopy()
		}
		if made.Labels == nil {
			made.Labels = map[string]string{}
		}
		made.Labels[corev1.LabelMetadataName] = name
		if name != "" {
			m.objects.Add(made)
		}
	}
}

// differences calls mark for each object, apart from Routes and what becomes one, of
// which two sets differ, and reports whether the router's settings may differ. It
// returns the files with differences, of Routes as well.
func (m *merged) differences(before *merged, mark func(model.Object)) (settings bool, files map[string]bool) {
	files = map[string]bool{}
	compare := func(ref api.ObjectRef, a, b metav1.Object) {
		if a == b {
			return
		}
		for _, from := range []map[api.ObjectRef]string{m.from, before.from} {
			if path := from[ref]; path != "" {
				files[path] = true
			}
		}
		for _, o := range []metav1.Object{a, b} {
			if o != nil {
				settings = markOf(o, mark) || settings
			}
		}
	}
	for ref, o := range m.raw {
		compare(ref, o, before.raw[ref])
	}
	for ref, o := range before.raw {
		if m.raw[ref] == nil {
			compare(ref, o, nil)
		}
	}
	return settings, files
}

// markOf marks what depends on an object, and reports whether settings do.
func markOf(o metav1.Object, mark func(model.Object)) (settings bool) {
	key := func(kind model.Kind) model.Object {
		return model.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}
	}
	switch v := o.(type) {
	case *corev1.Service:
		mark(key(door.KindService))
	case *discoveryv1.EndpointSlice:
		mark(model.Object{Kind: door.KindService, Namespace: v.Namespace, Name: v.Labels[discoveryv1.LabelServiceName]})
	case *corev1.Secret:
		mark(key(door.KindSecret))
	case *corev1.ConfigMap:
		mark(key(door.KindConfigMap))
		return v.Namespace == ConfigNamespace
	case *v1alpha1.RoutePolicy:
		mark(key(policy.KindRoutePolicy))
	case *v1alpha1.ClusterRoutePolicy:
		mark(key(policy.KindClusterRoutePolicy))
	case *gatewayv1.ReferenceGrant:
		mark(door.GrantsOf(v.Namespace))
	case *corev1.Namespace:
		mark(model.Object{Kind: kindNamespace, Name: v.Name})
	case *operatorv1.IngressController:
		return true
	}
	return false
}
