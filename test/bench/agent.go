package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead/fairlead/test/bench/report"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// withAgent measures what policies cost: the policy agent where nothing asks it, a
// policy on its way to HAProxy, a question to the agent, and policies on all routes.
func (b *bench) withAgent(ctx context.Context) error {
	agent, err := b.rig.StartAgent(ctx)
	if err != nil {
		return err
	}
	defer agent.Stop()
	if err := b.router.Stop(); err != nil {
		return err
	}
	b.progress("starting a router with a policy agent, and one without")
	if err := b.startRouter(ctx, "agent", "--agent-dir", agent.Dir); err != nil {
		return err
	}
	without, end, err := b.other(ctx)
	if err != nil {
		return err
	}
	defer end()
	for _, c := range []rival{
		{"requests/s with an agent that nothing asks, 16 warm hosts", 0, warmHosts, 0.97},
		{"requests/s with an agent that nothing asks, random hosts", 0, b.routes, 0.97},
	} {
		if err := b.compareSides(ctx, c, b.own(), without); err != nil {
			return err
		}
	}
	_, own := b.router.Usage()
	_, other := without.router.Usage()
	b.report.Require("HAProxy memory for an agent that nothing asks", report.Megabytes(own.Anonymous-other.Anonymous), "MB", report.AtMost(3), "anonymous, beside one without")
	if err := b.policyLatencies(ctx); err != nil {
		return err
	}
	if err := b.questions(ctx); err != nil {
		return err
	}
	b.report.Require("agent memory", report.Megabytes(agent.Memory()), "MB", report.AtMost(160), "supervisor and two workers, resident")
	return b.policyOfAll(ctx, without)
}

func (b *bench) own() *side { return &side{port: rig.HTTPPort, pid: b.haproxyPID} }

// other starts a second router that has no agent, and stops it once it is ready, so that
// its HAProxy stays as it is until the end.
func (b *bench) other(ctx context.Context) (s *side, end func(), err error) {
	s, end, err = b.beside(ctx, "", "other", rig.Ports{HTTP: 8090, HTTPS: 8453, Stats: 1946})
	if err != nil {
		return nil, nil, err
	}
	if err := s.router.Signal(syscall.SIGSTOP); err != nil {
		end()
		return nil, nil, fmt.Errorf("start a second router: %w", err)
	}
	return s, end, nil
}

// beside starts one more router, of a program or, if that is empty, of this version.
func (b *bench) beside(ctx context.Context, program, name string, ports rig.Ports) (s *side, end func(), err error) {
	began := time.Now()
	router, err := b.rig.StartRouterAt(program, ports, name)
	if err != nil {
		return nil, nil, err
	}
	err = router.WaitReady(ctx, 3*time.Minute)
	took := time.Since(began)
	_, proxy := router.Usage()
	end = func() {
		router.Kill()
		_ = syscall.Kill(proxy.PID, syscall.SIGKILL) // it would live on
	}
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("start a second router: %w", err)
	}
	return &side{port: ports.HTTP, pid: proxy.PID, router: router, start: took}, end, nil
}

// policy returns a RoutePolicy for a route, or for all of the namespace.
func policy(name, route string, spec map[string]any) *unstructured.Unstructured {
	if route != "" {
		spec["targetRefs"] = []any{map[string]any{"group": "route.openshift.io", "kind": "Route", "name": route}}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "fairlead.dev", Version: "v1alpha1", Kind: "RoutePolicy"})
	u.SetNamespace(rig.Namespace)
	u.SetName(name)
	return u
}

// policyLatencies measures how long a RoutePolicy takes to show, and counts reloads.
func (b *bench) policyLatencies(ctx context.Context) error {
	before, err := b.router.Metrics()
	if err != nil {
		return err
	}
	probe := rig.NewProbe(false)
	defer probe.Close()
	target := func(i int) string { return fmt.Sprintf("fill%d", i) }
	status := func(i, want int) seen {
		return func() (bool, error) {
			a, err := probe.Get(rig.Host(target(i)), "/")
			return a.Status == want, err
		}
	}
	deny := func(i int) *unstructured.Unstructured {
		return policy(target(i), target(i), map[string]any{"access": map[string]any{"deny": []any{"127.0.0.0/8"}}})
	}
	for _, c := range []change{
		{name: "policy add", make: func(ctx context.Context, i int) (seen, error) {
			return status(i, 403), b.rig.Create(ctx, deny(i))
		}},
		{name: "policy change", make: func(ctx context.Context, i int) (seen, error) {
			return status(i, 301), b.rig.Patch(ctx, deny(i), `{"spec":{"access":null,"redirects":{"rules":[{"to":{"url":"https://other.example.com/"},"code":301}]}}}`)
		}},
		{name: "policy delete", make: func(ctx context.Context, i int) (seen, error) {
			return status(i, 200), b.rig.Client.Delete(ctx, deny(i))
		}},
	} {
		if err := b.measureChange(ctx, c, b.routes); err != nil {
			return err
		}
	}
	after, err := b.router.Metrics()
	b.report.Require("reloads by policies", reloads(after)-reloads(before), "", report.AtMost(0), fmt.Sprintf("in %d changes", 3*b.samples))
	return err
}

// asked is a way to be admitted that the agent decides about.
type asked struct {
	name string
	spec map[string]any
	most float64
}

// questions measures what a question to the agent adds to a request.
func (b *bench) questions(ctx context.Context) error {
	const hash = "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=" // of "password"
	users := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rig.Namespace, Name: "users"}, Data: map[string][]byte{"auth": []byte("ann:" + hash + "\n")}}
	if err := errors.Join(b.rig.Create(ctx, users), b.rig.CreateService(ctx, "auth", rig.Address(1))); err != nil {
		return err
	}
	external := func(cache map[string]any) map[string]any {
		x := map[string]any{"service": map[string]any{"name": "auth", "path": "/check"}}
		if cache != nil {
			x["cache"] = cache
		}
		return map[string]any{"external": x}
	}
	for _, a := range []asked{
		{"a password, verdict kept by HAProxy", map[string]any{"basic": map[string]any{"secret": "users"}}, 0.5},
		{"an auth server, answer kept", external(map[string]any{"ttl": "60s"}), 0.5},
		{"an auth server, each request", external(nil), 1.5},
	} {
		if err := b.question(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// question compares requests to a guarded route with those to another one, in turns
// over connections of their own.
func (b *bench) question(ctx context.Context, a asked) error {
	const guarded, other = "fill0", "fill100"
	p := policy(guarded, guarded, map[string]any{"authentication": a.spec})
	if err := b.rig.Create(ctx, p); err != nil {
		return err
	}
	header := []string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ann:password"))}
	open := rig.Request{Method: "GET", Host: rig.Host(other), Path: "/", Header: header}
	closed := open
	closed.Host = rig.Host(guarded)
	probes := [2]*rig.Probe{rig.NewProbe(false), rig.NewProbe(false)}
	defer probes[0].Close()
	defer probes[1].Close()
	if err := rig.Until(sampleLimit, a.name, func() (bool, error) {
		twice := closed // which the agent refuses whatever the auth server says
		twice.Header = slices.Repeat(header, 2)
		refused, err := probes[1].Ask(twice)
		admitted, err2 := probes[1].Ask(closed)
		return refused.Status != 200 && admitted.Status == 200, errors.Join(err, err2)
	}); err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	const requests = 3000
	var took [2][]time.Duration
	for range requests {
		for s, r := range []rig.Request{open, closed} {
			began := time.Now()
			answer, err := probes[s].Ask(r)
			if err != nil || answer.Status != 200 {
				return fmt.Errorf("%s: status %d: %w", r.Host, answer.Status, err)
			}
			took[s] = append(took[s], time.Since(began))
		}
	}
	for s := range took {
		slices.Sort(took[s])
	}
	p50 := report.Milliseconds(took[1][requests/2]) - report.Milliseconds(took[0][requests/2])
	p99 := report.Milliseconds(took[1][requests*99/100]) - report.Milliseconds(took[0][requests*99/100])
	if err := b.rig.Client.Delete(ctx, p); err != nil {
		return fmt.Errorf("delete the policy of %s: %w", guarded, err)
	}
	b.report.Require("added by "+a.name, p50, "ms", report.AtMost(a.most), fmt.Sprintf("p50 of %d requests one by one; p99 %.2f ms", requests, p99))
	return nil
}

// policyOfAll compares routes that all have origins, clients and a limit with the same
// routes without.
func (b *bench) policyOfAll(ctx context.Context, without *side) error {
	err := b.rig.Create(ctx, policy("all", "", map[string]any{
		"cors":   map[string]any{"origins": []any{"https://shop.example.com"}},
		"access": map[string]any{"allow": []any{"127.0.0.0/8", "198.18.0.0/15"}},
		"limits": map[string]any{"requests": []any{map[string]any{"name": "each", "requests": int64(1000000)}}},
	}))
	if err != nil {
		return err
	}
	probe := rig.NewProbe(false)
	defer probe.Close()
	for i := range b.routes {
		request := rig.Request{Method: "GET", Host: rig.Host(fmt.Sprintf("fill%d", i)), Path: "/", Header: []string{"Origin: https://shop.example.com"}}
		if err := rig.Until(sampleLimit, "the policy of "+request.Host, func() (bool, error) {
			a, err := probe.Ask(request)
			return a.Header.Get("Access-Control-Allow-Origin") != "", err
		}); err != nil {
			return err
		}
	}
	return b.compareSides(ctx, rival{"requests/s, CORS, allow-list and limit on every route", 0, b.routes, 0.8}, b.own(), without)
}
