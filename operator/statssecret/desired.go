// Package statssecret decides about the Secret with user and password of HAProxy's
// stats page. Pure.
package statssecret

import (
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
)

// Keys of the Secret router-stats-NAME.
const (
	keyStatsUsername = "statsUsername"
	keyStatsPassword = "statsPassword"
)

// Desired returns the Secret with user and password of HAProxy's
// stats page. The password is random; an existing one is kept by Changed.
func Desired(ic string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: child.Meta(ic, api.StatsSecretName(ic)),
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			keyStatsUsername: []byte("admin"),
			keyStatsPassword: []byte(rand.Text()),
		},
	}
}

// Changed fills what is missing in the live Secret.
func Changed(live, desired *corev1.Secret) (*corev1.Secret, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	for key, value := range desired.Data {
		if len(updated.Data[key]) > 0 {
			continue
		}
		if updated.Data == nil {
			updated.Data = map[string][]byte{}
		}
		updated.Data[key] = value
		changed = true
	}
	return updated, changed
}
