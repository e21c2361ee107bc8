package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/ingress"
)

// publish writes the addresses of the routers that admitted the Routes into
// the status of the Ingress.
func (r *reconciler) publish(ctx context.Context, i *networkingv1.Ingress, routes []*routev1.Route) error {
	addresses, err := r.addresses(ctx, func(name string) bool { return slices.Contains(ingress.Routers(routes), name) })
	if err != nil {
		return err
	}
	return r.writeStatus(ctx, i, ingress.MergeStatus(i.Status.LoadBalancer.Ingress, addresses, r.ours.has))
}

func (r *reconciler) writeStatus(ctx context.Context, i *networkingv1.Ingress, entries []networkingv1.IngressLoadBalancerIngress) error {
	if equality.Semantic.DeepEqual(i.Status.LoadBalancer.Ingress, entries) {
		return nil
	}
	updated := i.DeepCopy()
	updated.Status.LoadBalancer.Ingress = entries
	if err := r.client.Status().Update(ctx, updated); err != nil {
		return fmt.Errorf("write status of Ingress %s/%s: %w", i.Namespace, i.Name, err)
	}
	return nil
}

// addresses returns those of the routers that are chosen, each once, in the
// order of the routers' names.
func (r *reconciler) addresses(ctx context.Context, chosen func(router string) bool) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(ingressController().GroupVersionKind())
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		return nil, fmt.Errorf("list IngressControllers: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	var found []string
	for n := range list.Items {
		r.ours.add(&list.Items[n])
		if !chosen(list.Items[n].GetName()) {
			continue
		}
		for _, a := range addressesOf(&list.Items[n]) {
			if !slices.Contains(found, a) {
				found = append(found, a)
			}
		}
	}
	return found, nil
}

// addressesOf returns status.addresses of an IngressController.
func addressesOf(ic *unstructured.Unstructured) []string {
	addresses, _, err := unstructured.NestedStringSlice(ic.Object, "status", "addresses")
	if err != nil {
		return nil // The CRD allows nothing but strings.
	}
	return addresses
}

// ours are the addresses that routers have or had since the operator runs: what
// an Ingress has of them in its status is ours to remove. At the start it learns
// those that were written last, also if the routers have others meanwhile.
type ours struct {
	mu    sync.Mutex
	known map[string]bool
}

func (o *ours) add(ic client.Object) {
	u, ok := ic.(*unstructured.Unstructured)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range addressesOf(u) {
		o.known[a] = true
	}
}

func (o *ours) has(address string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[address]
}
