package kube

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// feed keeps one store equal to what the API server has.
type feed struct {
	// name says in logs what is watched.
	name  string
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// example is a value of the watched type.
	example runtime.Object
	store   cache.ReflectorStore
	// failed, if set, receives each refusal of a list or watch.
	failed func(error)
	// absent, if set, makes it no error that the API server does not have the
	// resource, and reports that.
	absent func()
	// slowest is the longest pause between attempts.
	slowest time.Duration
	// plain asks for the first state as one list, not as a stream of events.
	plain bool
	log   *slog.Logger

	mu      sync.Mutex
	failing bool
}

// clientFeed returns a feed for a typed resource. An empty namespace means all
// namespaces, an empty name all objects.
func clientFeed(client *rest.RESTClient, resource, namespace, name string, example runtime.Object) *feed {
	lw := cache.NewFilteredListWatchFromClient(client, resource, namespace, func(o *metav1.ListOptions) {
		if name != "" {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	})
	return &feed{name: resource, list: lw.ListWithContext, watch: lw.WatchWithContext, example: example}
}

// namespaceFeed returns a feed of the metadata of all namespaces.
func namespaceFeed(resource metadata.Getter, namespaces cache.ReflectorStore) *feed {
	return &feed{
		name: "namespaces",
		list: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, o)
		},
		watch:   resource.Watch,
		example: &metav1.PartialObjectMetadata{},
		store:   namespaces,
	}
}

// run lists and watches until ctx ends. It never gives up: the store keeps the
// last state while the API server cannot be reached.
func (f *feed) run(ctx context.Context) {
	// The reflector would log each attempt; feed logs only when the state turns.
	quiet := logr.Discard()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := f.list(ctx, o)
			f.observe(ctx, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := f.watch(ctx, o)
			// An old API server refuses to stream the first list; the
			// reflector then asks for a plain list.
			if o.SendInitialEvents == nil || !apierrors.IsInvalid(err) {
				f.observe(ctx, err)
			}
			return w, err
		},
	}
	slowest := f.slowest
	if slowest == 0 {
		slowest = 5 * time.Second
	}
	var from cache.ListerWatcher = lw
	if f.plain {
		from = plainLists{lw}
	}
	reflector := cache.NewReflectorWithOptions(from, f.example, f.store, cache.ReflectorOptions{
		Logger: &quiet,
		Name:   f.name,
		Backoff: &wait.Backoff{
			Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 20, Cap: slowest,
		},
	})
	reflector.RunWithContext(klog.NewContext(ctx, quiet))
}

func (f *feed) observe(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if f.absent != nil && apierrors.IsNotFound(err) {
		f.absent()
		return
	}
	f.mu.Lock()
	turned := f.failing != (err != nil)
	f.failing = err != nil
	f.mu.Unlock()
	switch {
	case turned && err != nil:
		f.log.Error("cannot watch, keeping the last state", "resource", f.name, "err", err)
	case turned:
		f.log.Info("watching again", "resource", f.name)
	}
	if err != nil && f.failed != nil {
		f.failed(err)
	}
}
