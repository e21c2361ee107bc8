package operator

import (
	"crypto/rand"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

// Keys of the Secret router-stats-NAME.
const (
	keyStatsUsername = "statsUsername"
	keyStatsPassword = "statsPassword"
)

// desiredStatsSecret returns the Secret with user and password of HAProxy's
// stats page. The password is random; an existing one is kept by changedStatsSecret.
func desiredStatsSecret(ic string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: childMeta(ic, api.StatsSecretName(ic)),
		Type:       corev1.SecretTypeOpaque,
		Data: map[string][]byte{
			keyStatsUsername: []byte("admin"),
			keyStatsPassword: []byte(rand.Text()),
		},
	}
}

// changedStatsSecret fills what is missing in the live Secret.
func changedStatsSecret(live, desired *corev1.Secret) (*corev1.Secret, bool) {
	updated := live.DeepCopy()
	changed := mergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
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
