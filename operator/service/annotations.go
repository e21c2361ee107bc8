package service

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// annotationManaged on a load-balancer Service lists the annotations that the
// operator wrote, each with a hash of its value ("key=1f2e3d4c"). So it takes
// its own away again, and what an administrator wrote, or changed, stays.
const annotationManaged = "fairlead.dev/managed-annotations"

// written reports whether an annotation of a live Service is as the operator
// wrote it. Lists without hashes are of a former version.
func written(live *corev1.Service, key string) bool {
	if live == nil {
		return false
	}
	for entry := range strings.FieldsSeq(live.Annotations[annotationManaged]) {
		if name, hash, hashed := strings.Cut(entry, "="); name == key {
			return !hashed || hash == valueHash(live.Annotations[key])
		}
	}
	return false
}

func valueHash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:4])
}

// annotate adds annotations to the desired Service, but for those that an
// administrator wrote or changed himself, and notes which they are.
func annotate(desired, live *corev1.Service, wanted map[string]string) {
	entries := strings.Fields(desired.Annotations[annotationManaged])
	for key, value := range wanted {
		if live != nil {
			if _, there := live.Annotations[key]; there && !written(live, key) {
				continue
			}
		}
		desired.Annotations[key] = value
		entries = append(entries, key+"="+valueHash(value))
	}
	slices.Sort(entries)
	desired.Annotations[annotationManaged] = strings.Join(entries, " ")
}

// withoutFormer takes away what the operator annotated once and does not want
// any more.
func withoutFormer(updated, live, desired *corev1.Service) (changed bool) {
	maps.DeleteFunc(updated.Annotations, func(key, _ string) bool {
		_, still := desired.Annotations[key]
		gone := !still && key != annotationManaged && written(live, key)
		changed = changed || gone
		return gone
	})
	return changed
}
