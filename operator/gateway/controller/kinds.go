package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api/gateway"
)

// crdName is the CRD whose annotation has the version of all of them.
const crdName = "gatewayclasses." + gatewayv1.GroupName

// bundle is what the CRDs are, as it was seen last.
type bundle struct {
	seen atomic.Pointer[crds]
	wake chan event.GenericEvent
}

// crds are the version of the CRDs and their channel, empty where they do not say it.
type crds struct{ version, channel string }

func (b *bundle) now() crds {
	if c := b.seen.Load(); c != nil {
		return *c
	}
	return crds{}
}

// awaitKinds returns true when the API server has the kinds and lets the operator read
// them, and false when the context ends before. It logs each reason to wait once.
func (r *reconciler) awaitKinds(ctx context.Context, kinds meta.RESTMapper) bool {
	pause := min(r.options.Poll, arrivalPause)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	said := ""
	for {
		waits := r.missingKinds(ctx, kinds)
		if waits == "" {
			return true
		}
		if waits != said && ctx.Err() == nil {
			r.options.Log.Info("Gateways are not served", "because", waits, "looking-again-every", pause.String())
			said = waits
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// missingKinds says what is missing, empty if nothing is. Controllers that are started
// without their kinds, or without the right to read them, would end the whole operator.
func (r *reconciler) missingKinds(ctx context.Context, kinds meta.RESTMapper) string {
	for kind, list := range map[string]client.ObjectList{"GatewayClass": &gatewayv1.GatewayClassList{}, "Gateway": &gatewayv1.GatewayList{}, "ReferenceGrant": &gatewayv1.ReferenceGrantList{}} {
		_, err := kinds.RESTMapping(schema.GroupKind{Group: gatewayv1.GroupName, Kind: kind}, gatewayv1.GroupVersion.Version)
		if meta.IsNoMatchError(err) {
			return "the CRDs of the Gateway API are not installed"
		}
		if err == nil {
			err = r.live.List(ctx, list, client.Limit(1))
		}
		if err != nil {
			return fmt.Sprintf("%s cannot be read: %v", kind, err)
		}
	}
	has, err := r.findSets(ctx, kinds)
	if err != nil {
		return err.Error()
	}
	r.sets.watched.Store(has)
	if _, err := r.readBundle(ctx); err != nil {
		return fmt.Sprintf("the version of the CRDs cannot be read: %v", err)
	}
	return ""
}

// readBundle reads what the CRDs are, and reports whether these are others.
func (r *reconciler) readBundle(ctx context.Context) (bool, error) {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := r.live.Get(ctx, client.ObjectKey{Name: crdName}, crd); err != nil {
		return false, err
	}
	now := crds{crd.Annotations[gateway.BundleAnnotation], crd.Annotations[gateway.ChannelAnnotation]}
	before := r.bundle.seen.Swap(&now)
	return before == nil || *before != now, nil
}

// followBundle wakes all classes when the CRDs are others, and begins to watch
// ListenerSets when they are there.
func (r *reconciler) followBundle(ctx context.Context, mgr ctrl.Manager) {
	ticker := time.NewTicker(r.options.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		r.watchSets(ctx, mgr)
		changed, err := r.readBundle(ctx)
		switch {
		case apierrors.IsNotFound(err) || ctx.Err() != nil:
		case err != nil:
			r.options.Log.Error("cannot read the version of the CRDs of the Gateway API", "err", err)
		case changed:
			r.options.Log.Info("the CRDs of the Gateway API have another version", "version", r.bundle.now().version, "channel", r.bundle.now().channel)
			select {
			case r.bundle.wake <- event.GenericEvent{Object: &gatewayv1.GatewayClass{}}:
			case <-ctx.Done():
			}
		}
	}
}
