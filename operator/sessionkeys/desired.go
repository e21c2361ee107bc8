// Package sessionkeys decides about the Secret with the keys that routers encrypt the
// cookies of sessions with. Pure.
package sessionkeys

import (
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/router/agent/session"
)

const (
	// kept is how many keys there are: cookies of the one before the newest are still
	// accepted. No session is longer than the time between two.
	kept = 2
	// Life is how long a key is the newest one.
	Life = 24 * time.Hour
)

// Desired returns the Secret with one key that is made now. Changed keeps existing ones.
func Desired(ic string, now time.Time) *corev1.Secret {
	key := make([]byte, session.KeySize)
	_, _ = rand.Read(key) // it never fails
	return &corev1.Secret{
		ObjectMeta: child.Meta(ic, api.SessionKeysSecretName(ic)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{session.Name(now): key},
	}
}

// Changed adds the new key if the newest one is a day old, and drops all but two, and
// what is no key.
func Changed(live, desired *corev1.Secret) (*corev1.Secret, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	fresh := slices.Max(slices.Collect(maps.Keys(desired.Data)))
	keys := map[string][]byte{}
	newest := ""
	for name, content := range live.Data {
		// A key of the future would never be followed by another one.
		if _, err := session.Read(name, content); err == nil && name <= fresh {
			keys[name] = content
			newest = max(newest, name)
		}
	}
	if newest == "" || old(newest, fresh) {
		keys[fresh] = desired.Data[fresh]
	}
	names := slices.SortedFunc(maps.Keys(keys), func(a, b string) int { return strings.Compare(b, a) })
	for _, name := range names[min(kept, len(names)):] {
		delete(keys, name)
	}
	if !maps.EqualFunc(keys, live.Data, slices.Equal[[]byte]) {
		updated.Data, changed = keys, true
	}
	return updated, changed
}

// old reports whether a key was made a day before another one.
func old(newest, fresh string) bool {
	some := make([]byte, session.KeySize)
	a, _ := session.Read(newest, some)
	b, _ := session.Read(fresh, some)
	return b.Made.Sub(a.Made) >= Life
}
