package controller

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// told remembers what was last said about each Ingress, so that an event is
// written when something becomes wrong and not each time somebody looks.
type told struct {
	mu   sync.Mutex
	said map[client.ObjectKey]map[string]bool
}

func newTold() *told { return &told{said: map[client.ObjectKey]map[string]bool{}} }

// news returns the findings that were not among those of the last call.
func (t *told) news(key client.ObjectKey, findings []api.Finding) []api.Finding {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.said[key]
	now := make(map[string]bool, len(findings))
	var fresh []api.Finding
	for _, f := range findings {
		id := string(f.Reason) + "\x00" + f.Text()
		if !before[id] && !now[id] {
			fresh = append(fresh, f)
		}
		now[id] = true
	}
	t.said[key] = now
	return fresh
}

func (t *told) forget(key client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.said, key)
}

// tell writes an event for each finding that is new.
func (r *reconciler) tell(i *networkingv1.Ingress, findings []api.Finding) {
	for _, f := range r.told.news(client.ObjectKeyFromObject(i), findings) {
		kind := corev1.EventTypeWarning
		if f.Severity == api.SeverityInfo {
			kind = corev1.EventTypeNormal
		}
		r.events.Eventf(i, nil, kind, string(f.Reason), "Convert", "%s", f.Text())
	}
}

// addressesOf returns status.addresses of an IngressController.
func addressesOf(ic *unstructured.Unstructured) []string {
	addresses, _, err := unstructured.NestedStringSlice(ic.Object, "status", "addresses")
	if err != nil {
		return nil // The CRD allows nothing but strings.
	}
	return addresses
}
