// Package agentcertificates decides about the Secret with the certificates that the policy
// agents of an IngressController's routers show each other. Pure, but for the random
// numbers of keys.
package agentcertificates

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/router/share/peers"
)

const (
	// form is the name of a certificate: when it was made.
	form = "20060102T150405Z.pem"
	// kept is how many there are: the newest is shown when all routers have it.
	kept = 2
)

// Desired returns the Secret with one certificate that is made now. Changed keeps existing
// ones.
func Desired(ic string, now time.Time) (*corev1.Secret, error) {
	text, err := peers.Issue(now)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for agents: %w", err)
	}
	return &corev1.Secret{
		ObjectMeta: child.Meta(ic, api.AgentCertificatesSecretName(ic)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{now.UTC().Format(form): text},
	}, nil
}

// Changed adds the new certificate if half of the life of the newest one is over, and
// drops all but two, and what is none.
func Changed(live, desired *corev1.Secret) (*corev1.Secret, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	fresh := slices.Max(slices.Collect(maps.Keys(desired.Data)))
	now, _ := time.Parse(form, fresh)
	all := map[string][]byte{}
	var newest time.Time
	for name, content := range live.Data {
		made, err := time.Parse(form, name)
		if err != nil || made.After(now) || now.Sub(made) >= peers.Life {
			continue
		}
		if _, err := peers.Read([][]byte{content}, now); err != nil {
			continue
		}
		all[name] = content
		if made.After(newest) {
			newest = made
		}
	}
	if newest.IsZero() || now.Sub(newest) >= peers.Life/2 {
		all[fresh] = desired.Data[fresh]
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names[:max(len(names)-kept, 0)] {
		delete(all, name)
	}
	if !maps.EqualFunc(all, live.Data, slices.Equal[[]byte]) {
		updated.Data, changed = all, true
	}
	return updated, changed
}
