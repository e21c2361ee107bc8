package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pipeline"
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
	kept  map[model.Object]pipeline.Saved
	texts map[model.Object][]byte
	// used counts the bytes of each namespace, total those of all.
	used  map[string]int
	total int
	// full are the namespaces with routes that do not fit, true until that is logged.
	full map[string]bool
	// due is true if the file is another one, next when it may be written.
	due  bool
	next time.Time
}

func newLastGood() lastGood {
	return lastGood{kept: map[model.Object]pipeline.Saved{}, texts: map[model.Object][]byte{}, used: map[string]int{}, full: map[string]bool{}}
}

// set notes what is to be kept of a route, if anything is.
func (l *lastGood) set(key model.Object, k pipeline.Saved, keep bool) {
	former, had := l.texts[key]
	if before := l.kept[key]; keep && had && k.Equal(&before) {
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
	keys := slices.SortedFunc(maps.Keys(l.texts), func(a, b model.Object) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	texts := make([][]byte, len(keys))
	for i, key := range keys {
		texts[i] = l.texts[key]
	}
	return slices.Concat([]byte{'['}, bytes.Join(texts, []byte{','}), []byte{']'})
}

// newlyFull returns the namespaces that are full and have not been reported yet.
func (l *lastGood) newlyFull() (full []string) {
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
	var kept []pipeline.Saved
	if !e.o.State.Read(lastGoodFile, 2*maxLastGood, func(text []byte) (err error) {
		if kept, err = e.pipeline.ParseSaved(text); err != nil && len(kept) > 0 {
			e.log.Error("some last good versions of routes cannot be used; the others are", "err", err)
			return nil
		}
		return err
	}) {
		return
	}
	e.lastGood.due = len(kept) > 0 // of routes that may be gone
	e.pipeline.Restore(kept)
}

// noteLastGood takes in which of the routes that are about to be told are not
// served as they are now.
func (e *Engine) noteLastGood() {
	for key := range e.reports {
		k, keep := e.pipeline.Saved(key)
		e.lastGood.set(key, k, keep)
	}
}

// lastGoodDue returns in how long they may be written, if that is not now: a turn that waits
// for a reload does not come to it, and need not come again at once.
func (e *Engine) lastGoodDue(now time.Time) (time.Duration, bool) {
	return e.lastGood.next.Sub(now), e.lastGood.due && e.pid != 0 && now.Before(e.lastGood.next)
}

// saveLastGood keeps the last good versions for the next process of the router.
func (e *Engine) saveLastGood() {
	if full := e.lastGood.newlyFull(); len(full) > 0 {
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
