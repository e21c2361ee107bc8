package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// sweeper looks for load balancers whose Service does not exist any more: that
// happens only if a user removes our finalizer by force. It reports them,
// and deletes them where that is switched on.
type sweeper struct {
	*reconciler
	// seen is when each orphan was first seen, by UID.
	seen map[string]time.Time
}

// orphanAge is how long something must have been without a Service, so that
// nothing is deleted that has just been made.
const orphanAge = 10 * time.Minute

// NeedLeaderElection is true: one sweeps.
func (s *sweeper) NeedLeaderElection() bool { return true }

// Start sweeps until ctx ends.
func (s *sweeper) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, s.sweep, s.opts.Sweep)
	return nil
}

func (s *sweeper) sweep(ctx context.Context) {
	refs, err := s.opts.Hook.ListOwned(ctx)
	if err != nil {
		if hook.ClassOf(err) != hook.ClassUnsupported {
			s.log.Error("cannot look for load balancers without a Service", "err", err)
		}
		return
	}
	services := &corev1.ServiceList{}
	if err := s.client.List(ctx, services); err != nil {
		s.log.Error("cannot list Services", "err", err)
		return
	}
	alive := map[string]bool{}
	for i := range services.Items {
		alive[string(services.Items[i].UID)] = true
	}
	now := s.opts.Now()
	orphans := map[string]time.Time{}
	for _, ref := range refs {
		if alive[ref.UID] || ref.UID == "" {
			continue
		}
		first, again := s.seen[ref.UID]
		if !again {
			first = now
		}
		orphans[ref.UID] = first
		switch {
		case !again || now.Sub(first) < orphanAge:
			s.log.Info("a load balancer has no Service", "service", ref.String(), "uid", ref.UID, "handle", ref.Handle)
		case !s.opts.DeleteOrphans:
			s.log.Info("a load balancer has no Service; it stays, because --cloud-delete-orphans is off", "service", ref.String(), "uid", ref.UID, "handle", ref.Handle)
		default:
			result, err := s.opts.Hook.Delete(ctx, &hook.Deletion{Ref: ref, Orphan: true})
			s.log.Info("deleting a load balancer that has no Service", "service", ref.String(), "uid", ref.UID, "done", err == nil && result.Done, "err", err)
		}
	}
	s.seen = orphans
	s.metrics.orphans.Set(float64(len(orphans)))
}
