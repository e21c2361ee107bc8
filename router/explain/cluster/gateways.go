package cluster

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// gateways reads the objects of the Gateway API, if the cluster has it.
func (r *reader) gateways(ctx context.Context) error {
	classes := &gatewayv1.GatewayClassList{}
	switch err := r.client.List(ctx, classes, client.Limit(1)); {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return nil
	case err != nil && !apierrors.IsForbidden(err):
		return fmt.Errorf("list GatewayClasses: %w", err)
	}
	for _, k := range []struct {
		kind string
		list client.ObjectList
	}{
		{"GatewayClass", &gatewayv1.GatewayClassList{}},
		{"Gateway", &gatewayv1.GatewayList{}},
		{"ListenerSet", &gatewayv1.ListenerSetList{}},
		{"HTTPRoute", &gatewayv1.HTTPRouteList{}},
		{"GRPCRoute", &gatewayv1.GRPCRouteList{}},
		{"TLSRoute", &gatewayv1.TLSRouteList{}},
		{"TCPRoute", &gatewayv1.TCPRouteList{}},
		{"UDPRoute", &gatewayv1.UDPRouteList{}},
		{"ReferenceGrant", &gatewayv1.ReferenceGrantList{}},
		{"BackendTLSPolicy", &gatewayv1.BackendTLSPolicyList{}},
	} {
		if err := r.list(ctx, k.kind, k.list, k.kind == "GatewayClass", ""); err != nil {
			return err
		}
	}
	return nil
}

// listenerSecrets adds the Secrets with certificates of listeners.
func (r *reader) listenerSecrets(keys model.Objects) {
	add := func(namespace string, t *gatewayv1.ListenerTLSConfig) {
		if t == nil {
			return
		}
		for _, ref := range t.CertificateRefs {
			if ref.Namespace != nil {
				namespace = cmp.Or(string(*ref.Namespace), namespace)
			}
			keys[model.Object{Kind: door.KindSecret, Namespace: namespace, Name: string(ref.Name)}] = struct{}{}
		}
	}
	for key, o := range r.objects.Gateways {
		switch v := o.(type) {
		case *gatewayv1.Gateway:
			for i := range v.Spec.Listeners {
				add(key.Namespace, v.Spec.Listeners[i].TLS)
			}
		case *gatewayv1.ListenerSet:
			for i := range v.Spec.Listeners {
				add(key.Namespace, v.Spec.Listeners[i].TLS)
			}
		}
	}
}
