package controller

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// staleVersions holds the versions of objects that this controller has replaced,
// until its cache shows newer ones. A decision on such a version would be the
// one that has just been written, and the API server would refuse it.
type staleVersions map[types.UID]string

// isStale says whether the cache still shows what was overwritten.
func (o staleVersions) isStale(cached client.Object) bool {
	if o[cached.GetUID()] == cached.GetResourceVersion() {
		return cached.GetUID() != ""
	}
	delete(o, cached.GetUID())
	return false
}

// noteWrite notes that is, the API server's answer, has taken the place of was.
func (o staleVersions) noteWrite(was, is client.Object) {
	if was.GetResourceVersion() != is.GetResourceVersion() {
		o[was.GetUID()] = was.GetResourceVersion()
	}
}
