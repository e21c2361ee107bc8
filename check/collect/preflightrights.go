package collect

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/check/preflight"
)

// rights asks the API server what the user may do.
func (r *preflightReader) rights(ctx context.Context) {
	var questions []func(context.Context)
	for _, right := range preflight.RightsNeeded() {
		questions = append(questions, func(ctx context.Context) {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: right.Namespace, Verb: right.Verb, Group: right.Group, Resource: right.Resource},
			}}
			if r.gap(preflight.SourceRights, r.client.Create(ctx, review)) || review.Status.Allowed {
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.facts.Denied = append(r.facts.Denied, right)
		})
	}
	together(ctx, questions)
}

// gatewayClasses reads them as they are served: the type of this program may know another
// version of them.
func (r *preflightReader) gatewayClasses(ctx context.Context) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GatewayClassList"})
	if r.gap(preflight.SourceGatewayClasses, r.client.List(ctx, list)) {
		return
	}
	for i := range list.Items {
		controller, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "controllerName")
		r.facts.GatewayClasses = append(r.facts.GatewayClasses, preflight.GatewayClass{Name: list.Items[i].GetName(), Controller: controller})
	}
}

// webhooks reads those that judge objects, and whether their pods are ready.
func (r *preflightReader) webhooks(ctx context.Context) {
	validating, mutating := &admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{}
	if r.gap(preflight.SourceWebhooks, r.client.List(ctx, validating)) || r.gap(preflight.SourceWebhooks, r.client.List(ctx, mutating)) {
		return
	}
	for i := range validating.Items {
		for _, w := range validating.Items[i].Webhooks {
			r.facts.Webhooks = append(r.facts.Webhooks, preflight.Webhook{Configuration: "validatingwebhookconfiguration/" + validating.Items[i].Name, ValidatingWebhook: w})
		}
	}
	for i := range mutating.Items {
		for _, w := range mutating.Items[i].Webhooks {
			// What matters of both kinds has the same fields.
			r.facts.Webhooks = append(r.facts.Webhooks, preflight.Webhook{
				Configuration: "mutatingwebhookconfiguration/" + mutating.Items[i].Name,
				ValidatingWebhook: admissionv1.ValidatingWebhook{
					Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
				},
			})
		}
	}
	r.endpoints(ctx)
}

// endpoints finds the Services of webhooks that have a ready pod.
func (r *preflightReader) endpoints(ctx context.Context) {
	asked := map[client.ObjectKey]bool{}
	for i := range r.facts.Webhooks {
		s := r.facts.Webhooks[i].ClientConfig.Service
		if s == nil || asked[client.ObjectKey{Namespace: s.Namespace, Name: s.Name}] {
			continue
		}
		asked[client.ObjectKey{Namespace: s.Namespace, Name: s.Name}] = true
		slicesOf := &discoveryv1.EndpointSliceList{}
		err := r.client.List(ctx, slicesOf, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name})
		if r.gap(preflight.SourceEndpoints, err) {
			// Unknown is not "without pods".
			r.facts.ReadyServices = append(r.facts.ReadyServices, s.Namespace+"/"+s.Name)
			continue
		}
		ready := slices.ContainsFunc(slicesOf.Items, func(slice discoveryv1.EndpointSlice) bool {
			return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready })
		})
		if ready {
			r.facts.ReadyServices = append(r.facts.ReadyServices, s.Namespace+"/"+s.Name)
		}
	}
}
