package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/router/explain"
)

// readings are what the source has said, of all namespaces. Pages do not read them: visits get
// what their user may see of them by the functions below, and nowhere else (TestOnePlace).
type readings struct {
	worlds *keeper[world]
	health *keeper[check.Report]
	// networks and happened are read like health, when their pages are asked for.
	networks *keeper[Network]
	happened *keeper[Events]
}

// userKey is that of the identity in the context of a request.
type userKey struct{}

// withUser says whose request it is.
func withUser(ctx context.Context, user Identity) context.Context {
	return context.WithValue(ctx, userKey{}, user)
}

// errUnread takes the place of errors whose texts are about the whole cluster.
var errUnread = errors.New("the console could not read the cluster; its log says why")

// narrow takes in what the user of the request may see. An error means that it is nothing.
func (v *visit) narrow() error {
	v.kept = v.readings.worlds.get(v.r.Context(), v.process)
	full := v.kept.value
	v.world, v.viewer = full, &viewer{all: true}
	if v.sights == nil {
		return nil
	}
	v.world, v.viewer, v.kept.value = nil, &viewer{}, nil
	user, known := v.r.Context().Value(userKey{}).(Identity)
	if !known || full == nil {
		if v.kept.err != nil {
			v.kept.err = errUnread
		}
		if !known {
			return errors.New("it is not known whose request this is")
		}
		v.viewer.name = user.Name
		return nil
	}
	viewer, err := v.sights.of(v.r.Context(), user, full.namespaces)
	if err != nil {
		v.viewer.name = user.Name
		v.sights.log.Error("nothing is shown", "err", err)
		return errors.New("the API server could not be asked what you may see; try again")
	}
	v.viewer = viewer
	if !viewer.all && v.kept.err != nil {
		v.kept.err = errUnread
	}
	v.world, err = v.views.of(v.pages, full, viewer)
	v.kept.value = v.world
	return err
}

// checks are those of the whole cluster, for those who see it.
func (v *visit) checks() (k kept[check.Report], shown bool) {
	if !v.options.Cluster || !v.viewer.all {
		return k, false
	}
	return reading(v, v.readings.health), true
}

// addresses are those of Services in namespaces that the user sees. Nodes and pools belong to
// the whole cluster.
func (v *visit) addresses() kept[Network] {
	return narrowed(v.viewer, reading(v, v.readings.networks), func(all *Network) *Network {
		own := &Network{}
		for _, a := range all.Addresses {
			if namespace, _, _ := strings.Cut(a.Service, "/"); v.viewer.sees(namespace) {
				own.Addresses = append(own.Addresses, Address{Addresses: a.Addresses, Service: a.Service, State: a.State, Since: a.Since})
			}
		}
		return own
	})
}

// written are the events about objects in namespaces that the user sees.
func (v *visit) written() kept[Events] {
	return narrowed(v.viewer, reading(v, v.readings.happened), func(all *Events) *Events {
		own := &Events{}
		for _, e := range all.Items {
			if v.viewer.sees(e.Namespace) {
				own.Items = append(own.Items, e)
			}
		}
		return own
	})
}

// reading is what there is of a part of the page, which says so if that is nothing yet.
func reading[T any](v *visit, of *keeper[T]) kept[T] {
	k := of.get(v.r.Context(), v.process)
	v.pending = v.pending || k.value == nil && k.err == nil
	return k
}

// narrowed is the part of a reading that a viewer sees. Errors are about the whole cluster.
func narrowed[T any](of *viewer, k kept[T], part func(*T) *T) kept[T] {
	if of.all {
		return k
	}
	if k.err != nil {
		k.err = errUnread
	}
	if k.value != nil {
		k.value = part(k.value)
	}
	return k
}

const (
	// viewsKept is how many views of users who do not see all are kept at most, and viewRows
	// how many routes and listeners they may have together: the views that were used least
	// lately are made again when they are asked for.
	viewsKept, viewRows = 64, 20_000
)

// views are worlds as users see them. Users who see the same have the same.
type views struct {
	mu   sync.Mutex
	made []*view // the one that was used last comes last
}

type view struct {
	set   string
	full  *world
	world *world
	err   error
}

// of returns what a viewer sees of a world.
func (s *views) of(p *pages, full *world, of *viewer) (*world, error) {
	if of.all {
		return full, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(full)
	at := slices.IndexFunc(s.made, func(v *view) bool { return v.full == full && v.set == of.set })
	if at >= 0 {
		found := s.made[at]
		s.made = append(slices.Delete(s.made, at, at+1), found)
		return found.world, found.err
	}
	one := &view{set: of.set, full: full}
	one.world, one.err = p.within(full, of)
	s.made = append(s.made, one)
	for rows := s.rows(); len(s.made) > 1 && (len(s.made) > viewsKept || rows > viewRows); rows = s.rows() {
		s.made = slices.Delete(s.made, 0, 1)
	}
	return one.world, one.err
}

// forget drops the views of former worlds, which would keep these in memory.
func (s *views) forget(now *world) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(now)
}

// keep drops the views that an update of the snapshot may have changed, and keeps the others.
func (s *views) keep(before, now *world, touched *explain.Touched) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = slices.DeleteFunc(s.made, func(v *view) bool {
		if v.full != before || v.err != nil || touched.Concerns(v.world.snapshot) {
			return true
		}
		v.full = now
		return false
	})
}

// generation is that of what a viewer sees of a world: what does not concern the viewer is nothing
// new.
func (s *views) generation(full *world, of *viewer) int {
	if of.all {
		return full.generation
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.made {
		if v.full == full && v.set == of.set && v.err == nil {
			return v.world.generation
		}
	}
	return full.generation
}

func (s *views) drop(now *world) {
	s.made = slices.DeleteFunc(s.made, func(v *view) bool { return v.full.generation < now.generation })
}

func (s *views) rows() (n int) {
	for _, v := range s.made {
		if v.world != nil {
			n += len(v.world.rows) + len(v.world.listeners)
		}
	}
	return n
}

// within makes the world of a viewer. A panic is an error: no object may end the program.
func (p *pages) within(full *world, of *viewer) (w *world, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			w, err = nil, fmt.Errorf("this is a fault of the console, please report it: %v", fault)
		}
	}()
	var own *explain.Snapshot
	p.ask(full, func(s *explain.Snapshot) { own, err = s.Within(of.sees) })
	if err != nil {
		return nil, err
	}
	w = newWorld(own, nil)
	w.generation = full.generation // by which browsers know that there is something new
	return w, nil
}
