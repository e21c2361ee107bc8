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

// shape is what something is at one time: it says which answers are right.
type shape interface {
	check(t target, a rig.Answer) error
}

// history is of something that changes. One goroutine changes it, several look.
type history[S shape] struct {
	mu sync.Mutex
	// versions are the states that requests may meet now, oldest first.
	versions []version[S]
}

// version is a state until something else was seen; zero for the last one.
type version[S shape] struct {
	state S
	until time.Time
}

// subject is a route that changes.
type subject = history[*state]

// newHistory begins with a state.
func newHistory[S shape](s S) *history[S] { return &history[S]{versions: []version[S]{{state: s}}} }

func (h *history[S]) now() S {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.versions[len(h.versions)-1].state
}

// begin says that a state is about to be.
func (h *history[S]) begin(next S) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.versions = slices.DeleteFunc(h.versions, func(v version[S]) bool {
		return !v.until.IsZero() && time.Since(v.until) > time.Minute
	})
	h.versions = append(h.versions, version[S]{state: next})
}

// seen says that the last state was seen.
func (h *history[S]) seen() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.versions[:len(h.versions)-1] {
		if h.versions[i].until.IsZero() {
			h.versions[i].until = time.Now()
		}
	}
}

// check returns why an answer is not right for any state that there was since
// then.
func (h *history[S]) check(since time.Time, t target, a rig.Answer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, v := range h.versions {
		if !v.until.IsZero() && v.until.Add(grace).Before(since) {
			continue
		}
		err := v.state.check(t, a)
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
	gateways []*tenant
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
	for n := 0; ctx.Err() == nil; n++ {
		if n%4 == 3 && len(v.gateways) > 0 {
			v.visitGateway(random)
		} else {
			v.visitRoute(plain, random)
		}
		<-tick.C
	}
}

func (v *visitor) visitRoute(plain *rig.Probe, random *rand.Rand) {
	s := v.subjects[random.IntN(len(v.subjects))]
	at, now := time.Now(), s.now()
	t := now.target(random.IntN(3) > 0)
	t.method = []string{"", http.MethodPost, http.MethodPut, http.MethodDelete}[random.IntN(4)]
	a, err := ask(plain, t)
	if err == nil {
		err = s.check(at, t, a)
	}
	v.note(at, t, err, func() string { return fmt.Sprintf("%s %q %v", now.name, now.termination, now.annotations) })
}

func (v *visitor) visitGateway(random *rand.Rand) {
	g := v.gateways[random.IntN(len(v.gateways))]
	at, now := time.Now(), g.now()
	targets := now.targets()
	t := targets[random.IntN(len(targets))]
	v.note(at, t, g.check(at, t, t.askGateway()), now.String)
}

// note counts a request, and remembers why it failed.
func (v *visitor) note(at time.Time, t target, err error, now func() string) {
	v.asked.Add(1)
	if err == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed = append(v.failed, fmt.Errorf("%s, asked at %s for %s, %s: %w", t, at.Format("15:04:05.000"), time.Since(at).Round(time.Millisecond), now(), err))
}
