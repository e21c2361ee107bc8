package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// silence is since when the routers have said nothing about the newest generation of a Gateway.
type silence struct {
	mu    sync.Mutex
	since map[types.NamespacedName]silentVersion
}

type silentVersion struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// of returns how long they have been silent about a Gateway.
func (s *silence) of(g *gatewayv1.Gateway, silent bool, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(g)
	v := s.since[key]
	switch {
	case !silent:
		delete(s.since, key)
		return 0
	case v.uid != g.UID || v.generation != g.Generation:
		if s.since == nil {
			s.since = map[types.NamespacedName]silentVersion{}
		}
		s.since[key] = silentVersion{g.UID, g.Generation, now}
		return 0
	}
	return now.Sub(v.at)
}

func (s *silence) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, key)
}
