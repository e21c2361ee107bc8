package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// sampleLimit is how long a change may take before the run fails.
const sampleLimit = time.Minute

// Required of new routes, in milliseconds: where nothing else happens, and under load.
const (
	requiredP50       = 10
	requiredP50Loaded = 30
	requiredP99       = 60
)

// arrivals are new routes, each of which a client asks for from before its creation until it
// answers 200.
type arrivals struct {
	probe *rig.Probe
	took  []time.Duration
	asked int
	// wrong counts answers that were neither 404 nor 200, by status.
	wrong map[string]int
}

func newArrivals(p *rig.Probe) *arrivals { return &arrivals{probe: p, wrong: map[string]int{}} }

// add creates a route and notes how long after the API server's answer its path answers 200;
// zero if it does before.
func (a *arrivals) add(ctx context.Context, r *rig.Rig, route *gatewayv1.HTTPRoute, path string) error {
	host := string(route.Spec.Hostnames[0])
	created := make(chan time.Time, 1)
	failed := make(chan error, 1)
	go func() {
		if err := r.Create(ctx, route); err != nil {
			failed <- err
		}
		created <- time.Now()
	}()
	for began := time.Now(); !a.answers(host, path); {
		select {
		case err := <-failed:
			return err
		default:
		}
		if time.Since(began) > sampleLimit {
			when := "the API server has not yet answered its creation"
			if len(created) > 0 {
				when = fmt.Sprintf("it was created after %.2f s", (<-created).Sub(began).Seconds())
			}
			return fmt.Errorf("route %s does not answer 200 within %s; %s; other answers: %v of %d", route.Name, sampleLimit, when, a.wrong, a.asked)
		}
	}
	seen := time.Now()
	a.took = append(a.took, max(0, seen.Sub(<-created)))
	return nil
}

// answers asks once.
func (a *arrivals) answers(host, path string) bool {
	answer, err := a.probe.Get(host, path)
	a.asked++
	switch {
	case err != nil:
		a.wrong["none"]++
	case answer.Status == http.StatusOK:
		return true
	case answer.Status != http.StatusNotFound:
		a.wrong[fmt.Sprint(answer.Status)]++
	}
	return false
}

// errors counts wrong answers.
func (a *arrivals) errors() (n int, which string) {
	var all []string
	for _, status := range slices.Sorted(maps.Keys(a.wrong)) {
		n += a.wrong[status]
		all = append(all, fmt.Sprintf("%d × %s", a.wrong[status], status))
	}
	return n, strings.Join(all, ", ")
}

// reportArrivals notes a row, and how many answers were wrong.
func (s *stage) reportArrivals(name string, routes int, a *arrivals, p50 float64, before map[string]float64) error {
	after, err := s.router.Metrics()
	if err != nil {
		return err
	}
	row := report.NewLatency(name, routes, a.took, before, after)
	row.RequiredP50 = p50
	s.report.Latencies = append(s.report.Latencies, row)
	s.progress("%s, %d routes: p50 %.1f ms, p99 %.1f ms, max %.1f ms", name, routes, row.P50, row.P99, row.Max)
	n, which := a.errors()
	s.report.Require(name+": answers other than 404 and 200", float64(n), "", report.AtMost(0), fmt.Sprintf("of %d; %s", a.asked, which))
	return nil
}

// backend is the Service of most routes, no Service one that does not exist.
const (
	backend   = "backend"
	noService = "invalid-backend"
)

// probeRoute is the route of the public bench: what is below one path goes to a Service, all
// else to one that does not exist, both with changes of headers.
func probeRoute(prefix string, i int) (route *gatewayv1.HTTPRoute, path string) {
	name := fmt.Sprintf("%s%d", prefix, i)
	path = fmt.Sprintf("/%d", i)
	route = rig.HTTPRoute(rig.Namespace, name, theGateway, rig.Host(name), rig.PathRule(path, backend), rig.PathRule("/", noService))
	for n := range route.Spec.Rules {
		route.Spec.Rules[n].Filters = []gatewayv1.HTTPRouteFilter{
			{Type: gatewayv1.HTTPRouteFilterRequestHeaderModifier, RequestHeaderModifier: addHeader("added-header")},
			{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: addHeader("added-resp-header")},
		}
	}
	return route, path
}

func addHeader(name string) *gatewayv1.HTTPHeaderFilter {
	return &gatewayv1.HTTPHeaderFilter{Add: []gatewayv1.HTTPHeader{{Name: gatewayv1.HTTPHeaderName(name), Value: "added-value"}}}
}

// probe adds routes one after the other.
func (s *stage) probe(ctx context.Context) error {
	s.progress("probe: %d routes, one after the other", s.probes)
	if err := s.service(ctx, rig.Namespace, backend, rig.Address(0)); err != nil {
		return err
	}
	before, err := s.router.Metrics()
	if err != nil {
		return err
	}
	a := newArrivals(rig.NewProbeAt(s.slot, false))
	defer a.probe.Close()
	for i := range s.probes {
		route, path := probeRoute("probe", i)
		if err := a.add(ctx, s.rig, route, path); err != nil {
			return err
		}
	}
	if err := s.reportArrivals("new route", s.probes, a, requiredP50, before); err != nil {
		return err
	}
	return s.removeRoutes(ctx)
}

// removeRoutes deletes the routes of the bench's namespace and waits until none is served.
func (s *stage) removeRoutes(ctx context.Context) error {
	if err := s.rig.DeleteAll(ctx, rig.Namespace, &gatewayv1.HTTPRoute{}); err != nil {
		return err
	}
	return s.served(ctx, 0)
}
