package operator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestBareSecret: content of Secrets does not come into the cache, not even in the
// annotation that kubectl apply writes it into.
func TestBareSecret(t *testing.T) {
	t.Parallel()
	if kept, err := bareSecret(&corev1.Secret{}); err == nil {
		t.Errorf("content is kept: %v", kept)
	}
	m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "a", ResourceVersion: "1", Labels: map[string]string{"b": "c"},
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "a key"},
	}}
	if _, err := bareSecret(m); err != nil || len(m.Annotations) > 0 || m.Labels["b"] != "c" || m.ResourceVersion != "1" {
		t.Errorf("%+v, %v", m, err)
	}
}
