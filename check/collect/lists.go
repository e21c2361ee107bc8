package collect

import (
	"context"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/check"
)

// pageSize is that of kubectl.
const pageSize = 500

// kind is how to list objects of type T, in lists of type L.
type kind[L client.ObjectList, T any] struct {
	source check.Source
	empty  func() L
	items  func(L) []T
	// everywhere says that the objects are in all namespaces, so that the user's own
	// may be readable where not all are.
	everywhere bool
	options    []client.ListOption
	// keep, if set, says whether an object is judged, and removes from it what is not.
	keep func(*T) bool
}

// list returns a function that reads all objects of a kind into a slice.
func list[L client.ObjectList, T any](r *reader, into *[]T, k kind[L, T]) func(context.Context) {
	return func(ctx context.Context) {
		found, err := pages(ctx, r.client, k)
		switch {
		case err == nil || meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
			*into = found // a kind that does not exist has no objects
		case !apierrors.IsForbidden(err) || !k.everywhere || r.options.Namespace == "":
			r.gap(k.source, check.Reading{Why: reason(err)})
		default:
			k.options = append(k.options, client.InNamespace(r.options.Namespace))
			if found, err = pages(ctx, r.client, k); err != nil {
				r.gap(k.source, check.Reading{Why: reason(err)})
				return
			}
			*into = found
			r.gap(k.source, check.Reading{Why: forbidden, Only: r.options.Namespace})
		}
	}
}

// pages reads a list page by page. Each page has a list of its own: decoding into one
// that was used would change what was taken from it.
func pages[L client.ObjectList, T any](ctx context.Context, c client.Client, k kind[L, T]) ([]T, error) {
	var all []T
	for next := ""; ; {
		page := k.empty()
		options := append([]client.ListOption{client.Limit(pageSize), client.Continue(next)}, k.options...)
		err := c.List(ctx, page, options...)
		if apierrors.IsResourceExpired(err) && next != "" {
			all, next = nil, "" // it took too long: from the start
			continue
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // the caller looks at its kind
		}
		items := k.items(page)
		for i := range items {
			if k.keep == nil || k.keep(&items[i]) {
				all = append(all, items[i])
			}
		}
		if next = page.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// lists are what is read first.
func (r *reader) lists() []func(context.Context) {
	s := r.snapshot
	own := func(namespace string) []client.ListOption { return []client.ListOption{client.InNamespace(namespace)} }
	pods := func(source check.Source, namespace string, more ...client.ListOption) kind[*corev1.PodList, corev1.Pod] {
		return kind[*corev1.PodList, corev1.Pod]{
			source: source, options: append(own(namespace), more...),
			empty: func() *corev1.PodList { return &corev1.PodList{} }, items: func(l *corev1.PodList) []corev1.Pod { return l.Items },
		}
	}
	deployments := func(source check.Source, namespace string) kind[*appsv1.DeploymentList, appsv1.Deployment] {
		return kind[*appsv1.DeploymentList, appsv1.Deployment]{
			source: source, options: own(namespace),
			empty: func() *appsv1.DeploymentList { return &appsv1.DeploymentList{} }, items: func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items },
		}
	}
	leases := func(source check.Source, namespace string) kind[*coordinationv1.LeaseList, coordinationv1.Lease] {
		return kind[*coordinationv1.LeaseList, coordinationv1.Lease]{
			source: source, options: own(namespace),
			empty: func() *coordinationv1.LeaseList { return &coordinationv1.LeaseList{} }, items: func(l *coordinationv1.LeaseList) []coordinationv1.Lease { return l.Items },
		}
	}
	speakers := client.MatchingLabels{"app.kubernetes.io/component": "speaker"}
	return append([]func(context.Context){
		r.kinds, r.otherMetalLB, r.policies,
		list(r, &s.OperatorDeployments, deployments(check.SourceOperatorDeployments, api.OperatorNamespace)),
		list(r, &s.Deployments, deployments(check.SourceDeployments, api.OperandNamespace)),
		list(r, &s.OperatorPods, pods(check.SourceOperatorPods, api.OperatorNamespace)),
		list(r, &s.Pods, pods(check.SourcePods, api.OperandNamespace)),
		list(r, &s.SpeakerPods, pods(check.SourceSpeakerPods, api.ProviderNamespace, speakers)),
		list(r, &s.OperatorLeases, leases(check.SourceOperatorLeases, api.OperatorNamespace)),
		list(r, &s.Leases, leases(check.SourceLeases, api.OperandNamespace)),
		list(r, &s.Controllers, kind[*operatorv1.IngressControllerList, operatorv1.IngressController]{
			source: check.SourceControllers, options: own(api.OperatorNamespace),
			empty: func() *operatorv1.IngressControllerList { return &operatorv1.IngressControllerList{} },
			items: func(l *operatorv1.IngressControllerList) []operatorv1.IngressController { return l.Items },
		}),
		list(r, &s.Speakers, kind[*appsv1.DaemonSetList, appsv1.DaemonSet]{
			source: check.SourceSpeakers, options: own(api.ProviderNamespace),
			empty: func() *appsv1.DaemonSetList { return &appsv1.DaemonSetList{} }, items: func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items },
		}),
		list(r, &s.Events, kind[*corev1.EventList, corev1.Event]{
			source: check.SourceEvents, options: append(own(api.OperandNamespace), client.MatchingFields{"type": corev1.EventTypeWarning}),
			empty: func() *corev1.EventList { return &corev1.EventList{} }, items: func(l *corev1.EventList) []corev1.Event { return l.Items },
		}),
	}, append(r.userLists(), r.addressLists()...)...)
}

// userLists are the lists of objects that users write.
func (r *reader) userLists() []func(context.Context) {
	s := r.snapshot
	routes := func(context.Context) { s.Routes = r.options.Routes }
	if r.options.Routes == nil {
		routes = list(r, &s.Routes, kind[*routev1.RouteList, routev1.Route]{
			source: check.SourceRoutes, everywhere: true,
			keep:  func(v *routev1.Route) bool { v.ManagedFields = nil; return true }, // a half of 10,000 Routes
			empty: func() *routev1.RouteList { return &routev1.RouteList{} }, items: func(l *routev1.RouteList) []routev1.Route { return l.Items },
		})
	}
	return []func(context.Context){
		routes,
		list(r, &s.Ingresses, kind[*networkingv1.IngressList, networkingv1.Ingress]{
			source: check.SourceIngresses, everywhere: true,
			keep:  func(v *networkingv1.Ingress) bool { v.ManagedFields = nil; return true },
			empty: func() *networkingv1.IngressList { return &networkingv1.IngressList{} }, items: func(l *networkingv1.IngressList) []networkingv1.Ingress { return l.Items },
		}),
		list(r, &s.Services, kind[*corev1.ServiceList, corev1.Service]{
			source: check.SourceServices, everywhere: true,
			keep: func(v *corev1.Service) bool {
				return v.Spec.Type == corev1.ServiceTypeLoadBalancer || v.Namespace == api.OperandNamespace
			},
			empty: func() *corev1.ServiceList { return &corev1.ServiceList{} }, items: func(l *corev1.ServiceList) []corev1.Service { return l.Items },
		}),
		list(r, &s.Classes, kind[*networkingv1.IngressClassList, networkingv1.IngressClass]{
			source: check.SourceClasses,
			empty:  func() *networkingv1.IngressClassList { return &networkingv1.IngressClassList{} }, items: func(l *networkingv1.IngressClassList) []networkingv1.IngressClass { return l.Items },
		}),
		list(r, &s.Nodes, kind[*corev1.NodeList, corev1.Node]{
			source: check.SourceNodes,
			empty:  func() *corev1.NodeList { return &corev1.NodeList{} }, items: func(l *corev1.NodeList) []corev1.Node { return l.Items },
		}),
	}
}

// addressLists are the lists of objects about addresses.
func (r *reader) addressLists() []func(context.Context) {
	s := r.snapshot
	own := []client.ListOption{client.InNamespace(api.ProviderNamespace)}
	return []func(context.Context){
		list(r, &s.Pools, kind[*v1beta1.IPAddressPoolList, v1beta1.IPAddressPool]{
			source: check.SourcePools, options: own,
			empty: func() *v1beta1.IPAddressPoolList { return &v1beta1.IPAddressPoolList{} }, items: func(l *v1beta1.IPAddressPoolList) []v1beta1.IPAddressPool { return l.Items },
		}),
		list(r, &s.Sessions, kind[*v1beta1.BGPSessionStateList, v1beta1.BGPSessionState]{
			source: check.SourceSessions, options: own,
			empty: func() *v1beta1.BGPSessionStateList { return &v1beta1.BGPSessionStateList{} },
			items: func(l *v1beta1.BGPSessionStateList) []v1beta1.BGPSessionState { return l.Items },
		}),
		list(r, &s.States, kind[*v1beta1.ConfigurationStateList, v1beta1.ConfigurationState]{
			source: check.SourceStates, options: own,
			empty: func() *v1beta1.ConfigurationStateList { return &v1beta1.ConfigurationStateList{} },
			items: func(l *v1beta1.ConfigurationStateList) []v1beta1.ConfigurationState { return l.Items },
		}),
		list(r, &r.l2, kind[*v1beta1.ServiceL2StatusList, v1beta1.ServiceL2Status]{
			source: check.SourceL2, options: own,
			empty: func() *v1beta1.ServiceL2StatusList { return &v1beta1.ServiceL2StatusList{} },
			items: func(l *v1beta1.ServiceL2StatusList) []v1beta1.ServiceL2Status { return l.Items },
		}),
		list(r, &r.bgp, kind[*v1beta1.ServiceBGPStatusList, v1beta1.ServiceBGPStatus]{
			source: check.SourceBGP, options: own,
			empty: func() *v1beta1.ServiceBGPStatusList { return &v1beta1.ServiceBGPStatusList{} },
			items: func(l *v1beta1.ServiceBGPStatusList) []v1beta1.ServiceBGPStatus { return l.Items },
		}),
		list(r, &r.advertisements, kind[*v1beta1.L2AdvertisementList, v1beta1.L2Advertisement]{
			source: check.SourceAdvertisements, options: own,
			empty: func() *v1beta1.L2AdvertisementList { return &v1beta1.L2AdvertisementList{} },
			items: func(l *v1beta1.L2AdvertisementList) []v1beta1.L2Advertisement { return l.Items },
		}),
	}
}

// policies reads the names of the admission policies.
func (r *reader) policies(ctx context.Context) {
	of := schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingAdmissionPolicyList"}
	var found []metav1.PartialObjectMetadata
	list(r, &found, kind[*metav1.PartialObjectMetadataList, metav1.PartialObjectMetadata]{
		source: check.SourcePolicies,
		empty: func() *metav1.PartialObjectMetadataList {
			l := &metav1.PartialObjectMetadataList{}
			l.SetGroupVersionKind(of)
			return l
		},
		items: func(l *metav1.PartialObjectMetadataList) []metav1.PartialObjectMetadata { return l.Items },
	})(ctx)
	for i := range found {
		r.snapshot.Policies = append(r.snapshot.Policies, found[i].Name)
	}
}
