package operator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/dns"
)

const defaultClusterPoll = 15 * time.Second

// clusterObject is the name of each object of config.openshift.io.
const clusterObject = "cluster"

// clusterKind is a kind of config.openshift.io that the operator follows.
type clusterKind struct {
	kind  string
	empty func() client.Object
	seen  func(context.Context, client.Object)
}

func (r *Reconciler) clusterKinds() []clusterKind {
	return []clusterKind{
		{"APIServer", func() client.Object { return &configv1.APIServer{} }, r.clusterProfileSeen},
		{"Ingress", func() client.Object { return &configv1.Ingress{} }, r.clusterIngressSeen},
	}
}

// followCluster keeps what an object "cluster" says at hand until the context
// ends. Most clusters do not have these kinds, which is no error; one that comes
// later is noticed within options.ClusterPoll, and watched from then on.
func (r *Reconciler) followCluster(ctx context.Context, k clusterKind, informers cache.Informers, kinds meta.RESTMapper) error {
	gvk := configv1.GroupVersion.WithKind(k.kind)
	ticker := time.NewTicker(r.options.ClusterPoll)
	defer ticker.Stop()
	for {
		_, err := kinds.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err == nil {
			break
		}
		if !meta.IsNoMatchError(err) && ctx.Err() == nil {
			r.options.Log.Error("cannot see whether the cluster has settings of its own, looking again", "kind", k.kind, "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	informer, err := informers.GetInformer(ctx, k.empty(), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %s cluster: %w", k.kind, err)
	}
	changed := func(object any, gone bool) {
		o, ok := object.(client.Object)
		if !ok || o.GetName() != clusterObject {
			return
		}
		if gone {
			o = k.empty()
		}
		k.seen(ctx, o)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { changed(o, false) },
		UpdateFunc: func(_, o any) { changed(o, false) },
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			changed(o, true)
		},
	}); err != nil {
		return fmt.Errorf("watch %s cluster: %w", k.kind, err)
	}
	<-ctx.Done()
	return nil
}

// wakeAll looks at every IngressController again.
func (r *Reconciler) wakeAll(ctx context.Context) {
	select {
	case r.wake <- event.GenericEvent{Object: &operatorv1.IngressController{}}:
	case <-ctx.Done():
	}
}

// clusterIngressSeen wakes all IngressControllers if an annotation that they
// read is another one.
func (r *Reconciler) clusterIngressSeen(ctx context.Context, object client.Object) {
	now := maps.Clone(object.GetAnnotations())
	read := []string{api.AnnotationHTTP2, api.AnnotationHardStopAfter, api.AnnotationDefaultHAProxyVersion}
	maps.DeleteFunc(now, func(k, _ string) bool { return !slices.Contains(read, k) })
	if maps.Equal(now, r.clusterWide()) {
		return
	}
	r.clusterAnnotations.Store(&now)
	r.options.Log.Info("the cluster's defaults of IngressControllers changed", "annotations", now)
	r.wakeAll(ctx)
}

// clusterWide are the annotations of ingresses.config.openshift.io/cluster that
// IngressControllers read.
func (r *Reconciler) clusterWide() map[string]string {
	if known := r.clusterAnnotations.Load(); known != nil {
		return *known
	}
	return nil
}

// handDown copies what the whole cluster says onto the IngressController, where
// its routers read it.
func (r *Reconciler) handDown(ctx context.Context, ic *operatorv1.IngressController) error {
	if r.clusterAnnotations.Load() == nil {
		return nil // Not known yet: what was handed down last holds.
	}
	before := client.MergeFrom(ic.DeepCopy())
	changed := false
	for key, source := range map[string]string{
		api.AnnotationClusterHTTP2: api.AnnotationHTTP2, api.AnnotationClusterHardStopAfter: api.AnnotationHardStopAfter,
	} {
		want, wanted := r.clusterWide()[source]
		have, there := ic.Annotations[key]
		switch {
		case wanted && (!there || have != want):
			if ic.Annotations == nil {
				ic.Annotations = map[string]string{}
			}
			ic.Annotations[key], changed = want, true
		case !wanted && there:
			delete(ic.Annotations, key)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	if err := r.client.Patch(ctx, ic, before); err != nil {
		return fmt.Errorf("hand the cluster's annotations down to IngressController %s: %w", ic.Name, err)
	}
	return nil
}

// clusterDNS is what dns.config.openshift.io/cluster says; nil if there is none.
type clusterDNS struct{ spec *configv1.DNSSpec }

// followClusterDNS wakes all IngressControllers when the cluster's domain is
// another one.
func (r *Reconciler) followClusterDNS(ctx context.Context) error {
	return dns.Follow(ctx, r.live, r.options.ClusterPoll, r.options.Log, func(now *configv1.DNSSpec) {
		old := r.clusterDNS.Swap(&clusterDNS{now})
		if old == nil || equality.Semantic.DeepEqual(old.spec, now) {
			return
		}
		r.wakeAll(ctx)
	})
}

// readClusterDNS returns what the cluster says of its domain. The first time it
// asks: what was published once would stay.
func (r *Reconciler) readClusterDNS(ctx context.Context) (*configv1.DNSSpec, error) {
	known := r.clusterDNS.Load()
	if known != nil || !r.options.Defaults.DNS && !r.options.Defaults.DNSByService {
		return known.domain(), nil
	}
	now, err := dns.ReadCluster(ctx, r.live)
	if err != nil {
		return nil, err
	}
	r.clusterDNS.CompareAndSwap(nil, &clusterDNS{now})
	return now, nil
}

func (c *clusterDNS) domain() *configv1.DNSSpec {
	if c == nil {
		return nil
	}
	return c.spec
}

// clusterProfileSeen wakes all IngressControllers if the profile is another one.
func (r *Reconciler) clusterProfileSeen(ctx context.Context, object client.Object) {
	server, ok := object.(*configv1.APIServer)
	if !ok || equality.Semantic.DeepEqual(r.clusterProfile.Load(), server.Spec.TLSSecurityProfile) {
		return
	}
	r.clusterProfile.Store(server.Spec.TLSSecurityProfile.DeepCopy())
	r.options.Log.Info("the cluster's TLS profile changed")
	r.wakeAll(ctx)
}
