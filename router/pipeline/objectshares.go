package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// objectShares bounds what objects may ask for in each namespace, such as the claims of
// HTTPRoutes: the oldest objects get theirs. It is a function of the objects alone, so that
// every router decides the same, and costs as patternShares does.
type objectShares struct {
	asking     map[model.Object]objectShare
	namespaces map[string]int
	// refused are the objects that get nothing.
	refused model.Objects
	changed bool
}

// objectShare is how much one object asks for.
type objectShare struct {
	object  model.Object
	created time.Time
	asked   int
	// bound is how much its namespace may get by the word of administrators, 0 for as much as
	// settings say.
	bound int
}

func (a objectShare) most(most int) int {
	if a.bound > 0 {
		return min(most, a.bound)
	}
	return most
}

func newObjectShares() objectShares {
	return objectShares{asking: map[model.Object]objectShare{}, namespaces: map[string]int{}, refused: model.Objects{}}
}

// set notes how much an object asks for, whatever it gets; the version is nil if the object
// is gone.
func (s *objectShares) set(key model.Object, v door.Version, asked, bound int) {
	old := s.asking[key]
	now := objectShare{}
	if v != nil && asked > 0 {
		now = objectShare{key, v.GetCreationTimestamp().UTC(), asked, bound}
	}
	if now == old {
		return
	}
	s.changed = true
	if s.namespaces[key.Namespace] += now.asked - old.asked; s.namespaces[key.Namespace] == 0 {
		delete(s.namespaces, key.Namespace)
	}
	if s.asking[key] = now; now.asked == 0 {
		delete(s.asking, key) // if it was refused, settle says so
	}
}

func (s *objectShares) isRefused(key model.Object) bool {
	_, refused := s.refused[key]
	return refused
}

// settle decides again where something has changed, or everywhere, and returns the objects
// of which another is decided.
func (s *objectShares) settle(most int, all bool) model.Objects {
	if !s.changed && !all {
		return nil
	}
	s.changed = false
	before := s.refused
	s.refused = model.Objects{}
	full := map[string]bool{}
	for _, a := range s.asking {
		full[a.object.Namespace] = full[a.object.Namespace] || s.namespaces[a.object.Namespace] > a.most(most)
	}
	var crowded []objectShare
	for _, a := range s.asking {
		if full[a.object.Namespace] {
			crowded = append(crowded, a)
		}
	}
	slices.SortFunc(crowded, func(a, b objectShare) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.object.Kind, b.object.Kind), cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Name, b.object.Name))
	})
	given := map[string]int{}
	for _, a := range crowded {
		if given[a.object.Namespace]+a.asked > a.most(most) {
			s.refused[a.object] = struct{}{}
			continue
		}
		given[a.object.Namespace] += a.asked
	}
	return differences(before, s.refused)
}
