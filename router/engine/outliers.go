package engine

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

const (
	// errorsLook is how often HAProxy is asked for the errors of servers.
	errorsLook = time.Second
	// errorsTurn is of how many backends at once: 100 take some 5 ms. With more of them
	// each has its turn less often.
	errorsTurn = 100
)

// errorLooks are the looks at errors of servers.
type errorLooks struct {
	next time.Time
	// after is the backend that was looked at last of each namespace, and from the first
	// namespace of the next look.
	after map[string]string
	from  string
}

// choose returns the backends of the next look. Namespaces share it equally, and what one
// does not need is for those after it: one with thousands of backends delays only itself.
func (l *errorLooks) choose(all map[string]*model.Backend) (names []string) {
	of := map[string][]string{}
	for name, b := range all {
		of[b.Owner.Namespace] = append(of[b.Owner.Namespace], name)
	}
	namespaces := slices.Sorted(maps.Keys(of))
	first, _ := slices.BinarySearch(namespaces, l.from)
	namespaces = slices.Concat(namespaces[first:], namespaces[:first])
	after, next := map[string]string{}, ""
	for i, namespace := range namespaces {
		after[namespace] = l.after[namespace]
		room := errorsTurn - len(names)
		if room == 0 {
			next = cmp.Or(next, namespace)
			continue
		}
		own := of[namespace]
		slices.Sort(own)
		at, found := slices.BinarySearch(own, l.after[namespace])
		if found {
			at++
		}
		own = slices.Concat(own[at:], own[:at])[:min(len(own), max(room/(len(namespaces)-i), 1))]
		after[namespace] = own[len(own)-1]
		names = append(names, own...)
	}
	l.after, l.from = after, next
	return names
}

// countErrors asks HAProxy how many requests of some backends have failed, and keeps
// requests from servers to which too many have.
func (e *Engine) countErrors() {
	all := e.pipeline.Counted()
	now := time.Now()
	if len(all) == 0 || e.pid == 0 || now.Before(e.errors.next) {
		return
	}
	e.errors.next = now.Add(errorsLook)
	names := e.errors.choose(all)
	counted, err := e.haproxy.ServerErrors(names)
	if err != nil {
		return // the next sync says that HAProxy is gone
	}
	scope, ejected := e.pipeline.TakeErrors(counted, now)
	e.o.Metrics.ejected.Set(float64(ejected))
	if len(scope.Backends) > 0 {
		e.log.Info("endpoints with errors get no requests, or do again", "backends", len(scope.Backends), "withoutRequests", ejected)
		e.take(scope, nil)
	}
}

// errorsDue returns in how long errors are to be counted, if they are.
func (e *Engine) errorsDue(now time.Time) (time.Duration, bool) {
	return max(e.errors.next.Sub(now), 0), len(e.pipeline.Counted()) > 0 && e.pid != 0
}
