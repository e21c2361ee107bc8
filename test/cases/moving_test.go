package cases

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// moving is a cluster whose objects go and come back between two questions, as those of a
// watch may while an update is computed.
type moving struct {
	*memory
	mu    sync.Mutex
	dice  *rand.Rand
	moves bool
}

// gone decides for each question by itself.
func (m *moving) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moves && m.dice.IntN(6) == 0
}

func (m *moving) Object(k model.Object) door.Version {
	if m.gone() {
		return nil
	}
	return m.memory.Object(k)
}

func (m *moving) Service(k model.Object) *backend.Service {
	if m.gone() {
		return nil
	}
	return m.memory.Service(k)
}

func (m *moving) Slices(service model.Object) []*backend.Slice {
	if m.gone() {
		return nil
	}
	return m.memory.Slices(service)
}

func (m *moving) Secret(k model.Object) (*corev1.Secret, error) {
	if m.gone() {
		return m.memory.Secret(model.Object{Kind: k.Kind, Namespace: k.Namespace, Name: "gone"})
	}
	return m.memory.Secret(k)
}

func (m *moving) ConfigMap(k model.Object) (*policy.ConfigMap, error) {
	if m.gone() {
		return m.memory.ConfigMap(model.Object{Kind: k.Kind, Namespace: k.Namespace, Name: "gone"})
	}
	return m.memory.ConfigMap(k)
}

func (m *moving) Policies(namespace string) *policy.Set {
	if m.gone() {
		return nil
	}
	return m.memory.Policies(namespace)
}

func (m *moving) Namespace(name string) *policy.Namespace {
	if m.gone() {
		return nil
	}
	return m.memory.Namespace(name)
}

// TestMovingSource: whatever changes while the pipeline reads, nothing of it fails, and once
// the changes were told, all is as if there had been no haste.
func TestMovingSource(t *testing.T) {
	t.Parallel()
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			u := newUniverse(t)
			u.invalid, u.policies = true, true
			src := &moving{memory: newMemory(), dice: rand.New(rand.NewPCG(uint64(i), 0))}
			k := &core{src.memory, pipelineOf(t, src, src.Settings())}
			k.apply(u.services())
			for range 10 {
				src.moves = true
				for range 10 {
					touched := k.propose(u.change())
					for u.IntN(3) == 0 {
						_, more, _ := k.pipeline.Refuse(model.Object{Kind: route.Kind, Namespace: pick(u, spaces), Name: fmt.Sprintf("r%d", u.IntN(8))}, "at random")
						maps.Copy(touched, more)
					}
					k.pipeline.Accept(touched)
					k.pipeline.PolicyReports(func() model.Objects { return nil })
				}
				src.moves = false
				_, touched := k.pipeline.Update(door.Changes{All: true})
				k.pipeline.Accept(touched)
				if err := k.equalsFull(t); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
