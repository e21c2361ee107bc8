package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// leaseTimes are how long a replica may be silent before another one takes
// over, how long it tries to renew before it stops, and how often it tries.
type leaseTimes struct {
	duration, renew, retry time.Duration
}

// election is one replica's part in electing one of several by a Lease. Its
// rules are those of client-go's leaderelection. That package links the clients
// and types of everything in Kubernetes: 15 MB of program, of which the pages in
// use are in memory.
type election struct {
	client                    rest.Interface
	namespace, name, identity string
	times                     leaseTimes

	// seen is the Lease as last read or written, nil if that is not known, and
	// seenAt when this replica saw it so first: clocks of machines may differ.
	seen   *coordinationv1.Lease
	seenAt time.Time
}

// run waits until this replica is elected, calls hold for the term, and returns
// after the term: ctx has ended, or the Lease could not be renewed in time. The
// context of hold ends with the term; the Lease is given up after its return.
func (e *election) run(ctx context.Context, hold func(context.Context)) error {
	for {
		if elected, err := e.acquire(ctx); elected {
			break
		} else if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
			return err
		}
		pause(ctx, e.times.retry+rand.N(e.times.retry/4+1)) //nolint:gosec // spreads replicas, keeps no secret
		if ctx.Err() != nil {
			return nil
		}
	}
	term, end := context.WithCancel(ctx)
	var held sync.WaitGroup
	held.Go(func() { hold(term) })
	err := e.keep(ctx)
	end()
	held.Wait()
	e.release(context.WithoutCancel(ctx))
	return err
}

// keep renews the Lease until ctx ends or the term is over.
func (e *election) keep(ctx context.Context) error {
	renewed := time.Now()
	for {
		if pause(ctx, e.times.retry); ctx.Err() != nil {
			return nil
		}
		began := time.Now()
		attempt, cancel := context.WithDeadline(ctx, renewed.Add(e.times.renew))
		still, err := e.acquire(attempt)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case still:
			renewed = began
		case err == nil:
			return nil // another replica has it
		case time.Since(renewed) >= e.times.renew:
			return fmt.Errorf("renew in time: %w", err)
		}
	}
}

// acquire takes or renews the Lease, unless another replica holds it.
func (e *election) acquire(ctx context.Context) (bool, error) {
	if !e.mine() {
		lease := &coordinationv1.Lease{}
		if err := e.on(e.client.Get()).Do(ctx).Into(lease); err != nil {
			return false, fmt.Errorf("read lease %s/%s: %w", e.namespace, e.name, err)
		}
		if e.seen == nil || e.seen.ResourceVersion != lease.ResourceVersion {
			e.seen, e.seenAt = lease, time.Now()
		}
		if !e.free() {
			return false, nil
		}
	}
	if err := e.write(ctx, e.wanted(e.identity, e.times.duration)); err != nil {
		return false, err
	}
	return true, nil
}

func holder(l *coordinationv1.Lease) string {
	if l == nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func (e *election) mine() bool { return holder(e.seen) == e.identity }

// free reports whether the Lease that was read may be taken.
func (e *election) free() bool {
	if e.mine() || holder(e.seen) == "" {
		return true
	}
	lasts := e.times.duration
	if s := e.seen.Spec.LeaseDurationSeconds; s != nil {
		lasts = time.Duration(*s) * time.Second
	}
	return time.Since(e.seenAt) > lasts
}

// wanted returns what the Lease says once that replica holds it.
func (e *election) wanted(identity string, lasts time.Duration) *coordinationv1.Lease {
	lease := e.seen.DeepCopy()
	now, seconds := metav1.NewMicroTime(time.Now()), int32(max(lasts, time.Second)/time.Second)
	if identity != "" && !e.mine() {
		var turns int32 = 1
		if t := lease.Spec.LeaseTransitions; t != nil {
			turns += *t
		}
		lease.Spec.AcquireTime, lease.Spec.LeaseTransitions = &now, &turns
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &identity, &seconds, &now
	return lease
}

// write replaces the Lease that was seen. What it is after a failure is not known.
func (e *election) write(ctx context.Context, lease *coordinationv1.Lease) error {
	answer := &coordinationv1.Lease{}
	if err := e.on(e.client.Put()).Body(lease).Do(ctx).Into(answer); err != nil {
		if !apierrors.IsConflict(err) && !e.mine() {
			return fmt.Errorf("take lease %s/%s: %w", e.namespace, e.name, err)
		}
		e.seen = nil
		return fmt.Errorf("renew lease %s/%s: %w", e.namespace, e.name, err)
	}
	e.seen, e.seenAt = answer, time.Now()
	return nil
}

// release lets another replica be elected at once.
func (e *election) release(ctx context.Context) {
	if !e.mine() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.times.renew)
	defer cancel()
	_ = e.write(ctx, e.wanted("", time.Second)) // it runs out by itself otherwise
}

func (e *election) on(r *rest.Request) *rest.Request {
	return r.Namespace(e.namespace).Resource("leases").Name(e.name)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
