package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/rig"
)

const (
	// gatewayShare is the part of the changes that are theirs: one in so many.
	gatewayShare = 5
)

// gateways are those of the test: one that stays as it is, and some that change.
type gateways struct {
	steady  *gatewayState
	tenants []*tenant
}

// prepare makes the first Gateway, so that HAProxy has the ports from its start.
func (g *gateways) prepare(ctx context.Context, r *rig.Rig) error {
	if size.gateways == 0 {
		return nil
	}
	if err := r.UseGateways(ctx); err != nil {
		return err
	}
	d := &gatewayDice{Rand: rand.New(rand.NewPCG(size.seed, gatewayStream)), ca: r}
	var err error
	if g.steady, err = d.gateway("steady"); err != nil {
		return err
	}
	g.steady.routes[0].path, g.steady.routes[0].exists = "/", true
	for i := range size.gateways {
		s, err := d.gateway(fmt.Sprintf("tenant%d", i))
		if err != nil {
			return err
		}
		g.tenants = append(g.tenants, newHistory(s))
	}
	for _, s := range g.all() {
		if err := createGateway(ctx, r, s); err != nil {
			return err
		}
	}
	return nil
}

func (g *gateways) all() []*gatewayState {
	if g.steady == nil {
		return nil
	}
	all := []*gatewayState{g.steady}
	for _, t := range g.tenants {
		all = append(all, t.now())
	}
	return all
}

// createGateway creates a Gateway with its Secrets, and gives it slots: the same as it had
// before.
func createGateway(ctx context.Context, r *rig.Rig, s *gatewayState) error {
	gw := s.gateway()
	if err := r.Create(ctx, gw); err != nil {
		return err
	}
	slots, err := r.GiveSlots(ctx, gw)
	if err != nil {
		return err
	}
	switch {
	case s.ports == nil:
		s.ports = slots
	case !maps.Equal(s.ports, slots):
		return fmt.Errorf("%s got the slots %v instead of %v", s.name, slots, s.ports)
	}
	return nil
}

// populateGateways creates all that is attached to the Gateways, and waits until it is served.
func (b *bed) populateGateways(ctx context.Context) error {
	for _, s := range b.gateways.all() {
		var objects []client.Object
		for _, secret := range s.secrets() {
			objects = append(objects, secret)
		}
		if set := s.listenerSet(); set != nil {
			objects = append(objects, set)
		}
		for i := range s.routes {
			if r := s.route(i); r != nil {
				objects = append(objects, r)
			}
		}
		if err := b.Create(ctx, objects...); err != nil {
			return err
		}
	}
	for _, s := range b.gateways.all() {
		if err := seeGateway(s, s); err != nil {
			return err
		}
	}
	return nil
}

// connectGateways opens some more lasting connections, half of them to routes of Gateways that
// change.
func (b *bed) connectGateways(ctx context.Context, l *lasting) error {
	if size.gateways == 0 {
		return nil
	}
	more := max(4, (size.sockets+size.streams)/8)
	states := b.gateways.all()[1:]
	for i := range 100 * more {
		s, n := b.gateways.steady, i%3
		if i%2 == 0 {
			s = states[i/2%len(states)]
		}
		t := target{port: s.ports[80], host: s.routes[0].host, path: s.routes[0].path}
		switch n {
		case 1:
			t = target{port: s.ports[443], secure: true, host: s.own.host, path: s.routes[1].path}
		case 2:
			t = target{port: s.ports[443], secure: true, host: s.set.host, path: s.routes[2].path}
		}
		if t.path == "/" {
			t.path = ""
		}
		if !s.routes[n].exists || t.host == "" {
			continue
		}
		if err := l.openTo(ctx, t, t.secure && i%4 < 2, s.String()); err != nil {
			return err
		}
		if more--; more == 0 {
			return nil
		}
	}
	return errors.New("too few routes of Gateways can have lasting connections")
}

// backends counts the backends of routes of Gateways that exist.
func (g *gateways) backends() (n int) {
	for _, s := range g.all() {
		for i := range s.routes {
			if s.routes[i].exists {
				n += len(s.routes[i].addresses())
			}
		}
	}
	return n
}

// change makes so many changes, one after the other.
func (g *gateways) change(ctx context.Context, b *bed, n int, done *atomic.Int64, kinds map[string]int) error {
	d := &gatewayDice{Rand: rand.New(rand.NewPCG(b.seed, gatewayStream+1)), ca: b.Rig, n: 1 << 20}
	for range n {
		t := g.tenants[d.IntN(len(g.tenants))]
		old := t.now()
		next := old.clone()
		kind, err := d.change(next)
		if err != nil {
			return err
		}
		kinds[kind]++
		next.change = kind
		t.begin(next)
		if err := applyGateway(ctx, b.Rig, old, next); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if err := seeGateway(old, next); err != nil {
			return fmt.Errorf("%s, from %s to %s: %w", kind, old, next, err)
		}
		t.seen()
		if err := removeSecrets(ctx, b.Rig, old, next); err != nil {
			return err
		}
		done.Add(1)
	}
	return nil
}

// applyGateway makes the API server's objects those of the next state: Secrets before what
// names them.
func applyGateway(ctx context.Context, r *rig.Rig, old, next *gatewayState) error {
	for _, secret := range next.secrets() {
		at := slices.IndexFunc(old.secrets(), func(o *corev1.Secret) bool { return o.Name == secret.Name })
		var err error
		switch {
		case at < 0:
			err = r.Create(ctx, secret)
		case old.secrets()[at] != secret:
			err = r.Replace(ctx, secret)
		}
		if err != nil {
			return err
		}
	}
	var err error
	was, is := old.gateway(), next.gateway()
	switch {
	case old.exists && !next.exists:
		err = r.Delete(ctx, was)
	case !old.exists && next.exists:
		// The slots of the former one, which has another UID.
		if err = r.FreeSlotsOf(ctx, next.name); err == nil {
			err = createGateway(ctx, r, next)
		}
	case next.exists && !equality.Semantic.DeepEqual(was.Spec, is.Spec):
		err = r.Replace(ctx, is)
	}
	if err != nil {
		return err
	}
	if err := applySet(ctx, r, old.listenerSet(), next.listenerSet()); err != nil {
		return err
	}
	for i := range next.routes {
		if err := applyRoute(ctx, r, old.route(i), next.route(i)); err != nil {
			return err
		}
	}
	return nil
}

func applySet(ctx context.Context, r *rig.Rig, old, next *gatewayv1.ListenerSet) error {
	switch {
	case old == nil && next == nil:
		return nil
	case next == nil:
		return r.Delete(ctx, old)
	case old == nil:
		return r.Create(ctx, next)
	case equality.Semantic.DeepEqual(old.Spec, next.Spec):
		return nil
	}
	return r.Replace(ctx, next)
}

func applyRoute(ctx context.Context, r *rig.Rig, old, next *gatewayv1.HTTPRoute) error {
	switch {
	case old == nil && next == nil:
		return nil
	case next == nil:
		return r.Delete(ctx, old)
	case old == nil:
		return r.Create(ctx, next)
	case equality.Semantic.DeepEqual(old.Spec, next.Spec):
		return nil
	}
	return r.Replace(ctx, next)
}

// removeSecrets deletes Secrets that nothing names any more.
func removeSecrets(ctx context.Context, r *rig.Rig, old, next *gatewayState) error {
	for _, secret := range old.secrets() {
		if slices.ContainsFunc(next.secrets(), func(o *corev1.Secret) bool { return o.Name == secret.Name }) {
			continue
		}
		if err := r.Delete(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// seeGateway waits until requests of both states are answered as the next one says.
func seeGateway(old, next *gatewayState) error {
	for _, t := range append(next.targets(), old.targets()...) {
		var wrong error
		err := rig.Until(limit, t.String(), func() (bool, error) {
			wrong = next.check(t, t.askGateway())
			return wrong == nil, nil
		})
		if err != nil {
			return errors.Join(err, wrong)
		}
	}
	if !next.exists {
		return nil
	}
	for _, l := range []secured{next.own, next.set} {
		if l.host == "" {
			continue
		}
		err := rig.Until(limit, "the certificate of "+l.host, func() (bool, error) {
			got, err := rig.SerialAt(next.ports[443], l.host)
			return err == nil && got == l.serial, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
