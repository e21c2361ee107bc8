package operator

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

const defaultClusterPoll = 15 * time.Second

// effectiveProfile returns the TLS profile that holds: the IngressController's
// own, else the cluster's, else Intermediate. The routers read it from
// status.tlsProfile, so they need no right to the cluster's settings.
func effectiveProfile(ic *operatorv1.IngressController, cluster *configv1.TLSSecurityProfile) *configv1.TLSProfileSpec {
	for _, p := range []*configv1.TLSSecurityProfile{ic.Spec.TLSSecurityProfile, cluster} {
		switch {
		case p == nil || p.Type == "":
		case p.Type == configv1.TLSProfileCustomType && p.Custom != nil:
			return p.Custom.TLSProfileSpec.DeepCopy()
		case configv1.TLSProfiles[p.Type] != nil:
			return configv1.TLSProfiles[p.Type].DeepCopy()
		}
	}
	return configv1.TLSProfiles[configv1.TLSProfileIntermediateType].DeepCopy()
}

// followClusterProfile keeps the TLS profile of config.openshift.io's APIServer
// "cluster" at hand until the context ends. Most clusters do not have that kind,
// which is no error; one that comes later is noticed within options.ClusterPoll,
// and watched from then on.
func (r *Reconciler) followClusterProfile(ctx context.Context, informers cache.Informers, kinds meta.RESTMapper) error {
	kind := configv1.GroupVersion.WithKind("APIServer")
	ticker := time.NewTicker(r.options.ClusterPoll)
	defer ticker.Stop()
	for {
		_, err := kinds.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			break
		}
		if !meta.IsNoMatchError(err) && ctx.Err() == nil {
			r.options.Log.Error("cannot see whether the cluster has a TLS profile, looking again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	informer, err := informers.GetInformer(ctx, &configv1.APIServer{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch APIServer cluster: %w", err)
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { r.clusterProfileSeen(ctx, o) },
		UpdateFunc: func(_, o any) { r.clusterProfileSeen(ctx, o) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(*configv1.APIServer); ok {
				r.clusterProfileSeen(ctx, &configv1.APIServer{ObjectMeta: gone.ObjectMeta})
			}
		},
	}); err != nil {
		return fmt.Errorf("watch APIServer cluster: %w", err)
	}
	<-ctx.Done()
	return nil
}

// clusterProfileSeen wakes all IngressControllers if the profile is another one.
func (r *Reconciler) clusterProfileSeen(ctx context.Context, object any) {
	server, ok := object.(*configv1.APIServer)
	if !ok || server.Name != "cluster" || equality.Semantic.DeepEqual(r.clusterProfile.Load(), server.Spec.TLSSecurityProfile) {
		return
	}
	r.clusterProfile.Store(server.Spec.TLSSecurityProfile.DeepCopy())
	r.options.Log.Info("the cluster's TLS profile changed")
	select {
	case r.wake <- event.GenericEvent{Object: &operatorv1.IngressController{}}:
	case <-ctx.Done():
	}
}
