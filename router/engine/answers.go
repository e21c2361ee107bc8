package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
)

// Bounds of the metric of refusals: its routes, those of one namespace, and after how long
// without a refusal one makes room for another.
const (
	answersLook     = 10 * time.Second
	mostAnswered    = 200
	mostAnsweredOf  = 50
	answeredIdle    = 10 * time.Minute
	otherRoute      = "other"
	mostThreadKeys  = 64 * 1000 // far above what HAProxy's threads keep
	answersPerDrift = 3
)

// answers count what policies refuse, from what HAProxy's threads have counted.
type answers struct {
	at time.Time
	// pid is the process that counted last.
	pid  int
	last map[threadRefusal]uint64
	// routes are those with series of their own, and when each was refused something last.
	routes map[routeName]time.Time
	of     map[string]int
}

type threadRefusal struct {
	thread int
	of     haproxy.Refusal
}

type routeName struct{ namespace, route string }

// countAnswers takes in what policies have refused since the last time.
func (e *Engine) countAnswers() {
	now := time.Now()
	if e.pid == 0 || now.Sub(e.answers.at) < min(answersLook, e.o.DriftCheck/answersPerDrift) {
		return
	}
	e.answers.at = now
	before := e.answers.last
	if e.answers.pid != e.pid {
		before = nil // another process counts from the beginning
	}
	counted := map[threadRefusal]uint64{}
	if err := e.haproxy.Refusals(func(thread int, of haproxy.Refusal, count uint64) {
		if len(counted) < mostThreadKeys {
			counted[threadRefusal{thread, of}] = count
		}
	}); err != nil {
		return // the next sync says that HAProxy is gone
	}
	for key, count := range counted {
		more := count - before[key]
		if count < before[key] {
			more = count
		}
		if more > 0 {
			route := e.answers.series(key.of.Backend, now, e.o.Metrics.forgetAnswers)
			e.o.Metrics.addAnswers(route, key.of.Group, strconv.Itoa(key.of.Status), more)
		}
	}
	e.answers.last, e.answers.pid = counted, e.pid
}

// series returns the labels for a backend: those of its route if there is room, which one
// without refusals for a while makes.
func (a *answers) series(backend string, now time.Time, forget func(routeName)) routeName {
	other := routeName{otherRoute, otherRoute}
	parts := strings.Split(backend, ":")
	if len(parts) < 3 {
		return other
	}
	route, _, _ := model.SplitClaim(parts[2])
	r := routeName{parts[1], route}
	if _, known := a.routes[r]; known {
		a.routes[r] = now
		return r
	}
	if a.routes == nil {
		a.routes, a.of = map[routeName]time.Time{}, map[string]int{}
	}
	if len(a.routes) >= mostAnswered || a.of[r.namespace] >= mostAnsweredOf {
		for old, at := range a.routes {
			if now.Sub(at) > answeredIdle {
				delete(a.routes, old)
				if a.of[old.namespace]--; a.of[old.namespace] == 0 {
					delete(a.of, old.namespace)
				}
				forget(old)
			}
		}
	}
	if len(a.routes) >= mostAnswered || a.of[r.namespace] >= mostAnsweredOf {
		return other
	}
	a.routes[r] = now
	a.of[r.namespace]++
	return r
}
