package operator

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
// "cluster" at hand, where there is one, until the context ends.
func (r *Reconciler) followClusterProfile(ctx context.Context) error {
	ticker := time.NewTicker(r.options.ClusterPoll)
	defer ticker.Stop()
	for {
		if err := r.readClusterProfile(ctx); err != nil && ctx.Err() == nil {
			r.options.Log.Error("cannot read the cluster's TLS profile, the last one stays", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// readClusterProfile wakes all IngressControllers if the profile is another one.
func (r *Reconciler) readClusterProfile(ctx context.Context) error {
	server := &configv1.APIServer{}
	err := r.live.Get(ctx, client.ObjectKey{Name: "cluster"}, server)
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return fmt.Errorf("read APIServer cluster: %w", err)
	}
	now := server.Spec.TLSSecurityProfile
	if equality.Semantic.DeepEqual(r.clusterProfile.Load(), now) {
		return nil
	}
	r.clusterProfile.Store(now)
	r.options.Log.Info("the cluster's TLS profile changed")
	select {
	case r.wake <- event.GenericEvent{Object: &operatorv1.IngressController{}}:
	case <-ctx.Done():
	}
	return nil
}
