// Package controller keeps the Routes and the status of Ingresses as
// operator/ingress decides. It wakes an Ingress only for what it names: its
// Services, Secrets and class, its Routes, and the addresses of the routers.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead/fairlead/operator/budget"
	"github.com/fairlead/fairlead/operator/notice"
	"github.com/fairlead/fairlead/router/door/ingress"
)

// Indexes of the cache. Keys are names within the namespace of the object.
const (
	indexService = "fairlead.serviceName"
	indexSecret  = "fairlead.secretName"
	indexClass   = "fairlead.className"
	indexOwner   = "fairlead.ingressOwner"
	indexHost    = "fairlead.host"
	indexCloses  = "fairlead.closedHost"
	indexCanary  = "fairlead.canaryHost"
)

const (
	// unwatchedReads is how many Secrets of a namespace that are not watched are
	// asked for in a second, and unwatchedBurst how many at once.
	unwatchedReads = 10
	unwatchedBurst = 50
	// contentReads and contentBurst are the same of those that are watched. They
	// are read once for each content; the burst is what a start takes.
	contentReads = 100
	contentBurst = 1000
	// readsPerSecond and readBurst bound the reads of Secrets of all namespaces.
	// They have a share of their own in what the API server is asked, so that they
	// and the writes do not wait for each other.
	readsPerSecond = 1000
	readBurst      = 2000
)

// workers is how many Ingresses are worked on at a time.
const workers = 4

// Options configure the controller.
type Options struct {
	// Classless says whether Ingresses that name no class are served.
	Classless bool
	// Limits are those of one Ingress, and NamespaceLimits those of all of a
	// namespace together; by default ingress.DefaultLimits and
	// ingress.DefaultNamespaceLimits.
	Limits, NamespaceLimits ingress.Limits
	// Writes is how many Routes are created or changed for the Ingresses of each
	// namespace, but for those that close a path; by default 10,000 at once, as many
	// as these may have, and then 50 a second.
	Writes *budget.Budgets
	// Registerer gets the metrics; nil for none.
	Registerer prometheus.Registerer
	// Log receives what the controller does; the default is slog.Default.
	Log *slog.Logger
}

// Setup adds the controller to a manager whose scheme has operator.AddToScheme.
func Setup(mgr ctrl.Manager, options Options) error {
	if options.Log == nil {
		options.Log = slog.Default()
	}
	if options.Writes == nil {
		options.Writes = budget.New(writesRate, writesBurst)
	}
	if err := addIndexes(mgr, options.Limits); err != nil {
		return err
	}
	m, err := newMetrics(options.Registerer)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	notices, err := notice.New(mgr, "ingress-to-route-controller", options.Log)
	if err != nil {
		return err
	}
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.Burst, config.RateLimiter = readsPerSecond, readBurst, nil
	contents, err := client.New(config, client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("connect for Secrets: %w", err)
	}
	r := &reconciler{
		client:  mgr.GetClient(),
		live:    mgr.GetAPIReader(),
		notices: notices,
		metrics: m,
		ours:    &ours{known: map[string]bool{}},
		options: options,
		granted: newGranted(),
		ledger:  newLedger(),
		secrets: newSecrets(mgr.GetCache(), contents),
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("ingress").
		For(&networkingv1.Ingress{}).
		Watches(&networkingv1.Ingress{}, r.neighbours()).
		Watches(&routev1.Route{}, handler.EnqueueRequestsFromMapFunc(ownerOf)).
		Watches(&rbacv1.Role{}, handler.EnqueueRequestsFromMapFunc(ownerOf)).
		Watches(&rbacv1.RoleBinding{}, handler.EnqueueRequestsFromMapFunc(ownerOf)).
		Watches(&networkingv1.Ingress{}, handler.EnqueueRequestsFromMapFunc(r.relativesOf), builder.WithPredicates(contentMatters())).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(r.usersOf), builder.WithPredicates(portsMatter())).
		WatchesMetadata(&corev1.Secret{}, r.byIndex(indexSecret)).
		Watches(&networkingv1.IngressClass{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.list(ctx, client.MatchingFields{indexClass: o.GetName()})
		})).
		Watches(ingressController(), handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, ic client.Object) []reconcile.Request {
			r.ours.add(ic) // before and after the change
			return r.list(ctx)
		}), builder.WithPredicates(addressesMatter())).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, NewQueue: newQueue}).
		Complete(r)
}

func addIndexes(mgr ctrl.Manager, limits ingress.Limits) error {
	indexer := mgr.GetFieldIndexer()
	for name, of := range map[string]func(*networkingv1.Ingress) []string{
		indexService: ingress.ServiceNames,
		indexSecret:  func(i *networkingv1.Ingress) []string { return ingress.SecretNames(i, limits) },
		indexClass:   func(i *networkingv1.Ingress) []string { return []string{ingress.ClassOf(i)} },
		indexHost:    ingress.Hosts,
		indexCanary: func(i *networkingv1.Ingress) []string {
			if ingress.IsCanary(i) {
				return ingress.Hosts(i)
			}
			return nil
		},
		indexCloses: func(i *networkingv1.Ingress) []string { return ingress.ClosedHosts(i, limits) },
	} {
		if err := indexer.IndexField(context.Background(), &networkingv1.Ingress{}, name, func(o client.Object) []string {
			if i, ok := o.(*networkingv1.Ingress); ok {
				return of(i)
			}
			return nil
		}); err != nil {
			return fmt.Errorf("index Ingresses by %s: %w", name, err)
		}
	}
	if err := indexer.IndexField(context.Background(), &routev1.Route{}, indexOwner, func(o client.Object) []string {
		if r, ok := o.(*routev1.Route); ok {
			return []string{ingress.Owner(r)}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("index Routes by owner: %w", err)
	}
	return nil
}

// ingressController returns an empty IngressController. It is read without
// OpenShift's Go type, which does not have status.addresses.
func ingressController() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: operatorv1.GroupName, Version: "v1", Kind: "IngressController"})
	return u
}

// ownerOf wakes the Ingress that an object belongs to.
func ownerOf(_ context.Context, o client.Object) []reconcile.Request {
	if name := ingress.Owner(o); name != "" {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: name}}}
	}
	return nil
}

// byIndex wakes the Ingresses of the namespace that name the object.
func (r *reconciler) byIndex(index string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.list(ctx, client.InNamespace(o.GetNamespace()), client.MatchingFields{index: o.GetName()})
	})
}

// neighbours wakes the Ingresses at hosts that another one closes, or opens.
func (r *reconciler) neighbours() handler.EventHandler {
	wake := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], objects ...client.Object) {
		var closed [][]string
		var clients []string
		for _, o := range objects {
			if i, ok := o.(*networkingv1.Ingress); ok {
				closed = append(closed, ingress.ClosedHosts(i, r.options.Limits))
				clients = append(clients, ingress.HostClients(i, r.options.Limits))
			}
		}
		if len(closed) == 2 && slices.Equal(closed[0], closed[1]) && clients[0] == clients[1] {
			return
		}
		for _, host := range slices.Concat(closed...) {
			for _, request := range r.list(ctx, client.InNamespace(objects[0].GetNamespace()), client.MatchingFields{indexHost: host}) {
				queue.Add(request)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, q, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			wake(ctx, q, e.Object)
		},
	}
}

func (r *reconciler) list(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	list := &networkingv1.IngressList{}
	if err := r.client.List(ctx, list, options...); err != nil {
		r.options.Log.Error("cannot list Ingresses", "err", err)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// portsMatter drops the many changes of Services that are not of their ports, or
// of annotations, by which they may be protected.
func portsMatter() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Service)
		now, ok2 := e.ObjectNew.(*corev1.Service)
		return !ok || !ok2 || !samePorts(old.Spec.Ports, now.Spec.Ports) || !maps.Equal(old.Annotations, now.Annotations)
	}}
}

func samePorts(a, b []corev1.ServicePort) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Port != b[i].Port {
			return false
		}
	}
	return true
}

// addressesMatter drops changes of IngressControllers that are not of their addresses.
func addressesMatter() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*unstructured.Unstructured)
		now, ok2 := e.ObjectNew.(*unstructured.Unstructured)
		return !ok || !ok2 || !slices.Equal(addressesOf(old), addressesOf(now))
	}}
}
