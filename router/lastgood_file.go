package router

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

const (
	// lastGoodFile keeps the routes that are not served as they are now.
	lastGoodFile = "lastgood.json"
	// maxLastGood bounds that file, lastGoodShare what a namespace has of it. The
	// routes of a quota's worth of tenants fit; what does not fit is not kept for
	// the next process.
	maxLastGood, lastGoodShare = 32 << 20, 2 << 20
	// lastGoodPause is the pause after it could not be written, lastGoodRest how
	// much longer than a write the pause after it is: no change of others waits
	// for a tenant's many.
	lastGoodPause, lastGoodRest = 10 * time.Second, 20
)

// lastGood is what that file is to hold. A tenant may have thousands of such
// routes, so a change costs what its route does, and no namespace has more than
// its share.
type lastGood struct {
	kept  map[model.Key]Kept
	texts map[model.Key][]byte
	// used counts the bytes of each namespace, total those of all.
	used  map[string]int
	total int
	// full are the namespaces with routes that do not fit, true until that is told.
	full map[string]bool
	// due is true if the file is another one, next when it may be written.
	due  bool
	next time.Time
}

func newLastGood() lastGood {
	return lastGood{kept: map[model.Key]Kept{}, texts: map[model.Key][]byte{}, used: map[string]int{}, full: map[string]bool{}}
}

// set notes what is to be kept of a route, if anything is.
func (l *lastGood) set(key model.Key, k Kept, keep bool) {
	former, had := l.texts[key]
	if keep && had && l.kept[key] == k {
		return
	}
	if had {
		delete(l.kept, key)
		delete(l.texts, key)
		l.add(key.Namespace, -len(former))
	}
	if !keep {
		l.due = l.due || had
		return
	}
	text, _ := json.Marshal(k) // such types always can be written
	if l.used[key.Namespace]+len(text) > lastGoodShare || l.total+len(text) > maxLastGood {
		l.due = l.due || had
		if _, known := l.full[key.Namespace]; !known {
			l.full[key.Namespace] = true
		}
		return
	}
	l.due = l.due || !bytes.Equal(text, former)
	l.kept[key], l.texts[key] = k, text
	l.add(key.Namespace, len(text))
}

func (l *lastGood) add(namespace string, bytes int) {
	l.total += bytes
	if l.used[namespace] += bytes; l.used[namespace] == 0 {
		delete(l.used, namespace)
		delete(l.full, namespace)
	}
}

// file returns the text of the file.
func (l *lastGood) file() []byte {
	keys := slices.SortedFunc(maps.Keys(l.texts), func(a, b model.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	texts := make([][]byte, len(keys))
	for i, key := range keys {
		texts[i] = l.texts[key]
	}
	return slices.Concat([]byte{'['}, bytes.Join(texts, []byte{','}), []byte{']'})
}

// tell returns the namespaces that are full and have not been told of.
func (l *lastGood) tell() (full []string) {
	for namespace, fresh := range l.full {
		if fresh {
			full = append(full, namespace)
			l.full[namespace] = false
		}
	}
	slices.Sort(full)
	return full
}

// recallLastGood takes the last good versions over from a former process of
// the router in the same pod.
func (e *Engine) recallLastGood() {
	var kept []Kept
	if !e.o.State.Read(lastGoodFile, 2*maxLastGood, func(text []byte) (err error) {
		kept, err = parseKept(text)
		return err
	}) {
		return
	}
	e.lastGood.due = len(kept) > 0 // of routes that may be gone
	e.pipeline.Restore(kept)
}

// parseKept reads what saveLastGood wrote. Whether a version belongs to its route
// as it is now is seen when that is known: Kept.of.
func parseKept(text []byte) ([]Kept, error) {
	var kept []Kept
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&kept); err != nil {
		return nil, fmt.Errorf("read the routes: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the routes")
	}
	for i := range kept {
		if err := kept[i].check(); err != nil {
			return nil, fmt.Errorf("route %q: %w", kept[i].Key, err)
		}
	}
	return kept, nil
}

// check returns what is wrong with a kept route by itself.
func (k *Kept) check() error {
	for _, version := range []*routev1.Route{k.Good, k.Accepted} {
		if version != nil && (model.Key{Namespace: version.Namespace, Name: version.Name}) != k.Key {
			return errors.New("a version is another route's")
		}
		if version != nil && string(version.UID) != k.UID {
			return errors.New("a version is of a former route of that name")
		}
	}
	switch {
	case k.Key.Namespace == "" || k.Key.Name == "" || k.UID == "":
		return errors.New("it is not named")
	case k.Fallback < 0 || k.Fallback > int(withdrawn):
		return errors.New("an unknown fallback")
	case k.Claim != nil && (k.Claim.Key != k.Key || k.Claim.UID != k.UID || k.Claim.Backend.Owner != k.Key || k.Accepted == nil):
		return errors.New("a claim that is not its own")
	}
	return nil
}

// of reports whether a kept route can be a former version of a route as it is
// now. Whatever stands in the file, the route is no older than the API server
// says, so it takes no host from others.
func (k *Kept) of(object *routev1.Route) bool {
	if k.UID != string(object.UID) {
		return false
	}
	for _, former := range []*routev1.Route{k.Good, k.Accepted} {
		if former != nil && !former.CreationTimestamp.Equal(&object.CreationTimestamp) {
			return false
		}
	}
	return true
}

// claims reports whether the claim that is kept is what its door makes of its
// version, under settings that allow it.
func (k *Kept) claims(p *Pipeline) bool {
	if k.Accepted == nil || k.Claim == nil {
		return false
	}
	settings := p.settings
	settings.WildcardsAllowed = true
	now := route.Route(k.Accepted, p.src, settings, route.Past{Certificate: k.Claim.Certificate}).Claim
	return now != nil && now.Created.Equal(k.Claim.Created) && now.Host == k.Claim.Host && now.NamedHost == k.Claim.NamedHost &&
		now.Path == k.Claim.Path && now.Exact == k.Claim.Exact && now.Termination == k.Claim.Termination && now.Insecure == k.Claim.Insecure
}

// noteLastGood takes in which of the routes that are about to be told are not
// served as they are now.
func (e *Engine) noteLastGood() {
	for key := range e.reports {
		k, keep := e.pipeline.Kept(key)
		e.lastGood.set(key, k, keep)
	}
}

// saveLastGood keeps the last good versions for the next process of the router.
func (e *Engine) saveLastGood() {
	if full := e.lastGood.tell(); len(full) > 0 {
		e.log.Error("some last good versions of routes are not kept: these namespaces have too many that cannot be served as they are; the next process of the router will not know them", "namespaces", full, "share", lastGoodShare)
	}
	began := time.Now()
	if !e.lastGood.due || began.Before(e.lastGood.next) {
		return
	}
	if err := e.o.State.Write(lastGoodFile, e.lastGood.file()); err != nil {
		e.lastGood.next = began.Add(lastGoodPause)
		e.log.Error("cannot keep the last good versions of routes; the next process of the router will not know them", "err", err)
		return
	}
	now := time.Now()
	e.lastGood.due, e.lastGood.next = false, now.Add(lastGoodRest*now.Sub(began))
}
