package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	gateway "github.com/fairlead/fairlead/operator/gateway/desired"
	"github.com/fairlead/fairlead/operator/rights"
	"github.com/fairlead/fairlead/router/kube/jsonwatch"
)

// newInformer makes informers, of which that of Routes decodes them in one go.
func newInformer(config *rest.Config) func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return func(from toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if _, routes := example.(*routev1.Route); routes {
			if client, err := routeClient(config); err == nil { // else the manager has no client either
				from = &toolscache.ListWatch{
					ListWithContextFunc: toolscache.ToListerWatcherWithContext(from).ListWithContext,
					WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
						return jsonwatch.Start(ctx, client, "routes", o, func(d *jsontext.Decoder) (runtime.Object, error) {
							route := &routev1.Route{}
							return route, json.UnmarshalDecode(d, route)
						})
					},
				}
			}
		}
		return toolscache.NewSharedIndexInformer(from, example, resync, indexers)
	}
}

// routeClient asks for Routes.
func routeClient(config *rest.Config) (*rest.RESTClient, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &routev1.GroupVersion, "/apis"
	answers := runtime.NewScheme() // which are read here only if they are errors
	metav1.AddToGroupVersion(answers, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(answers).WithoutConversion()
	return rest.RESTClientFor(config)
}

// AddToScheme registers the types that the operator reads and writes, besides
// those of Kubernetes itself.
func AddToScheme(scheme *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{operatorv1.Install, iov1.Install, routev1.Install, configv1.Install, gatewayv1.Install} {
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
// in other namespaces the metadata of TLS certificates only, of Roles those for Ingresses and of the
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
	clusterWide := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", rights.Role)}
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
			// Beside those of the routers, those of Gateways.
			&discoveryv1.EndpointSlice{}: {Namespaces: map[string]cache.Config{
				api.OperandNamespace: {},
				cache.AllNamespaces:  {LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelManagedBy: gateway.SliceManager})},
			}},
			&corev1.Node{}: {Transform: slimNode},
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
