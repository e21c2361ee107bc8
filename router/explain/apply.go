package explain

import (
	"maps"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/ingress"
	"github.com/fairlead/fairlead/router/model"
)

// overlay says how the objects of a cluster with manifests upon them differ from what
// was read from the cluster.
type overlay struct {
	// applied are the objects that come from manifests.
	applied map[api.ObjectRef]bool
	// namespaces are those whose Ingresses become Routes here, and not in the cluster:
	// what an Ingress becomes depends on other objects of its namespace.
	namespaces map[string]bool
	// services are those that only manifests have. Their pods are yet to come.
	services map[model.Object]bool
}

// Apply returns what there is before and after manifests are applied to the objects of a
// cluster; none of the three is changed. With prune, Routes, Ingresses, RoutePolicies
// and objects of the Gateway API that manifests of their namespace do not have are gone afterwards.
//
// Before is what was read, with the Routes of Ingresses made here on both sides, so that
// nothing but the manifests makes a difference.
func (o *Objects) Apply(manifests *Objects, prune bool) (before, after *Objects) {
	l := overlay{applied: map[api.ObjectRef]bool{}, namespaces: map[string]bool{}, services: map[model.Object]bool{}}
	for _, object := range manifests.all() {
		l.applied[refOf(object)] = true
		if ns := object.GetNamespace(); ns != "" && o.readable("Ingress", ns) {
			l.namespaces[ns] = true
		}
	}
	for key := range manifests.Services {
		if o.Services[key] == nil && o.readable("Service", key.Namespace) {
			l.services[key] = true
		}
	}
	before, after = o.copied(), o.copied()
	before.overlay = overlay{namespaces: l.namespaces}
	after.overlay = l
	if prune {
		after.prune(manifests)
	}
	after.Problems = slices.Clone(manifests.Problems)
	after.Files = maps.Clone(manifests.Files)
	for _, object := range manifests.all() {
		after.Add(o.living(object))
	}
	maps.Copy(after.Policies, manifests.Policies)
	for key := range manifests.Policies {
		ref := api.ObjectRef{Kind: string(key.Kind), Namespace: key.Namespace, Name: key.Name}
		if key.Namespace != "" {
			l.namespaces[key.Namespace] = true
		}
		l.applied[ref] = true
	}
	return before, after
}

// copied returns a set that can be changed without changing o.
func (o *Objects) copied() *Objects {
	c := *o
	c.Routes, c.Ingresses, c.Services = maps.Clone(o.Routes), maps.Clone(o.Ingresses), maps.Clone(o.Services)
	c.Slices = maps.Clone(o.Slices)
	for key, of := range c.Slices {
		c.Slices[key] = slices.Clone(of) // Add changes it
	}
	c.Secrets, c.ConfigMaps, c.Namespaces = maps.Clone(o.Secrets), maps.Clone(o.ConfigMaps), maps.Clone(o.Namespaces)
	c.Controllers, c.Classes, c.Policies = maps.Clone(o.Controllers), maps.Clone(o.Classes), maps.Clone(o.Policies)
	c.Admitted, c.Files, c.order = maps.Clone(o.Admitted), maps.Clone(o.Files), maps.Clone(o.order)
	c.Gateways, c.converted = maps.Clone(o.Gateways), maps.Clone(o.converted)
	return &c
}

// all lists the objects that are kept as they were read, in their order.
func (o *Objects) all() (all []metav1.Object) {
	all = appendAll(all, o.Routes)
	all = appendAll(all, o.Ingresses)
	all = appendAll(all, o.Services)
	all = appendAll(all, o.Secrets)
	all = appendAll(all, o.ConfigMaps)
	all = appendAll(all, o.Controllers)
	all = appendAll(all, o.Classes)
	all = appendAll(all, o.Namespaces)
	all = appendAll(all, o.Gateways)
	for _, of := range o.Slices {
		for _, s := range of {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b metav1.Object) int { return o.order[refOf(a)] - o.order[refOf(b)] })
	return all
}

func appendAll[K comparable, O metav1.Object](all []metav1.Object, from map[K]O) []metav1.Object {
	for _, object := range from {
		all = append(all, object)
	}
	return all
}

// living returns a manifest with what the object in the cluster keeps when it is applied:
// its identity, its age, and the host that was made for it.
func (o *Objects) living(manifest metav1.Object) metav1.Object {
	var old metav1.Object
	switch m := manifest.(type) {
	case *routev1.Route:
		was := o.Routes[keyOf(m)]
		if was == nil {
			return m
		}
		m = m.DeepCopy()
		if m.Spec.Host == "" && m.Spec.Subdomain == "" {
			m.Spec.Host = was.Spec.Host
		}
		m.Status = was.Status
		old, manifest = was, m
	case *networkingv1.Ingress:
		was := o.Ingresses[keyOf(m)]
		if was == nil {
			return m
		}
		old, manifest = was, m.DeepCopy()
	default:
		if old = o.Gateways[keyOf(manifest)]; old == nil || !OfGatewayAPI(gatewayKind(manifest)) {
			return manifest
		}
		manifest = copyOf(manifest)
	}
	manifest.SetUID(old.GetUID())
	manifest.SetCreationTimestamp(old.GetCreationTimestamp())
	return manifest
}

// copyOf returns a copy of an object of the Gateway API.
func copyOf(o metav1.Object) metav1.Object {
	if v, ok := o.(runtime.Object); ok {
		if c, ok := v.DeepCopyObject().(metav1.Object); ok {
			return c
		}
	}
	return o
}

// prune removes what manifests of the same namespace no longer have. Routes of Ingresses
// come and go with these.
func (o *Objects) prune(manifests *Objects) {
	here := map[string]bool{}
	for key := range manifests.Routes {
		here[key.Namespace] = true
	}
	for key := range manifests.Ingresses {
		here[key.Namespace] = true
	}
	for key := range manifests.Policies {
		here[key.Namespace] = true
	}
	for key := range manifests.Gateways {
		here[key.Namespace] = true
	}
	maps.DeleteFunc(o.Gateways, func(key model.Object, _ metav1.Object) bool {
		return key.Namespace != "" && here[key.Namespace] && manifests.Gateways[key] == nil
	})
	maps.DeleteFunc(o.Routes, func(key model.Object, r *routev1.Route) bool {
		return here[key.Namespace] && manifests.Routes[key] == nil && ingress.Owner(r) == ""
	})
	maps.DeleteFunc(o.Ingresses, func(key model.Object, _ *networkingv1.Ingress) bool {
		return here[key.Namespace] && manifests.Ingresses[key] == nil
	})
	for key := range o.Policies {
		if key.Namespace != "" && here[key.Namespace] && manifests.Policies[key] == nil {
			delete(o.Policies, key)
		}
	}
}

// converts reports whether Ingresses of a namespace become Routes here.
func (o *Objects) converts(namespace string) bool {
	return o.Offline || o.overlay.namespaces[namespace]
}

// pending reports whether a Service is only in manifests that are applied to a cluster, so
// that nothing can be known of its endpoints.
func (o *Objects) pending(service model.Object) bool {
	return o.overlay.services[service] && len(o.Slices[service]) == 0
}
