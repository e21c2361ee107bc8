package soak

import (
	"fmt"
	"math/rand/v2"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// gatewayStream keeps these random numbers apart from those of Routes.
const gatewayStream = 1 << 30

// gatewayDice make random states of Gateways, as dice do of Routes.
type gatewayDice struct {
	*rand.Rand
	ca *rig.Rig
	n  int // tells hosts, paths, headers and Secrets apart
}

func (d *gatewayDice) next() int {
	d.n++
	return d.n
}

func (d *gatewayDice) host(name string) string {
	return rig.Host(fmt.Sprintf("%s-%d", name, d.next()))
}

// gatewayChange is one kind of change to a Gateway that exists, or to what is attached to it.
type gatewayChange struct {
	name string
	// share is how often it comes, in percent.
	share int
	make  func(*gatewayDice, *gatewayState) error
}

func gatewayChanges() []gatewayChange {
	quiet := func(f func(*gatewayDice, *gatewayState)) func(*gatewayDice, *gatewayState) error {
		return func(d *gatewayDice, s *gatewayState) error {
			f(d, s)
			return nil
		}
	}
	route := func(f func(*gatewayDice, *gatewayRoute)) func(*gatewayDice, *gatewayState) error {
		return quiet(func(d *gatewayDice, s *gatewayState) { f(d, &s.routes[d.IntN(len(s.routes))]) })
	}
	return []gatewayChange{
		{"Gateway deleted", 4, quiet(func(_ *gatewayDice, s *gatewayState) { s.exists = false })},
		{"listener added, renamed or removed", 14, quiet((*gatewayDice).extra)},
		{"hostname and certificate of a listener", 10, func(d *gatewayDice, s *gatewayState) error { return d.secure(&s.own, s.name+"-own") }},
		{"certificate of a listener", 10, (*gatewayDice).certificate},
		{"ListenerSet added or removed", 8, (*gatewayDice).set},
		{"hostname and certificate of a ListenerSet", 8, func(d *gatewayDice, s *gatewayState) error { return d.secure(&s.set, s.name+"-set") }},
		{"HTTPRoute added or removed", 14, route(func(_ *gatewayDice, r *gatewayRoute) { r.exists = !r.exists })},
		{"path of an HTTPRoute", 10, route((*gatewayDice).path)},
		{"backends of an HTTPRoute", 14, route((*gatewayDice).backends)},
		{"filter of an HTTPRoute", 8, route((*gatewayDice).header)},
	}
}

// change makes a change and returns its kind.
func (d *gatewayDice) change(s *gatewayState) (string, error) {
	if !s.exists {
		s.exists = true
		return "Gateway created", nil
	}
	n := d.IntN(100)
	for _, c := range gatewayChanges() {
		if n -= c.share; n < 0 {
			return c.name, c.make(d, s)
		}
	}
	panic("the shares of the changes do not add up to 100")
}

// gateway draws a whole Gateway.
func (d *gatewayDice) gateway(name string) (*gatewayState, error) {
	s := &gatewayState{name: name, exists: true}
	if err := d.secure(&s.own, name+"-own"); err != nil {
		return nil, err
	}
	if err := d.secure(&s.set, name+"-set"); err != nil {
		return nil, err
	}
	for i := range s.routes {
		r := &s.routes[i]
		r.exists, r.name, r.host = d.IntN(4) > 0, fmt.Sprintf("%s-%d", name, i), d.host(name)
		d.path(r)
		d.backends(r)
		d.header(r)
	}
	return s, nil
}

// secure gives a listener another hostname, with a certificate for it.
func (d *gatewayDice) secure(l *secured, name string) error {
	l.host = d.host(name)
	return d.issue(l, fmt.Sprintf("%s-%d", name, d.next()))
}

// issue makes a new certificate for a listener.
func (d *gatewayDice) issue(l *secured, secret string) (err error) {
	l.secret, l.serial, err = d.ca.CertificateSecret(rig.Namespace, secret, l.host)
	return err
}

// certificate renews one in its Secret, or in another one.
func (d *gatewayDice) certificate(s *gatewayState) error {
	l, name := &s.own, s.name+"-own"
	if s.set.host != "" && d.IntN(2) == 0 {
		l, name = &s.set, s.name+"-set"
	}
	if d.IntN(2) == 0 {
		return d.issue(l, l.secret.Name)
	}
	return d.issue(l, fmt.Sprintf("%s-%d", name, d.next()))
}

func (d *gatewayDice) set(s *gatewayState) error {
	if s.set.host != "" {
		s.set = secured{}
		return nil
	}
	return d.secure(&s.set, s.name+"-set")
}

func (d *gatewayDice) extra(s *gatewayState) {
	if s.extra != "" && d.IntN(2) == 0 {
		s.extra = ""
		return
	}
	s.extra = d.host(s.name + "-extra")
}

func (d *gatewayDice) path(r *gatewayRoute) {
	r.path = []string{"/", "/a", "/a/b", fmt.Sprintf("/p%d", d.next())}[d.IntN(4)]
}

func (d *gatewayDice) backends(r *gatewayRoute) {
	r.service, r.other = d.IntN(others), -1
	if n := d.IntN(others); n != r.service && d.IntN(2) == 0 {
		r.other = n
	}
}

func (d *gatewayDice) header(r *gatewayRoute) {
	r.header = ""
	if d.IntN(2) == 0 {
		r.header = fmt.Sprintf("g%d", d.next())
	}
}
