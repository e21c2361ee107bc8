// Package servicemonitor writes the ServiceMonitor by which a Prometheus operator
// finds the metrics of routers, in clusters that have that kind.
package servicemonitor

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/pod"
)

// kind is the kind by which the Prometheus operator learns what to
// read. It is handled without a Go type: most clusters have none.
var kind = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}

// desired returns what makes a Prometheus read the metrics of an
// IngressController's routers, over HTTPS and with its own token.
func desired(s effective.Spec, owner *appsv1.Deployment) *unstructured.Unstructured {
	endpoint := func(path string) any {
		return map[string]any{
			"port": "metrics", "path": path, "scheme": "https", "interval": "30s",
			// Both pages are of one job and instance: without it, Prometheus could not say which of them answers.
			"relabelings":     []any{map[string]any{"sourceLabels": []any{"__metrics_path__"}, "targetLabel": "metrics_path"}},
			"bearerTokenFile": pod.ServiceAccountPath + "/token",
			"tlsConfig": map[string]any{
				"serverName": api.CanonicalHostname(s.Name, s.Domain),
				// The certificate itself is trusted, no matter which CA signed it.
				"ca": map[string]any{"secret": map[string]any{"name": api.CertificateSecretName(s.Name), "key": "tls.crt"}},
			},
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"selector": map[string]any{
			"matchLabels": map[string]any{api.LabelOwningIngressController: s.Name},
			// The Services for clients have this label, and lead to the same pods.
			"matchExpressions": []any{map[string]any{"key": "router", "operator": "DoesNotExist"}},
		},
		"endpoints": []any{endpoint("/metrics"), endpoint("/metrics/haproxy")},
	}}}
	u.SetGroupVersionKind(kind)
	m := child.Meta(s.Name, api.RouterName(s.Name))
	u.SetNamespace(m.Namespace)
	u.SetName(m.Name)
	u.SetLabels(m.Labels)
	return child.OwnedBy(u, owner)
}
