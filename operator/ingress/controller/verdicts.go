package controller

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/operator/ingress"
)

// verdicts remembers what was found about Secrets, so that their keys are parsed
// once for each content: an Ingress is looked at far more often.
type verdicts struct {
	mu    sync.Mutex
	known map[client.ObjectKey]knownVerdict
}

type knownVerdict struct {
	version string
	verdict ingress.Verdict
}

// maxVerdicts bounds the memory, some kilobytes each.
const maxVerdicts = 5000

func newVerdicts() *verdicts { return &verdicts{known: map[client.ObjectKey]knownVerdict{}} }

func (v *verdicts) judge(s *corev1.Secret) ingress.Verdict {
	key, version := client.ObjectKeyFromObject(s), string(s.UID)+"/"+s.ResourceVersion
	v.mu.Lock()
	k, ok := v.known[key]
	v.mu.Unlock()
	if ok && k.version == version {
		return k.verdict
	}
	verdict := ingress.JudgeSecret(s)
	v.mu.Lock()
	defer v.mu.Unlock()
	for old := range v.known {
		if len(v.known) < maxVerdicts {
			break
		}
		delete(v.known, old)
	}
	v.known[key] = knownVerdict{version, verdict}
	return verdict
}
