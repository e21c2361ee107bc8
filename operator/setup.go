package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/canary"
	"github.com/fairlead/fairlead/operator/notice"
)

// AddToScheme registers the types that the operator reads and writes, besides
// those of Kubernetes itself.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{operatorv1.Install, iov1.Install, routev1.Install, configv1.Install} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// ClientOptions keep Secrets out of the cache: one is read when it is needed, by
// its name.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

// CacheOptions limit what the operator keeps in memory: of Secrets no content, and
// in foreign namespaces the metadata of TLS certificates only, of Roles those for Ingresses and of the
// routers, of Deployments and Pods only the routers, of Nodes only what placement
// and addresses need. Routes are decoded in one go (package jsonwatch): a tenant's
// may be large, and change often.
func CacheOptions(config *rest.Config) cache.Options {
	own := map[string]cache.Config{api.OperandNamespace: {}}
	routers := cache.Config{FieldSelector: fields.OneTermEqualSelector("metadata.name", api.RouterServiceAccount)}
	access := cache.ByObject{Namespaces: map[string]cache.Config{
		api.OperandNamespace:  routers,
		api.OperatorNamespace: routers,
		cache.AllNamespaces:   {LabelSelector: labels.SelectorFromSet(labels.Set{api.LabelIngressAccess: "true"})},
	}}
	clusterWide := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", routerRole)}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		NewInformer:      newInformer(config),
		ByObject: map[client.Object]cache.ByObject{
			&operatorv1.IngressController{}: {Namespaces: map[string]cache.Config{api.OperatorNamespace: {}}},
			&iov1.DNSRecord{}:               {Namespaces: map[string]cache.Config{api.OperatorNamespace: {}}},
			&appsv1.Deployment{}:            {Namespaces: own},
			&appsv1.DaemonSet{}:             {Namespaces: map[string]cache.Config{api.CanaryNamespace: {}}},
			&corev1.Pod{}:                   {Namespaces: own},
			&policyv1.PodDisruptionBudget{}: {Namespaces: own},
			&corev1.Secret{}: {Transform: bareSecret, Namespaces: map[string]cache.Config{
				api.OperandNamespace:  {},
				api.OperatorNamespace: {},
				cache.AllNamespaces:   {FieldSelector: fields.OneTermEqualSelector("type", string(corev1.SecretTypeTLS))},
			}},
			&corev1.ConfigMap{}: {Namespaces: map[string]cache.Config{
				api.OperandNamespace: {},
				api.ConfigNamespace:  {},
			}},
			&rbacv1.Role{}:               access,
			&rbacv1.RoleBinding{}:        access,
			&rbacv1.ClusterRole{}:        clusterWide,
			&rbacv1.ClusterRoleBinding{}: clusterWide,
			&corev1.ServiceAccount{}:     {Namespaces: map[string]cache.Config{api.OperandNamespace: routers}},
			&discoveryv1.EndpointSlice{}: {Namespaces: own},
			&corev1.Node{}:               {Transform: slimNode},
		},
	}
}

// bareSecret refuses to keep content of Secrets, which are watched as metadata.
// Annotations go, because "kubectl apply" writes the content into one.
func bareSecret(object any) (any, error) {
	m, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("%T in the cache, which may have only metadata of Secrets", object)
	}
	m.Annotations, m.ManagedFields = nil, nil
	return m, nil
}

// slimNode drops the long lists of images and volumes.
func slimNode(object any) (any, error) {
	if n, ok := object.(*corev1.Node); ok {
		n.ManagedFields = nil
		n.Status.Images = nil
		n.Status.VolumesInUse, n.Status.VolumesAttached = nil, nil
	}
	return object, nil
}

// workers is how many IngressControllers are looked at at the same time: one that
// waits for the API server does not keep the others waiting.
const workers = 4

// A write that is refused, such as by a quota, is tried again after these times:
// what refused it ends without an event.
const (
	leastPause = 50 * time.Millisecond
	mostPause  = 30 * time.Second
)

// Setup adds the IngressController reconciler to a manager, which creates the
// IngressController "default" whenever there is none. The registry gets the
// metrics.
func Setup(mgr ctrl.Manager, registry prometheus.Registerer, options Options) error {
	m, err := newMetrics(registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	options = options.withDefaults()
	notices, err := notice.New(mgr, "ingress-operator", options.Log)
	if err != nil {
		return err
	}
	r := &Reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		notices:  notices,
		metrics:  m,
		options:  options,
		provider: func() bool { return options.CloudClass != "" || providerInstalled(mgr) },
		wake:     make(chan event.GenericEvent),
		monitors: monitors{kinds: mgr.GetRESTMapper()},
	}
	add := func(run func(context.Context) error) error { return mgr.Add(manager.RunnableFunc(run)) }
	if r.canary, err = setupCanary(options, r.wakeDefault, add, canary.Options{Registerer: registry}); err != nil {
		return fmt.Errorf("set up the canary: %w", err)
	}
	if err := setupRights(mgr, r.options.Log); err != nil {
		return fmt.Errorf("add the keeper of the routers' rights: %w", err)
	}
	if err := r.setupReaders(mgr); err != nil {
		return err
	}
	if err := mgr.Add(manager.RunnableFunc(r.startDefault)); err != nil {
		return fmt.Errorf("add the default IngressController: %w", err)
	}
	everyIC := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request { return r.every(ctx) })
	b := ctrl.NewControllerManagedBy(mgr).
		Named("ingresscontroller").
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](leastPause, mostPause),
		}).
		For(&operatorv1.IngressController{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, statusChanged(), rotationChanged()))).
		// A domain that one IngressController frees may be what another waits for.
		Watches(&operatorv1.IngressController{}, handler.EnqueueRequestsFromMapFunc(r.refused), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(defaultMayBeMissing)).
		Watches(&appsv1.Deployment{}, byLabel(api.LabelOwningIngressController)).
		Watches(&corev1.Service{}, byLabel(api.LabelOwningIngressController)).
		Watches(&policyv1.PodDisruptionBudget{}, byLabel(api.LabelOwningIngressController)).
		Watches(&networkingv1.IngressClass{}, byLabel(api.LabelOwningIngressController)).
		Watches(&iov1.DNSRecord{}, byLabel(api.LabelOwningIngressController)).
		Watches(&corev1.Pod{}, byLabel(api.LabelDeploymentIngressController)).
		Watches(&routev1.Route{}, handler.EnqueueRequestsFromMapFunc(r.byPassthrough), builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.bySecret)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.byConfigMap)).
		WatchesRawSource(source.Channel(r.wake, everyIC)).
		Watches(&corev1.Node{}, everyIC, builder.WithPredicates(nodeMatters()))
	if options.CanaryImage != "" {
		b = b.Watches(&appsv1.DaemonSet{}, byLabel(api.LabelOwningIngressController)).
			Watches(&routev1.Route{}, byLabel(api.LabelOwningIngressController), builder.WithPredicates(inCanaryNamespace()))
	}
	return b.Complete(r)
}

// setupReaders follows what a cluster says about itself, where it does.
func (r *Reconciler) setupReaders(mgr ctrl.Manager) error {
	for _, k := range r.clusterKinds() {
		follow := func(ctx context.Context) error { return r.followCluster(ctx, k, mgr.GetCache(), mgr.GetRESTMapper()) }
		if err := mgr.Add(manager.RunnableFunc(follow)); err != nil {
			return fmt.Errorf("add the reader of the cluster's %s: %w", k.kind, err)
		}
	}
	if !r.options.DNS && !r.options.DNSByService {
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(r.followClusterDNS)); err != nil {
		return fmt.Errorf("add the reader of the cluster's domain: %w", err)
	}
	return nil
}

// rotationChanged passes the only annotation of an IngressController that the
// operator itself reads.
func rotationChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[api.AnnotationRotateCanary] != e.ObjectNew.GetAnnotations()[api.AnnotationRotateCanary]
	}, CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false }}
}

// inCanaryNamespace drops the Routes of others, whatever label they have.
func inCanaryNamespace() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() == api.CanaryNamespace })
}

// wakeDefault looks at all IngressControllers, of which "default" is one.
func (r *Reconciler) wakeDefault(ctx context.Context) { r.wakeAll(ctx) }

// byLabel wakes the IngressController that a label names. An object of ours
// whose label was taken away wakes it too, by its old state.
func byLabel(label string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		if ic := o.GetLabels()[label]; ic != "" {
			return []reconcile.Request{request(ic)}
		}
		return nil
	})
}

func request(ic string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: api.OperatorNamespace, Name: ic}}
}

// bySecret wakes the IngressControllers that own or name a Secret.
func (r *Reconciler) bySecret(ctx context.Context, o client.Object) []reconcile.Request {
	switch {
	case o.GetNamespace() == api.OperatorNamespace && o.GetName() == api.RouterCASecret:
		return r.every(ctx)
	case o.GetNamespace() != api.OperandNamespace:
		return nil
	case o.GetLabels()[api.LabelOwningIngressController] != "":
		return []reconcile.Request{request(o.GetLabels()[api.LabelOwningIngressController])}
	}
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "error", err)
		return nil
	}
	var found []reconcile.Request
	for _, ic := range list.Items {
		if ref := ic.Spec.DefaultCertificate; ref != nil && ref.Name == o.GetName() {
			found = append(found, request(ic.Name))
		}
	}
	return found
}

// every returns all IngressControllers.
func (r *Reconciler) every(ctx context.Context) []reconcile.Request {
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "error", err)
		return nil
	}
	all := make([]reconcile.Request, 0, len(list.Items))
	for _, ic := range list.Items {
		all = append(all, request(ic.Name))
	}
	return all
}

// refused returns the IngressControllers that are not admitted, but for the one
// that changed.
func (r *Reconciler) refused(ctx context.Context, changed client.Object) []reconcile.Request {
	list := &operatorv1.IngressControllerList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace)); err != nil {
		r.options.Log.Error("cannot list IngressControllers", "error", err)
		return nil
	}
	var found []reconcile.Request
	for _, ic := range list.Items {
		if ic.Name != changed.GetName() && !admitted(ic.Status.Conditions) {
			found = append(found, request(ic.Name))
		}
	}
	return found
}

// statusChanged passes what others write into the status: what routers say about
// their settings is part of what Degraded tells, and the rest is put right. The
// operator's own writes cost one pass that finds nothing to do.
func statusChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*operatorv1.IngressController)
		now, ok2 := e.ObjectNew.(*operatorv1.IngressController)
		return !ok || !ok2 || !equality.Semantic.DeepEqual(old.Status, now.Status)
	}}
}

// nodeMatters drops the heartbeats of nodes.
func nodeMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		old, ok := e.ObjectOld.(*corev1.Node)
		now, ok2 := e.ObjectNew.(*corev1.Node)
		if !ok || !ok2 {
			return true
		}
		return !maps.Equal(old.Labels, now.Labels) ||
			!slices.Equal(old.Status.Addresses, now.Status.Addresses) ||
			!slices.EqualFunc(old.Spec.Taints, now.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
	}}
}

// providerInstalled reports whether Fairlead's (or MetalLB's) API is there.
func providerInstalled(mgr ctrl.Manager) bool {
	_, err := mgr.GetRESTMapper().RESTMapping(schema.GroupKind{Group: "metallb.io", Kind: "IPAddressPool"})
	return err == nil
}
