package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// claimShares bounds the claims of objects that may make many, such as HTTPRoutes, in each
// namespace: the oldest objects are served. It is a function of the objects alone, so that
// every router decides the same, and costs as patternShares does.
type claimShares struct {
	asking     map[model.Object]claimShare
	namespaces map[string]int
	// refused are the objects that are not served.
	refused model.Objects
	changed bool
}

// claimShare is what one object asks for.
type claimShare struct {
	object  model.Object
	created time.Time
	claims  int
}

func newClaimShares() claimShares {
	return claimShares{asking: map[model.Object]claimShare{}, namespaces: map[string]int{}, refused: model.Objects{}}
}

// set notes how many claims an object asks for, whatever it gets. Of an object that makes
// one at most, that is 0; the version is nil if the object is gone.
func (s *claimShares) set(key model.Object, v door.Version, claims int) {
	old := s.asking[key]
	now := claimShare{}
	if v != nil && claims > 0 {
		now = claimShare{key, v.GetCreationTimestamp().UTC(), claims}
	}
	if now == old {
		return
	}
	s.changed = true
	if s.namespaces[key.Namespace] += now.claims - old.claims; s.namespaces[key.Namespace] == 0 {
		delete(s.namespaces, key.Namespace)
	}
	if s.asking[key] = now; now.claims == 0 {
		delete(s.asking, key) // if it was refused, settle says so
	}
}

func (s *claimShares) isRefused(key model.Object) bool {
	_, refused := s.refused[key]
	return refused
}

// settle decides again where something has changed, or everywhere, and returns the objects
// of which another is decided.
func (s *claimShares) settle(settings door.Settings, all bool) model.Objects {
	if !s.changed && !all {
		return nil
	}
	s.changed = false
	before, most := s.refused, settings.ClaimLimit()
	s.refused = model.Objects{}
	var crowded []claimShare
	for _, a := range s.asking {
		if s.namespaces[a.object.Namespace] > most {
			crowded = append(crowded, a)
		}
	}
	slices.SortFunc(crowded, func(a, b claimShare) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.object.Kind, b.object.Kind), cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Name, b.object.Name))
	})
	served := map[string]int{}
	for _, a := range crowded {
		if served[a.object.Namespace]+a.claims > most {
			s.refused[a.object] = struct{}{}
			continue
		}
		served[a.object.Namespace] += a.claims
	}
	return differences(before, s.refused)
}
