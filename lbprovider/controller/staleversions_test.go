package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestOverwritten(t *testing.T) {
	t.Parallel()
	at := func(uid types.UID, version string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
	}
	o := staleVersions{}
	if o.isStale(at("a", "1")) || o.isStale(at("", "")) {
		t.Error("nothing was written")
	}
	o.noteWrite(at("a", "1"), at("a", "2"))
	o.noteWrite(at("b", "5"), at("b", "5")) // the API server found nothing new
	for _, c := range []struct {
		uid     types.UID
		version string
		want    bool
	}{{"a", "1", true}, {"a", "1", true}, {"b", "5", false}, {"a", "2", false}, {"a", "1", false}} {
		if got := o.isStale(at(c.uid, c.version)); got != c.want {
			t.Errorf("%s at %s: %t", c.uid, c.version, got)
		}
	}
	if len(o) != 0 {
		t.Errorf("the cache has caught up, and is remembered: %v", o)
	}
}
