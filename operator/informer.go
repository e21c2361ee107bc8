package operator

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

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
