package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// dice make random states. New routes and changes draw from the same
// distributions, so that the whole keeps its size and shape, and growth of
// memory is growth.
type dice struct {
	*rand.Rand
	ca *rig.Authority
	n  int // tells headers, hosts and paths apart
}

func newDice(ca *rig.Authority, seed uint64, stream int) *dice {
	return &dice{Rand: rand.New(rand.NewPCG(seed, uint64(stream))), ca: ca}
}

func pick[T any](d *dice, from ...T) T { return from[d.IntN(len(from))] }

// change is one kind of change to a route that exists.
type change struct {
	name string
	// share is how often it comes, in percent.
	share int
	make  func(*dice, *state) error
}

func changes() []change {
	quiet := func(f func(*dice, *state)) func(*dice, *state) error {
		return func(d *dice, s *state) error {
			f(d, s)
			return nil
		}
	}
	return []change{
		{"delete", 7, quiet(func(_ *dice, s *state) { s.exists = false })},
		{"create again", 5, quiet(func(*dice, *state) {})},
		{"host", 6, (*dice).host},
		{"path", 8, quiet((*dice).path)},
		{"termination", 10, (*dice).termination},
		{"certificate", 12, (*dice).certificate},
		{"endpoints", 18, quiet((*dice).endpoints)},
		{"weights", 10, quiet((*dice).weights)},
		{"header", 8, quiet((*dice).header)},
		{"annotation", 16, quiet((*dice).annotation)},
	}
}

// change draws a kind of change.
func (d *dice) change() change {
	n := d.IntN(100)
	for _, c := range changes() {
		if n -= c.share; n < 0 {
			return c
		}
	}
	panic("the shares of the changes do not add up to 100")
}

// route draws a whole route.
func (d *dice) route(name string) (*state, error) {
	s := &state{exists: true, name: name, annotations: map[string]string{}}
	d.path(s)
	d.endpoints(s)
	d.weights(s)
	d.header(s)
	for range 3 {
		d.annotation(s)
	}
	if err := d.host(s); err != nil {
		return nil, err
	}
	return s, d.termination(s)
}

func (d *dice) next() int {
	d.n++
	return d.n
}

func (d *dice) host(s *state) error {
	s.host = rig.Host(fmt.Sprintf("%s-%d", s.name, d.next()))
	if s.serial == "" {
		return nil
	}
	return d.issue(s)
}

func (d *dice) path(s *state) {
	s.path = pick(d, "", fmt.Sprintf("/p%d", d.next()), "/a", "/a/b")
}

func (d *dice) termination(s *state) error {
	s.termination = pick(d, "", routev1.TLSTerminationEdge, routev1.TLSTerminationEdge, routev1.TLSTerminationReencrypt, routev1.TLSTerminationPassthrough)
	s.serial, s.cert, s.key = "", "", ""
	if s.passthrough() && s.denied() {
		delete(s.annotations, api.AnnotationAllowlist) // a refused connection looks like a broken one
	}
	if d.IntN(5) == 0 { // four of five have one, which is also where changes of certificates lead to
		return nil
	}
	return d.issue(s)
}

func (d *dice) certificate(s *state) error {
	if s.serial != "" && d.IntN(4) == 0 {
		s.serial, s.cert, s.key = "", "", ""
		return nil
	}
	return d.issue(s)
}

// issue gives a route that can have one a new certificate.
func (d *dice) issue(s *state) (err error) {
	if s.plain() || s.passthrough() {
		return nil
	}
	s.cert, s.key, s.serial, err = d.ca.Issue(s.host)
	return err
}

func (d *dice) endpoints(s *state) {
	s.endpoints = nil
	for len(s.endpoints) < 1+d.IntN(3) {
		if a := rig.Address(others + d.IntN(60000)); !slices.Contains(s.endpoints, a) {
			s.endpoints = append(s.endpoints, a)
		}
	}
}

func (d *dice) weights(s *state) {
	s.weight, s.other = pick(d, 1, 50, 100, 256), -1
	if d.IntN(2) == 0 {
		s.weight, s.other = pick(d, 0, 10, 50, 100), d.IntN(others)
	}
}

func (d *dice) header(s *state) {
	s.header = pick(d, "", fmt.Sprintf("v%d", d.next()))
}

// annotation draws one annotation, or takes it away. Limits are above what the
// test does: what they do is for other tests, here they come and go.
func (d *dice) annotation(s *state) {
	limit := api.AnnotationLimit
	kinds := []struct{ key, value string }{
		{api.AnnotationTimeout, pick(d, "20s", "30s", "1m")},
		{api.AnnotationTimeoutTunnel, pick(d, "1m", "10m", "2h")},
		{api.AnnotationBalance, pick(d, "roundrobin", "leastconn", "source", "random")},
		{api.AnnotationDisableCookies, pick(d, "true", "false")},
		{api.AnnotationCookieName, pick(d, "one", "two", "three")},
		{api.AnnotationCookieSameSite, pick(d, "Lax", "Strict", "None")},
		{api.AnnotationPodConnections, pick(d, "500", "1000")},
		{api.AnnotationCheckInterval, pick(d, "5s", "10s")},
		{api.AnnotationHSTS, fmt.Sprintf("max-age=%d;includeSubDomains", d.IntN(1e6))},
		{api.AnnotationForwarded, pick(d, "append", "replace", "if-none", "never")},
		{api.AnnotationRewrite, pick(d, "/t", "/", "/some/where/", fmt.Sprintf("/r%d", d.next()))},
		{api.AnnotationAllowlist, pick(d, "127.0.0.1", "10.0.0.0/8 127.0.0.1 2001:db8::/32", "203.0.113.0/24")},
		{limit, "true"},
		{limit + ".concurrent-tcp", pick(d, "1000", "2000")},
		{limit + ".rate-tcp", pick(d, "10000", "20000")},
		{limit + ".rate-http", pick(d, "50000", "60000")},
	}
	k := pick(d, kinds...)
	if d.IntN(3) == 0 {
		delete(s.annotations, k.key)
		return
	}
	keep, had := s.annotations[k.key]
	s.annotations[k.key] = k.value
	if !s.passthrough() || !s.denied() {
		return
	}
	if delete(s.annotations, k.key); had {
		s.annotations[k.key] = keep
	}
}
