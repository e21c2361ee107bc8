package explain

import (
	"fmt"
	"maps"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/convert"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// Objects are what the answers are made from.
type Objects struct {
	Routes      map[model.Object]*routev1.Route
	Ingresses   map[model.Object]*networkingv1.Ingress
	Services    map[model.Object]*corev1.Service
	Slices      map[model.Object][]*discoveryv1.EndpointSlice // by Service
	Secrets     map[model.Object]*corev1.Secret
	ConfigMaps  map[model.Object]*corev1.ConfigMap
	Controllers map[string]*operatorv1.IngressController
	Classes     map[string]*networkingv1.IngressClass
	Namespaces  map[string]*corev1.Namespace
	// Policies are RoutePolicies and ClusterRoutePolicies.
	Policies map[model.Object]*policy.Object
	// Gateways are the objects of the Gateway API: classes, Gateways, ListenerSets, routes,
	// grants and policies.
	Gateways map[model.Object]metav1.Object
	// Admitted are the specs of IngressControllers that were admitted last, as
	// far as they are known.
	Admitted map[string]*operatorv1.IngressControllerSpec

	// Offline is true for manifests: then a missing object is one that the
	// manifests do not have, and Ingresses are yet to be converted.
	Offline bool
	// Complete is true for manifests that are all there is, as for a standalone router:
	// then what they do not have does not exist, and endpoints may be programs of this
	// machine.
	Complete bool
	// Gaps say what could not be read, and why.
	Gaps []Gap
	// Problems were found while decoding manifests.
	Problems []Problem
	// Files say where a manifest stands, as "file:line".
	Files map[api.ObjectRef]string

	// order is that of manifests, which have no other age and name of their own.
	order map[api.ObjectRef]int
	// converted are the RoutePolicies that a former conversion has made.
	converted map[model.Object]bool
	// overlay is empty but for the sides of Apply.
	overlay overlay
	// seen says which namespaces the user may see; nil is for all.
	seen func(namespace string) bool
}

// Problem is a finding about a manifest.
type Problem struct {
	api.Finding
	// File is where the manifest stands, as "file:line".
	File string
}

// Gap is a kind of object that could not be read in a namespace, or in all
// namespaces if that is empty.
type Gap struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Except is the one namespace that could be read.
	Except string `json:"except,omitempty"`
	Why    string `json:"why"`
}

// String returns the gap as a sentence.
func (g Gap) String() string {
	what := plural(g.Kind) + " of all namespaces"
	switch {
	case g.Kind == "Namespace":
		what = "annotations and labels of namespaces, which may name policies,"
	case g.Name != "":
		what = g.Kind + " " + g.Namespace + "/" + g.Name
	case g.Namespace != "":
		what = plural(g.Kind) + " of namespace " + g.Namespace
	}
	return what + " could not be read: " + g.Why
}

// NewObjects returns an empty set.
func NewObjects() *Objects {
	return &Objects{
		Routes: map[model.Object]*routev1.Route{}, Ingresses: map[model.Object]*networkingv1.Ingress{},
		Services: map[model.Object]*corev1.Service{}, Slices: map[model.Object][]*discoveryv1.EndpointSlice{},
		Secrets: map[model.Object]*corev1.Secret{}, ConfigMaps: map[model.Object]*corev1.ConfigMap{}, Controllers: map[string]*operatorv1.IngressController{},
		Classes: map[string]*networkingv1.IngressClass{}, Namespaces: map[string]*corev1.Namespace{},
		Policies: map[model.Object]*policy.Object{}, Gateways: map[model.Object]metav1.Object{},
		Admitted: map[string]*operatorv1.IngressControllerSpec{}, Files: map[api.ObjectRef]string{}, order: map[api.ObjectRef]int{},
		converted: map[model.Object]bool{},
	}
}

// Add takes an object in. Kinds that play no part are ignored. Of two
// manifests of one object the later one counts, as with kubectl apply.
func (o *Objects) Add(object metav1.Object) {
	key := keyOf(object)
	ref := refOf(object)
	if _, known := o.order[ref]; !known && object.GetUID() == "" {
		o.order[ref] = len(o.order)
	}
	switch v := object.(type) {
	case *routev1.Route:
		o.Routes[key] = v
	case *networkingv1.Ingress:
		o.Ingresses[key] = v
	case *corev1.Service:
		o.Services[key] = v
	case *discoveryv1.EndpointSlice:
		service := serviceOfSlice(v)
		o.Slices[service] = append(slices.DeleteFunc(o.Slices[service], func(s *discoveryv1.EndpointSlice) bool { return s.Name == v.Name }), v)
	case *corev1.Secret:
		o.Secrets[key] = v
	case *corev1.ConfigMap:
		o.ConfigMaps[key] = v
	case *operatorv1.IngressController:
		o.Controllers[v.Name] = v
	case *networkingv1.IngressClass:
		o.Classes[v.Name] = v
	case *corev1.Namespace:
		o.Namespaces[v.Name] = v
	case *v1alpha1.RoutePolicy:
		o.Policies[key], o.converted[key] = policy.ReadRoutePolicy(v), v.Annotations[convert.Origin] != ""
	case *v1alpha1.ClusterRoutePolicy:
		o.Policies[key] = policy.ReadClusterRoutePolicy(v)
	default:
		if ref.Group == gatewayv1.GroupName {
			o.Gateways[key] = object
		}
	}
}

// readable reports whether it is known which objects of a kind a namespace has.
func (o *Objects) readable(kind, namespace string) bool {
	if o.seen != nil && !o.seen(namespace) {
		return false
	}
	return !slices.ContainsFunc(o.Gaps, func(g Gap) bool {
		return g.Kind == kind && g.Name == "" && (namespace == "" || g.Except != namespace) && (g.Namespace == "" || g.Namespace == namespace)
	})
}

// secretGap returns why a Secret is not known, or "". Manifests seldom have
// Secrets, so a missing one is no fault of theirs.
func (o *Objects) secretGap(key model.Object) string { return o.gapOf(key, o.Secrets[key] != nil) }

// gapOf does the same for an object of another kind that routes name.
func (o *Objects) gapOf(key model.Object, known bool) string {
	if o.Offline && !known && !o.Complete {
		return "is not among the manifests"
	}
	if o.seen != nil && !known && !o.seen(key.Namespace) {
		return "could not be read: " + notShown
	}
	for _, g := range o.Gaps {
		if model.Kind(g.Kind) == key.Kind && (g.Namespace == "" || g.Namespace == key.Namespace) && (g.Name == "" || g.Name == key.Name) {
			return "could not be read: " + g.Why
		}
	}
	return ""
}

// ControllerNames returns the names of the IngressControllers, sorted.
func (o *Objects) ControllerNames() []string { return slices.Sorted(maps.Keys(o.Controllers)) }

func keyOf(o metav1.Object) model.Object {
	return model.Object{Kind: model.Kind(refOf(o).Kind), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Ref names an object as findings do.
func Ref(o metav1.Object) api.ObjectRef { return refOf(o) }

func refOf(o metav1.Object) api.ObjectRef {
	r := api.ObjectRef{Namespace: o.GetNamespace(), Name: o.GetName()}
	switch o.(type) {
	case *routev1.Route:
		r.Group, r.Kind = routev1.GroupName, "Route"
	case *networkingv1.Ingress:
		r.Group, r.Kind = networkingv1.GroupName, "Ingress"
	case *networkingv1.IngressClass:
		r.Group, r.Kind = networkingv1.GroupName, "IngressClass"
	case *corev1.Service:
		r.Kind = "Service"
	case *discoveryv1.EndpointSlice:
		r.Group, r.Kind = discoveryv1.GroupName, "EndpointSlice"
	case *corev1.Secret:
		r.Kind = "Secret"
	case *corev1.ConfigMap:
		r.Kind = "ConfigMap"
	case *operatorv1.IngressController:
		r.Group, r.Kind = operatorv1.GroupName, "IngressController"
	case *corev1.Namespace:
		r.Kind = "Namespace"
	case *v1alpha1.RoutePolicy:
		r.Group, r.Kind = v1alpha1.Group, string(policy.KindRoutePolicy)
	case *v1alpha1.ClusterRoutePolicy:
		r.Group, r.Kind = v1alpha1.Group, string(policy.KindClusterRoutePolicy)
	default:
		if r.Kind = gatewayKind(o); r.Kind != "" {
			r.Group = gatewayv1.GroupName
			return r
		}
		r.Kind = fmt.Sprintf("%T", o)
	}
	return r
}
