package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	gatewayapi "github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// crowd is how many routes come together: in each namespace some applications, each with a
// Service, a pod, and one route, or a ListenerSet with several.
type crowd struct {
	name                     string
	namespaces, apps, routes int
	sets                     bool
}

func (c *crowd) total() int { return c.namespaces * c.apps * c.routes }

// app is one application.
type app struct {
	*crowd
	namespace string
	name      string
	// n is its number among all.
	n int
}

func (c *crowd) app(n int) *app {
	return &app{crowd: c, n: n, namespace: c.namespace(n / c.apps), name: fmt.Sprintf("app%d", n%c.apps)}
}

func (c *crowd) namespace(i int) string { return fmt.Sprintf("%s%d", c.name, i) }

func (a *app) host() string { return rig.Host(a.namespace + "-" + a.name) }

// perGateway is how many namespaces share a Gateway, which has a bound of listeners.
func (c *crowd) perGateway() int { return max(1, gatewayapi.MostSetListeners/c.apps) }

// gateway is the one whose ListenerSets an application's is.
func (a *app) gateway() string { return fmt.Sprintf("sets%d", a.n/a.apps/a.perGateway()) }

// certificate is the Secret of each namespace with ListenerSets.
const certificate = "ns-cert"

func (a *app) listener() gatewayv1.Listener { return rig.Listener(a.name, 443, a.host(), certificate) }

func (a *app) path(i int) string {
	if !a.sets {
		return "/"
	}
	return fmt.Sprintf("/%d", i)
}

// route returns the i-th route. A version other than 0 has one more path, which tells that the
// route changed.
func (a *app) route(i, version int) *gatewayv1.HTTPRoute {
	rules := []gatewayv1.HTTPRouteRule{rig.PathRule(a.path(i), a.name)}
	if version != 0 {
		rules = append(rules, rig.PathRule(fmt.Sprintf("/changed/%d/%d", i, version), a.name))
	}
	if a.sets {
		return rig.SetRoute(a.namespace, fmt.Sprintf("%s-%d", a.name, i), a.name, a.host(), rules...)
	}
	return rig.HTTPRoute(a.namespace, a.name, theGateway, a.host(), rules...)
}

// gathering is a crowd on its stage.
type gathering struct {
	*stage
	*crowd
	// slots are those of port 443 of the Gateways.
	slots map[string]int
	// added counts the routes beside the crowd.
	added int
}

// gather creates a crowd as fast as the API server takes it, with new routes all the while,
// looks whether all is served, and lets it change.
func (s *stage) gather(ctx context.Context, c crowd) error {
	g := &gathering{stage: s, crowd: &c, slots: map[string]int{}}
	s.progress("%s: %d routes of %d Services in %d namespaces", c.name, c.total(), c.namespaces*c.apps, c.namespaces)
	if err := g.prepare(ctx); err != nil {
		return err
	}
	v := visit(s.slot, steadyHost, steadyPause, func(n int) string { return fmt.Sprintf("/%d", n) })
	err := g.phases(ctx)
	v.end()
	if err != nil {
		return err
	}
	s.report.Require(c.name+": failed requests to a route that stays as it is", float64(v.failed), "", report.AtMost(0), fmt.Sprintf("of %d; %s", v.asked, v.first))
	if s.profile != "" {
		return s.router.Heap(ctx, s.profile+"-"+c.name+".heap")
	}
	return nil
}

// A client asks for one route all the while.
var steadyHost = rig.Host("steady")

const steadyPause = 5 * time.Millisecond

// profileTime is how long a profile of what comes lasts.
const profileTime = time.Minute

func (g *gathering) phases(ctx context.Context) error {
	if err := g.router.ProfileWhile(ctx, g.profile, g.name+"-come", profileTime, func() error { return g.come(ctx) }); err != nil {
		return err
	}
	g.memory("")
	if err := g.complete(ctx); err != nil {
		return err
	}
	if err := g.unrest(ctx); err != nil {
		return err
	}
	g.memory(" after changes")
	return nil
}

// prepare creates namespaces, what ListenerSets need, and the route that stays.
func (g *gathering) prepare(ctx context.Context) error {
	if err := g.service(ctx, rig.Namespace, backend, rig.Address(0)); err != nil {
		return err
	}
	g.added++
	if err := g.rig.Create(ctx, rig.HTTPRoute(rig.Namespace, "steady", theGateway, steadyHost, rig.PathRule("/", backend))); err != nil {
		return err
	}
	if err := g.served(ctx, 1); err != nil {
		return err
	}
	for i := range g.namespaces {
		if err := g.rig.CreateNamespaces(ctx, g.namespace(i)); err != nil {
			return err
		}
		if !g.sets {
			continue
		}
		a := g.app(i * g.apps)
		if g.slots[a.gateway()] == 0 {
			slots, err := g.addGateway(ctx, rig.Gateway(a.gateway(), rig.Listener(listener, 80, "")), a.listener())
			if err != nil {
				return err
			}
			g.slots[a.gateway()] = slots[443]
		}
		secret, _, err := g.rig.CertificateSecret(a.namespace, certificate, "*."+rig.Domain)
		if err != nil {
			return err
		}
		if err := g.rig.Create(ctx, secret); err != nil {
			return err
		}
	}
	return nil
}

// come creates the applications.
func (g *gathering) come(ctx context.Context) error {
	first := 0
	if g.sets { // new routes are of the first ListenerSet, which shows its certificate before
		if err := g.create(ctx, 0); err != nil {
			return err
		}
		if err := g.served(ctx, g.routes+g.added); err != nil {
			return err
		}
		first = 1
	}
	began := time.Now()
	created := make(chan error, 1)
	go func() {
		created <- parallel(ctx, g.namespaces*g.apps-first, func(ctx context.Context, n int) error { return g.create(ctx, first+n) })
	}()
	err := g.arrive(ctx, "new route while the "+g.name+" comes", 0, created)
	if err != nil {
		return err
	}
	took := time.Since(began)
	if err := g.served(ctx, g.total()+g.added); err != nil {
		return err
	}
	g.report.Figure(g.name+": created", took.Seconds(), "s", "the API server's speed; the router follows live")
	g.report.Figure(g.name+": all served", (time.Since(began) - took).Seconds(), "s", "after the last answer of the API server")
	return nil
}

func (g *gathering) create(ctx context.Context, n int) error {
	a := g.app(n)
	if err := g.service(ctx, a.namespace, a.name, rig.Address(n)); err != nil {
		return err
	}
	if a.sets {
		if err := g.rig.Create(ctx, rig.ListenerSet(a.namespace, a.name, a.gateway(), a.listener())); err != nil {
			return err
		}
	}
	for i := range a.routes {
		if err := g.rig.Create(ctx, a.route(i, 0)); err != nil {
			return err
		}
	}
	return nil
}

// arrivalPause is between two new routes, so that they meet all that goes on meanwhile.
const arrivalPause = 200 * time.Millisecond

// arrive adds routes one after the other, until there are as many as wanted and something else
// has ended.
func (g *gathering) arrive(ctx context.Context, name string, routes int, ended <-chan error) error {
	before, err := g.router.Metrics()
	if err != nil {
		return err
	}
	a := newArrivals(g.probeFor(g.app(0)))
	defer a.probe.Close()
	over := false
	for i := 0; i < g.samples || !over; i++ {
		if i < g.samples {
			route, path := g.newcomer()
			if err := a.add(ctx, g.rig, route, path); err != nil {
				return err
			}
		}
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			over, ended = true, nil
		case <-time.After(arrivalPause):
		}
	}
	return g.reportArrivals(name, routes, a, requiredP50Loaded, before)
}

// probeFor returns a probe of the listener of an application.
func (g *gathering) probeFor(a *app) *rig.Probe {
	if g.sets {
		return rig.NewProbeAt(g.slots[a.gateway()], true)
	}
	return rig.NewProbeAt(g.slot, false)
}

// newcomer returns a further route: of the first ListenerSet, or as in part probe.
func (g *gathering) newcomer() (route *gatewayv1.HTTPRoute, path string) {
	g.added++
	if !g.sets {
		return probeRoute("new", g.added)
	}
	a := g.app(0)
	path = fmt.Sprintf("/new/%d", g.added)
	return rig.SetRoute(a.namespace, fmt.Sprintf("new%d", g.added), a.name, a.host(), rig.PathRule(path, a.name)), path
}

func (g *gathering) memory(note string) {
	router, haproxy := g.router.Usage()
	limits := map[bool][2]float64{false: {200, 300}, true: {450, 700}}[g.sets]
	g.report.Require(g.name+": router memory"+note, report.Megabytes(router.Memory), "MB", report.AtMost(limits[0]), fmt.Sprintf("resident, %.0f MB at most so far", report.Megabytes(router.Peak)))
	g.report.Require(g.name+": HAProxy memory"+note, report.Megabytes(haproxy.Memory), "MB", report.AtMost(limits[1]), "resident")
}

// complete asks for each route until it answers, and looks at the statuses.
func (g *gathering) complete(ctx context.Context) error {
	g.progress("%s: asking for each route, and waiting for each status", g.name)
	began, late := time.Now(), 0
	var wrong []string
	for n := range g.namespaces * g.apps {
		a := g.app(n)
		p := g.probeFor(a)
		for i := range a.routes {
			var last string
			err := rig.Until(answerLimit, a.host()+a.path(i), func() (bool, error) {
				answer, err := p.Get(a.host(), a.path(i))
				last = fmt.Sprintf("status %d, %q", answer.Status, answer.Body)
				right := answer.Status == http.StatusOK && answer.Body == rig.Address(n)
				if !right {
					late++
				}
				return right, err
			})
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s%s: %s, %v", a.host(), a.path(i), last, err))
			}
		}
		p.Close()
	}
	g.report.Figure(g.name+": each route has answered", time.Since(began).Seconds(), "s", fmt.Sprintf("%d, asked one after the other; %d other answers first", g.total(), late))
	g.report.Require(g.name+": routes that do not answer", float64(len(wrong)), "", report.AtMost(0), fmt.Sprintf("%.3q", wrong))
	return g.statuses(ctx)
}

// answerLimit is how long a route may take that the router counts as served: HAProxy gets it
// a moment later.
const answerLimit = 10 * time.Second

// unrest lets a route change each second and a pod go to another address every other one:
// first alone, then with new routes all the while.
func (g *gathering) unrest(ctx context.Context) error {
	g.progress("%s: a route changes each second, a pod every other one, for %s", g.name, 2*g.churn)
	router, haproxy := g.router.Usage()
	used := func() (r, h float64, err error) {
		if r, err = rig.CPUTime(router.PID); err == nil {
			h, err = rig.CPUTime(haproxy.PID)
		}
		return r, h, err
	}
	r0, h0, err := used()
	if err != nil {
		return err
	}
	if err := g.router.ProfileWhile(ctx, g.profile, g.name+"-changes", g.churn, func() error { return g.jitter(ctx) }); err != nil {
		return err
	}
	r1, h1, err := used()
	if err != nil {
		return err
	}
	if name, used := g.name+": CPU of the router while it changes", (r1-r0)/g.churn.Seconds()*100; g.sets {
		g.report.Figure(name, used, "%", "of one core")
	} else {
		g.report.Require(name, used, "%", report.AtMost(5), "of one core")
	}
	g.report.Figure(g.name+": CPU of HAProxy while it changes", (h1-h0)/g.churn.Seconds()*100, "%", "of one core")
	ended := make(chan error, 1)
	go func() { ended <- g.jitter(ctx) }()
	return g.arrive(ctx, "new route while the "+g.name+" changes", g.total(), ended)
}

// jitter makes the changes.
func (g *gathering) jitter(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := range int(g.churn / time.Second) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		a := g.app(rand.IntN(g.namespaces * g.apps))
		route := a.route(rand.IntN(a.routes), n+1)
		if err := g.rig.Replace(ctx, route); err != nil {
			return err
		}
		if n%2 == 1 {
			continue
		}
		_, slice := rig.Service(a.name, rig.Address(g.namespaces*g.apps+n))
		slice.Namespace = a.namespace
		if err := g.rig.Replace(ctx, slice); err != nil {
			return err
		}
	}
	return nil
}
