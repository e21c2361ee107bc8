package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/fairlead/fairlead/router/haproxy"
)

const (
	// defaultReloadPause coalesces the reloads that HAProxy before 3.4 needs.
	defaultReloadPause = time.Second
	// quickReloads is how many old workers may stand before reloads get slower.
	quickReloads = 2
	// maxReloadPause bounds the pause between reloads for routes.
	maxReloadPause = 30 * time.Second
	// oldWorkersCheck is how often old workers are counted while there are some.
	oldWorkersCheck = 5 * time.Second
)

// oldWorkers are the workers of HAProxy that reloads have replaced and that still
// have connections. The supervisor bounds their number (haproxy.MaxOldWorkers);
// the engine tells it, and reloads the slower the more there are, so that a
// tenant who asks for one reload after the other does not end the long
// connections of all others within seconds.
type oldWorkers struct {
	known  int
	seenAt time.Time
}

// countOldWorkers asks HAProxy's master, if the last answer is older than that.
func (e *Engine) countOldWorkers(age time.Duration) int {
	if time.Since(e.old.seenAt) < age {
		return e.old.known
	}
	e.old.seenAt = time.Now()
	old, err := e.haproxy.OldWorkers()
	if err != nil {
		return e.old.known // a master that starts; it is asked again
	}
	e.old.known = len(old)
	e.o.Metrics.oldWorkers.Set(float64(len(old)))
	return e.old.known
}

// reloadWait returns how long a reload for routes has to wait.
func (e *Engine) reloadWait() time.Duration {
	pause := e.o.ReloadPause
	if wait := time.Until(e.reloadedAt.Add(pause)); wait > 0 {
		return wait
	}
	wait := time.Until(e.reloadedAt.Add(pauseAfter(pause, e.countOldWorkers(pause/2))))
	return min(wait, pause) // old workers may leave meanwhile
}

// pauseAfter returns the pause between two reloads while so many old workers
// are there, where it is least while there are few.
func pauseAfter(least time.Duration, old int) time.Duration {
	pause := least
	for range old - quickReloads {
		pause = min(2*pause, maxReloadPause)
	}
	return pause
}

// replaced logs old workers that the supervisor ends after a reload.
func (e *Engine) replaced(surplus int) {
	e.countOldWorkers(0)
	if surplus <= 0 {
		return
	}
	e.o.Metrics.oldWorkersEnded.Add(float64(surplus))
	e.log.Error("too many reloads while connections last: the oldest workers of HAProxy end with their connections", "workers", surplus, "most", haproxy.MaxOldWorkers)
}

// maxBlames is how many times in a row a refused reload is tried again, each time
// without one route more. Then the next sync goes on from there: what is refused is
// not the settings' fault.
const maxBlames = 100

// reload makes HAProxy start a new worker from files that have everything. While
// HAProxy refuses them for the sake of a route, that route falls back.
func (e *Engine) reload(reason string) error {
	began := time.Now()
	for blamed := 0; ; blamed++ {
		err := e.startWorker()
		if err == nil {
			break
		}
		refusal, refused := errors.AsType[*haproxy.RefusedError](err)
		if !refused || !e.blame(refusal.Log) && !e.bisect() {
			return err
		}
		if blamed == maxBlames {
			return fmt.Errorf("HAProxy still refuses its files after %d times without a route more: %s", blamed, refusal.Message)
		}
	}
	e.o.Metrics.reloads.WithLabelValues(reason).Inc()
	e.log.Info("reloaded HAProxy", "reason", reason, "dur", time.Since(began).Round(time.Millisecond))
	info, err := e.haproxy.Info()
	if err != nil {
		return err
	}
	e.skeleton.started()
	return e.readBack(info.PID)
}

// startWorker writes the files and makes HAProxy read them.
func (e *Engine) startWorker() error {
	if err := e.writeFiles(); err != nil {
		return err
	}
	surplus := e.countOldWorkers(0) + 1 - haproxy.MaxOldWorkers
	e.readTraffic()
	if err := e.haproxy.Reload(); err != nil {
		e.o.Metrics.reloadFailures.Inc()
		return err
	}
	e.reloadedAt = time.Now()
	e.replaced(surplus)
	return nil
}
