package operator

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// serviceMonitor is the kind by which the Prometheus operator is told what to
// read. It is handled without a Go type: most clusters have none.
var serviceMonitor = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}

// monitors remembers whether the cluster has ServiceMonitors.
type monitors struct {
	mu    sync.Mutex
	kinds meta.RESTMapper
	there bool
	asked time.Time
}

// exist asks the API server again after a while, if they did not.
func (m *monitors) exist(now time.Time, again time.Duration) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.there || now.Sub(m.asked) < again {
		return m.there, nil
	}
	_, err := m.kinds.RESTMapping(serviceMonitor.GroupKind(), serviceMonitor.Version)
	switch {
	case err == nil:
		m.there = true
	case meta.IsNoMatchError(err):
		m.asked = now
	default:
		return false, fmt.Errorf("see whether the cluster has ServiceMonitors: %w", err)
	}
	return m.there, nil
}

// desiredServiceMonitor returns what makes a Prometheus read the metrics of an
// IngressController's routers, over HTTPS and with its own token.
func desiredServiceMonitor(s settings, owner *appsv1.Deployment) *unstructured.Unstructured {
	endpoint := func(path string) any {
		return map[string]any{
			"port": "metrics", "path": path, "scheme": "https", "interval": "30s",
			"bearerTokenFile": serviceAccountPath + "/token",
			"tlsConfig": map[string]any{
				"serverName": api.CanonicalHostname(s.name, s.domain),
				// The certificate itself is trusted, whoever signed it.
				"ca": map[string]any{"secret": map[string]any{"name": api.CertificateSecretName(s.name), "key": "tls.crt"}},
			},
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector": map[string]any{
			"matchLabels": map[string]any{api.LabelOwningIngressController: s.name},
			// The Services for clients have this label, and lead to the same pods.
			"matchExpressions": []any{map[string]any{"key": "router", "operator": "DoesNotExist"}},
		},
		"endpoints": []any{endpoint("/metrics"), endpoint("/metrics/haproxy")},
	}}}
	u.SetGroupVersionKind(serviceMonitor)
	m := childMeta(s.name, api.RouterName(s.name))
	u.SetNamespace(m.Namespace)
	u.SetName(m.Name)
	u.SetLabels(m.Labels)
	return ownedBy(u, owner)
}

// ensureServiceMonitor writes the ServiceMonitor where there are such. It is
// not watched; what somebody changes is put right when something else happens.
func (r *Reconciler) ensureServiceMonitor(ctx context.Context, in *statusInput) error {
	there, err := r.monitors.exist(in.now, r.options.ClusterPoll)
	if err != nil || !there {
		return err
	}
	desired := desiredServiceMonitor(in.s, in.deployment)
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(serviceMonitor)
	err = r.live.Get(ctx, client.ObjectKeyFromObject(desired), live)
	switch {
	case apierrors.IsNotFound(err):
		err = r.client.Create(ctx, desired)
	case err != nil:
	case live.GetLabels()[api.LabelOwningIngressController] != in.s.name:
		return &conflictError{kind: serviceMonitor.Kind, namespace: desired.GetNamespace(), name: desired.GetName()}
	case equality.Semantic.DeepEqual(live.Object["spec"], desired.Object["spec"]):
		return nil
	default:
		live.Object["spec"] = desired.Object["spec"]
		err = r.client.Update(ctx, live)
	}
	if err != nil {
		return fmt.Errorf("write ServiceMonitor %s: %w", desired.GetName(), err)
	}
	return nil
}
