package kube

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var defaultLeaseTimes = leaseTimes{15 * time.Second, 10 * time.Second, 2 * time.Second}

// Run writes until ctx ends, and returns nil then. It waits for the Watcher's
// first state, which must run at the same time.
func (s *StatusWriter) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { s.events.run(ctx) })
	defer parts.Wait()
	if !s.watcher.WaitForSync(ctx) {
		return nil
	}
	if s.namespace != "" {
		parts.Go(func() { s.speak(ctx) })
	}
	for ctx.Err() == nil {
		usable, err := s.leaseUsable(ctx)
		switch {
		case err != nil:
			s.log.errorLimited("cannot read the lease of the status writer, retrying", "err", err)
			pause(ctx, s.lease.retry)
		case usable:
			s.elect(ctx)
		default:
			s.writeAlone(ctx)
		}
	}
	return nil
}

func (s *StatusWriter) leaseName() string { return "router-" + s.watcher.name + "-status" }

// leaseUsable makes sure that the Lease exists. It reports false if there is no
// place for it, or no right to it.
func (s *StatusWriter) leaseUsable(ctx context.Context) (bool, error) {
	if s.namespace == "" {
		return false, nil
	}
	leases := s.watcher.clients.coordination
	err := leases.Get().Namespace(s.namespace).Resource("leases").Name(s.leaseName()).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		err = leases.Post().Namespace(s.namespace).Resource("leases").Body(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.leaseName()},
		}).Do(ctx).Error()
	}
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		// Replicas without a Lease write the same; they only disturb each
		// other. No status at all would be worse.
		s.log.once("writing route status without a lease",
			"lease", s.namespace+"/"+s.leaseName(), "err", err)
		return false, nil
	default:
		return false, fmt.Errorf("get lease %s/%s: %w", s.namespace, s.leaseName(), err)
	}
}

// writeAlone writes without a Lease, for a while if one was asked for.
func (s *StatusWriter) writeAlone(ctx context.Context) {
	if s.namespace != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	s.write(ctx)
}

// elect takes part in the election, and writes while this replica is elected.
// It returns when the election was lost or ctx ends.
func (s *StatusWriter) elect(ctx context.Context) {
	e := &election{
		client: s.watcher.clients.coordination, namespace: s.namespace, name: s.leaseName(),
		identity: s.identity, times: s.lease,
	}
	err := e.run(ctx, func(term context.Context) {
		s.log.Info("elected to write route status", "identity", s.identity)
		s.write(term)
	})
	if err != nil {
		s.log.errorLimited("cannot take part in the election of the status writer", "err", err)
		pause(ctx, s.lease.retry)
	}
}

// limitedLog logs a recurring error at most once a minute per message.
type limitedLog struct {
	*slog.Logger
	mu   sync.Mutex
	last map[string]time.Time
}

func newLimitedLog(log *slog.Logger) *limitedLog {
	return &limitedLog{Logger: log, last: map[string]time.Time{}}
}

func (c *limitedLog) errorLimited(message string, args ...any) {
	c.mu.Lock()
	last, before := c.last[message]
	silent := before && time.Since(last) < time.Minute
	if !silent {
		c.last[message] = time.Now()
	}
	c.mu.Unlock()
	if !silent {
		c.Error(message, args...)
	}
}

func (c *limitedLog) once(message string, args ...any) {
	c.mu.Lock()
	_, before := c.last[message]
	c.last[message] = time.Now()
	c.mu.Unlock()
	if !before {
		c.Info(message, args...)
	}
}
