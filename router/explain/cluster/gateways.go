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
	return r.lists(ctx, gatewayKinds())
}

// gatewaySecrets adds the Secrets with certificates that clients and pods are shown.
func (r *reader) gatewaySecrets(keys model.Objects) {
	one := func(namespace string, ref gatewayv1.SecretObjectReference) {
		keys[model.Object{Kind: door.KindSecret, Namespace: namespaceOf(ref.Namespace, namespace), Name: string(ref.Name)}] = struct{}{}
	}
	add := func(namespace string, t *gatewayv1.ListenerTLSConfig) {
		if t == nil {
			return
		}
		for _, ref := range t.CertificateRefs {
			one(namespace, ref)
		}
	}
	for key, o := range r.objects.Gateways {
		switch v := o.(type) {
		case *gatewayv1.Gateway:
			for i := range v.Spec.Listeners {
				add(key.Namespace, v.Spec.Listeners[i].TLS)
			}
			if t := v.Spec.TLS; t != nil && t.Backend != nil && t.Backend.ClientCertificateRef != nil {
				one(key.Namespace, *t.Backend.ClientCertificateRef)
			}
		case *gatewayv1.ListenerSet:
			for i := range v.Spec.Listeners {
				add(key.Namespace, v.Spec.Listeners[i].TLS)
			}
		}
	}
}

// authorities names the ConfigMaps with authorities of clients and pods.
func (r *reader) authorities(add func(namespace, name string)) {
	of := func(namespace string, v *gatewayv1.FrontendTLSValidation) {
		if v == nil {
			return
		}
		for _, ref := range v.CACertificateRefs {
			add(namespaceOf(ref.Namespace, namespace), string(ref.Name))
		}
	}
	for key, o := range r.objects.Gateways {
		switch v := o.(type) {
		case *gatewayv1.Gateway:
			if v.Spec.TLS == nil || v.Spec.TLS.Frontend == nil {
				continue
			}
			of(key.Namespace, v.Spec.TLS.Frontend.Default.Validation)
			for i := range v.Spec.TLS.Frontend.PerPort {
				of(key.Namespace, v.Spec.TLS.Frontend.PerPort[i].TLS.Validation)
			}
		case *gatewayv1.BackendTLSPolicy:
			for _, ref := range v.Spec.Validation.CACertificateRefs {
				add(key.Namespace, string(ref.Name))
			}
		}
	}
}

// namespaceOf returns the namespace of a reference, which is that of its object by default.
func namespaceOf(named *gatewayv1.Namespace, own string) string {
	if named != nil {
		return cmp.Or(string(*named), own)
	}
	return own
}
