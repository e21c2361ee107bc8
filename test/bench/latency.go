package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// What the project promises for each kind of change, in milliseconds.
const (
	requiredP50 = 15
	requiredP99 = 60
)

// change is one kind of change and what shows it.
type change struct {
	name string
	// prepare brings the objects of sample i into their first state.
	prepare func(ctx context.Context, i int) error
	// make changes them; it returns after the API server's answer with what
	// tells whether a response shows the change.
	make func(ctx context.Context, i int) (seen, error)
}

// seen reports whether the router answers with the new state.
type seen func() (bool, error)

// sampleLimit is how long a change may take before the run fails.
const sampleLimit = 30 * time.Second

// pool is the number of routes that changes of one kind take turns on.
const pool = 10

// latencies measures all kinds of change with so many routes around.
func (b *bench) latencies(ctx context.Context, routes int) error {
	probe := rig.NewProbe(false)
	defer probe.Close()
	for _, c := range b.changes(probe, routes) {
		if err := b.measureChange(ctx, c, routes); err != nil {
			return err
		}
	}
	return nil
}

// measureChange measures one kind of change.
func (b *bench) measureChange(ctx context.Context, c change, routes int) error {
	before, err := b.router.Metrics()
	if err != nil {
		return err
	}
	samples := make([]time.Duration, 0, b.samples)
	for i := range b.samples {
		d, err := b.sample(ctx, c, i)
		if err != nil {
			return fmt.Errorf("%s, sample %d: %w\n%s", c.name, i, err, b.router.LogEnd())
		}
		samples = append(samples, d)
	}
	after, err := b.router.Metrics()
	if err != nil {
		return err
	}
	row := report.NewLatency(c.name, routes, samples, before, after)
	row.RequiredP50, row.RequiredP99 = requiredP50, requiredP99
	b.report.Latencies = append(b.report.Latencies, row)
	b.progress("%-18s %6d routes: p50 %.1f ms, p99 %.1f ms, max %.1f ms", c.name, routes, row.P50, row.P99, row.Max)
	return nil
}

func (b *bench) sample(ctx context.Context, c change, i int) (time.Duration, error) {
	if c.prepare != nil {
		if err := c.prepare(ctx, i); err != nil {
			return 0, err
		}
	}
	shown, err := c.make(ctx, i)
	answered := time.Now()
	if err != nil {
		return 0, err
	}
	if err := rig.Until(sampleLimit, c.name, shown); err != nil {
		return 0, err
	}
	return time.Since(answered), nil
}

// changes returns the kinds of change. The order matters: those of added
// routes come first, and their routes are deleted last.
func (b *bench) changes(probe *rig.Probe, routes int) []change {
	s := &subject{rig: b.rig, probe: probe, prefix: fmt.Sprintf("l%d-", routes), serials: map[string]string{}}
	return []change{
		{"route add", s.service("add"), s.addRoute},
		{"TLS route add", s.service("tls"), s.addTLSRoute},
		{"endpoint change", nil, s.setEndpoint},
		{"weight change", s.weighted, s.setWeights},
		{"annotation change", nil, s.annotate},
		{"path change", nil, s.setPath},
		{"certificate change", nil, s.setCertificate},
		{"route delete", nil, s.deleteRoute},
	}
}

// subject makes changes to routes of its own.
type subject struct {
	rig     *rig.Rig
	probe   *rig.Probe
	prefix  string
	serials map[string]string
}

func (s *subject) name(kind string, i int) string { return fmt.Sprintf("%s%s%d", s.prefix, kind, i) }

func (s *subject) service(kind string) func(context.Context, int) error {
	return func(ctx context.Context, i int) error {
		return s.rig.CreateService(ctx, s.name(kind, i), rig.Address(i))
	}
}

// body is true once a host answers 200 with that body.
func (s *subject) body(host, body string) seen {
	return func() (bool, error) {
		a, err := s.probe.Get(host, "/")
		return a.Status == 200 && a.Body == body, err
	}
}

func (s *subject) addRoute(ctx context.Context, i int) (seen, error) {
	name := s.name("add", i)
	err := s.rig.Create(ctx, rig.Route(name))
	return s.body(rig.Host(name), rig.Address(i)), err
}

func serial(host, want string) seen {
	return func() (bool, error) {
		got, err := rig.Serial(host)
		return got == want, err
	}
}

func (s *subject) addTLSRoute(ctx context.Context, i int) (seen, error) {
	route := rig.Route(s.name("tls", i))
	want, err := s.rig.WithCertificate(route)
	if err != nil {
		return nil, err
	}
	err = s.rig.Create(ctx, route)
	return serial(route.Spec.Host, want), err
}

func (s *subject) setEndpoint(ctx context.Context, i int) (seen, error) {
	name, address := s.name("add", i%pool), rig.Address(5000+i)
	err := s.rig.SetEndpoint(ctx, name, address)
	return s.body(rig.Host(name), address), err
}

// weighted makes routes to two Services, of which the second gets nothing.
func (s *subject) weighted(ctx context.Context, i int) error {
	if i >= pool {
		return nil
	}
	name := s.name("weight", i)
	for n, service := range []string{name, name + "-b"} {
		if err := s.rig.CreateService(ctx, service, rig.Address(2*i+n)); err != nil {
			return err
		}
	}
	if err := s.rig.Create(ctx, rig.Route(name)); err != nil {
		return err
	}
	if err := s.rig.PatchRoute(ctx, name, weights(name, 100, 0)); err != nil {
		return err
	}
	return rig.Until(sampleLimit, "a weighted route", s.body(rig.Host(name), rig.Address(2*i)))
}

func weights(name string, a, b int) string {
	return fmt.Sprintf(`{"spec":{"to":{"kind":"Service","name":%q,"weight":%d},"alternateBackends":[{"kind":"Service","name":%q,"weight":%d}]}}`,
		name, a, name+"-b", b)
}

// setWeights turns all traffic to the other Service.
func (s *subject) setWeights(ctx context.Context, i int) (seen, error) {
	n := i % pool
	name, second := s.name("weight", n), i/pool%2 == 0
	document, target := weights(name, 100, 0), rig.Address(2*n)
	if second {
		document, target = weights(name, 0, 100), rig.Address(2*n+1)
	}
	err := s.rig.PatchRoute(ctx, name, document)
	return s.body(rig.Host(name), target), err
}

// annotate changes the name of the sticky cookie.
func (s *subject) annotate(ctx context.Context, i int) (seen, error) {
	name, cookie := s.name("add", i%pool), fmt.Sprintf("cookie%d", i)
	err := s.rig.PatchRoute(ctx, name, fmt.Sprintf(`{"metadata":{"annotations":{"router.openshift.io/cookie_name":%q}}}`, cookie))
	return func() (bool, error) {
		a, err := s.probe.Get(rig.Host(name), "/")
		return strings.HasPrefix(a.Header.Get("Set-Cookie"), cookie+"="), err
	}, err
}

func (s *subject) setPath(ctx context.Context, i int) (seen, error) {
	name, path := s.name("weight", i%pool), fmt.Sprintf("/p%d", i)
	err := s.rig.PatchRoute(ctx, name, fmt.Sprintf(`{"spec":{"path":%q}}`, path))
	return func() (bool, error) {
		a, err := s.probe.Get(rig.Host(name), path)
		return a.Status == 200, err
	}, err
}

func (s *subject) setCertificate(ctx context.Context, i int) (seen, error) {
	name := s.name("tls", i%pool)
	cert, key, want, err := s.rig.CA.Issue(rig.Host(name))
	if err != nil {
		return nil, err
	}
	err = s.rig.PatchRoute(ctx, name, fmt.Sprintf(`{"spec":{"tls":{"certificate":%q,"key":%q}}}`, cert, key))
	return serial(rig.Host(name), want), err
}

func (s *subject) deleteRoute(ctx context.Context, i int) (seen, error) {
	name := s.name("add", i)
	err := s.rig.DeleteRoute(ctx, name)
	return func() (bool, error) {
		a, err := s.probe.Get(rig.Host(name), "/")
		return a.Status == 404, err
	}, err
}
