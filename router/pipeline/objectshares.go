package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
)

// objectShares bounds what objects may ask for in each namespace, such as the claims of
// HTTPRoutes: the oldest objects get theirs. It is a function of the objects alone, so that
// every router decides the same.
type objectShares struct {
	namespaces map[string]*namespaceShares
	// changed are the namespaces in which something else may be decided.
	changed map[string]struct{}
}

// namespaceShares are those of one namespace.
type namespaceShares struct {
	objects map[model.Object]objectShare
	// asked is how much they ask for together, bounded how many of them have a bound.
	asked, bounded int
	// refused are the objects that get nothing.
	refused model.Objects
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
	return objectShares{namespaces: map[string]*namespaceShares{}, changed: map[string]struct{}{}}
}

// set notes how much an object asks for, whatever it gets; the version is nil if the object
// is gone.
func (s *objectShares) set(key model.Object, v door.Version, asked, bound int) {
	n, now := s.namespaces[key.Namespace], objectShare{}
	if v != nil && asked > 0 {
		now = objectShare{key, v.GetCreationTimestamp().UTC(), asked, bound}
	}
	if n == nil {
		if now.asked == 0 {
			return
		}
		n = &namespaceShares{objects: map[model.Object]objectShare{}}
		s.namespaces[key.Namespace] = n
	}
	old := n.objects[key]
	if now == old {
		return
	}
	s.changed[key.Namespace] = struct{}{}
	n.asked += now.asked - old.asked
	n.bounded += min(now.bound, 1) - min(old.bound, 1)
	if n.objects[key] = now; now.asked == 0 {
		delete(n.objects, key) // if it was refused, settle says so
	}
}

func (s *objectShares) isRefused(key model.Object) bool {
	n := s.namespaces[key.Namespace]
	if n == nil {
		return false
	}
	_, refused := n.refused[key]
	return refused
}

// settle decides again where something has changed, or everywhere, and returns the objects
// of which another is decided.
func (s *objectShares) settle(most int, all bool) (again model.Objects) {
	if all {
		for name := range s.namespaces {
			s.changed[name] = struct{}{}
		}
	}
	for name := range s.changed {
		n := s.namespaces[name]
		before := n.refused
		n.refuse(most)
		if len(before)+len(n.refused) > 0 {
			if again == nil {
				again = model.Objects{}
			}
			maps.Copy(again, differences(before, n.refused))
		}
		if len(n.objects) == 0 {
			delete(s.namespaces, name)
		}
	}
	clear(s.changed)
	return again
}

// refuse decides which objects get nothing: where they ask for more than one of them may have,
// the youngest.
func (n *namespaceShares) refuse(most int) {
	n.refused = nil
	if n.asked <= most && n.bounded == 0 {
		return
	}
	all := slices.Collect(maps.Values(n.objects))
	if !slices.ContainsFunc(all, func(a objectShare) bool { return n.asked > a.most(most) }) {
		return
	}
	slices.SortFunc(all, func(a, b objectShare) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.object.Kind, b.object.Kind), cmp.Compare(a.object.Name, b.object.Name))
	})
	n.refused = model.Objects{}
	given := 0
	for _, a := range all {
		if given+a.asked > a.most(most) {
			n.refused[a.object] = struct{}{}
			continue
		}
		given += a.asked
	}
}
