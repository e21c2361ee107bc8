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
	objects  *explain.Objects
	files    []*file
	problems []explain.Problem
	kept     int
}

// sourced is an object with its file.
type sourced struct {
	object metav1.Object
	file   *file
}

// raw returns the objects as the files have them. The same pointer means the same object. It is
// made each time: changes are rare, and a map of 30,000 objects is megabytes.
func (m *merged) raw() map[api.ObjectRef]sourced {
	all := make(map[api.ObjectRef]sourced, len(m.objects.Files))
	for _, f := range m.files {
		for _, h := range f.manifests {
			if ref := explain.Ref(h.object); all[ref].object == nil {
				all[ref] = sourced{h.object, f}
			}
		}
	}
	return all
}

// merge puts files together, which are in the order that counts: of two manifests of an
// object, the one in the first file is used.
func merge(files []*file, ages *ages, now time.Time) *merged {
	m := &merged{objects: explain.NewObjects(), files: files}
	m.objects.Offline, m.objects.Complete = true, true
	before, there, hasSlices := len(ages.known), map[string]bool{}, map[[2]string]bool{}
	namespaces := map[string]struct{}{}
	var named []*corev1.Service
	for _, f := range files {
		m.kept += f.kept
		m.problems = append(m.problems, f.problems...)
		for _, h := range f.manifests {
			ref := explain.Ref(h.object)
			if first, twice := m.objects.Files[ref]; twice {
				m.problems = append(m.problems, explain.Problem{File: h.at, Finding: api.Finding{
					Object: ref, Reason: api.ReasonDuplicateObject, Severity: api.SeverityWarning,
					Message: "the object is also in " + first, Effect: "that one counts, this one is left out",
				}})
				continue
			}
			ages.complete(ref, h.object, now)
			there[ref.String()] = true
			m.objects.Files[ref] = h.at
			m.objects.Add(h.object)
			namespaces[ref.Namespace] = struct{}{}
			switch v := h.object.(type) {
			case *discoveryv1.EndpointSlice:
				hasSlices[[2]string{v.Namespace, v.Labels[discoveryv1.LabelServiceName]}] = true
			case *corev1.Service:
				if _, asks := v.Annotations[api.AnnotationEndpoints]; asks {
					named = append(named, v)
				}
			}
		}
	}
	for _, v := range named {
		for _, finding := range nameEndpoints(m.objects, v, hasSlices[[2]string{v.Namespace, v.Name}]) {
			m.problems = append(m.problems, explain.Problem{Finding: finding, File: m.objects.Files[explain.Ref(v)]})
		}
	}
	m.nameNamespaces(namespaces)
	ages.forget(there, before, now)
	m.objects.Problems = m.problems
	return m
}

// nameNamespaces makes the namespaces of objects, each with the label that the API server
// gives it.
func (m *merged) nameNamespaces(names map[string]struct{}) {
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
	compare := func(a, b sourced) {
		if a.object == b.object {
			return
		}
		for _, of := range []sourced{a, b} {
			if of.object != nil {
				files[of.file.path] = true
				settings = markOf(of.object, mark) || settings
			}
		}
	}
	now, then := m.raw(), before.raw()
	for ref, o := range now {
		compare(o, then[ref])
	}
	for ref, o := range then {
		if now[ref].object == nil {
			compare(o, sourced{})
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
