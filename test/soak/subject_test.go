package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/test/bench/rig"
)

const (
	// limit is how long a change may take to be seen.
	limit = 20 * time.Second
	// grace is how long after a change was seen an answer of the state before
	// it is right: one look does not tell that all pods or requests follow.
	grace = 2 * time.Second
)

// subject is a route that changes. One goroutine changes it, several look.
type subject struct {
	mu sync.Mutex
	// versions are the states that requests may meet now, oldest first.
	versions []version
}

// version is a state until something else was seen; zero for the last one.
type version struct {
	*state
	until time.Time
}

func (s *subject) now() *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[len(s.versions)-1].state
}

// begin says that a state is about to be.
func (s *subject) begin(next *state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versions = slices.DeleteFunc(s.versions, func(v version) bool {
		return !v.until.IsZero() && time.Since(v.until) > time.Minute
	})
	s.versions = append(s.versions, version{state: next})
}

// seen says that the last state was seen.
func (s *subject) seen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.versions[:len(s.versions)-1] {
		if s.versions[i].until.IsZero() {
			s.versions[i].until = time.Now()
		}
	}
}

// check returns why an answer is not right for any state that the route had
// since then.
func (s *subject) check(since time.Time, t target, a rig.Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, v := range s.versions {
		if !v.until.IsZero() && v.until.Add(grace).Before(since) {
			continue
		}
		err := v.check(t, a)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// changer makes changes and waits until they are seen.
type changer struct {
	*rig.Rig
	*dice
	probe    *rig.Probe
	subjects []*subject
	done     *atomic.Int64
	kinds    map[string]int
}

func service(name string, addresses ...string) (*corev1.Service, *discoveryv1.EndpointSlice) {
	svc, slice := rig.Service(name, addresses[0])
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "https", Port: 443, TargetPort: intstr.FromInt32(rig.PodTLSPort)})
	number, port := int32(rig.PodTLSPort), "https"
	slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &port, Port: &number})
	for _, a := range addresses[1:] {
		e := slice.Endpoints[0]
		e.Addresses = []string{a}
		slice.Endpoints = append(slice.Endpoints, e)
	}
	return svc, slice
}

func (c *changer) create(ctx context.Context, s *state) error {
	svc, slice := service(s.name, s.endpoints...)
	return c.Create(ctx, svc, slice, s.object(c.CA.PEM()))
}

// run makes so many changes.
func (c *changer) run(ctx context.Context, n int) error {
	defer c.probe.Close()
	for range n {
		s := c.subjects[c.IntN(len(c.subjects))]
		if err := c.step(ctx, s); err != nil {
			return err
		}
		c.done.Add(1)
	}
	return nil
}

func (c *changer) step(ctx context.Context, s *subject) error {
	old := s.now()
	kind := change{name: "create", make: func(d *dice, next *state) error {
		fresh, err := d.route(next.name)
		if err == nil {
			*next = *fresh
		}
		return err
	}}
	if old.exists {
		kind = c.change()
	}
	next := old.clone()
	if err := kind.make(c.dice, next); err != nil {
		return err
	}
	c.kinds[kind.name]++
	if kind.name == "create again" {
		gone := old.clone()
		gone.exists = false
		s.begin(gone)
		if err := c.DeleteRoute(ctx, old.name); err != nil {
			return err
		}
		s.begin(next)
		if err := c.Create(ctx, next.object(c.CA.PEM())); err != nil {
			return err
		}
	} else {
		s.begin(next)
		if err := c.apply(ctx, old, next); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	if err := c.see(old, next); err != nil {
		return fmt.Errorf("%s of %s: %w", kind.name, next.name, err)
	}
	s.seen()
	return nil
}

// apply makes the API server's objects those of the next state.
func (c *changer) apply(ctx context.Context, old, next *state) error {
	switch {
	case !next.exists:
		return errors.Join(c.DeleteRoute(ctx, old.name), c.DeleteService(ctx, old.name))
	case !old.exists:
		return c.create(ctx, next)
	case !slices.Equal(old.endpoints, next.endpoints):
		return c.SetEndpoint(ctx, next.name, next.endpoints...)
	}
	ca := c.CA.PEM()
	if err := c.Client.Patch(ctx, next.object(ca), client.MergeFrom(old.object(ca))); err != nil {
		return fmt.Errorf("patch route %s: %w", next.name, err)
	}
	return nil
}

// see waits until requests of both states are answered as the next one says.
func (c *changer) see(old, next *state) error {
	targets := []target{next.target(true), old.target(true)}
	for _, t := range targets {
		var wrong error
		err := rig.Until(limit, t.String(), func() (bool, error) {
			a, err := c.ask(t)
			if err != nil {
				return false, err
			}
			wrong = next.check(t, a)
			return wrong == nil, nil
		})
		if err != nil {
			return errors.Join(err, wrong)
		}
	}
	if !next.exists || next.serial == old.serial || next.plain() || next.passthrough() {
		return nil
	}
	return rig.Until(limit, "the certificate of "+next.host, func() (bool, error) {
		got, err := rig.Serial(next.host)
		return err == nil && (got == next.serial || next.serial == "" && got != old.serial), err
	})
}

func (c *changer) ask(t target) (rig.Answer, error) { return ask(c.probe, t) }

// ask uses the probe for plain HTTP and a new connection for TLS, where the
// server name counts. What asks for another connection gets one, once: a route
// may become passthrough between the handshake and the request.
func ask(plain *rig.Probe, t target) (rig.Answer, error) {
	if !t.secure {
		return t.ask(plain)
	}
	a, err := t.askAlone()
	if a.Status == http.StatusMisdirectedRequest {
		return t.askAlone()
	}
	return a, err
}

func (t target) askAlone() (rig.Answer, error) {
	p := rig.NewProbe(true)
	defer p.Close()
	return t.ask(p)
}

func (t target) ask(p *rig.Probe) (rig.Answer, error) {
	if t.method == "" {
		return p.Get(t.host, t.path)
	}
	return p.Ask(rig.Request{Method: t.method, Host: t.host, Path: t.path})
}

// visitor asks for routes while they change, at a steady pace.
type visitor struct {
	subjects []*subject
	asked    atomic.Int64
	mu       sync.Mutex
	failed   []error
}

// pace is the time between two requests of a visitor.
const pace = 5 * time.Millisecond

func (v *visitor) run(ctx context.Context, random *rand.Rand) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	plain := rig.NewProbe(false)
	defer plain.Close()
	for ; ctx.Err() == nil; <-tick.C {
		s := v.subjects[random.IntN(len(v.subjects))]
		at, now := time.Now(), s.now()
		t := now.target(random.IntN(3) > 0)
		t.method = []string{"", http.MethodPost, http.MethodPut, http.MethodDelete}[random.IntN(4)]
		a, err := ask(plain, t)
		if err == nil {
			err = s.check(at, t, a)
		}
		v.asked.Add(1)
		if err != nil {
			v.mu.Lock()
			v.failed = append(v.failed, fmt.Errorf("%s, asked at %s for %s, %s %q %v: %w", t, at.Format("15:04:05.000"), time.Since(at).Round(time.Millisecond), now.name, now.termination, now.annotations, err))
			v.mu.Unlock()
		}
	}
}
