package soak

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/test/bench/rig"
)

// tenant is a Gateway that changes, with what is attached to it.
type tenant = history[*gatewayState]

// gatewayState is all that a Gateway, its ListenerSet and its routes are at one time. It is
// not changed once published.
type gatewayState struct {
	name string
	// change is what made it of the former one.
	change string
	// exists is the Gateway; the rest is there all the same.
	exists bool
	// ports are its slots by the ports of its listeners, 80 and 443.
	ports map[int32]int
	// extra is the hostname of a further listener at port 80, which no route is attached to,
	// or empty.
	extra string
	// own is a listener of the Gateway, set that of its ListenerSet; without a hostname there
	// is none.
	own, set secured
	// routes are attached to the listener at port 80, to own and to set.
	routes [3]gatewayRoute
}

// secured is a listener at port 443.
type secured struct {
	host, serial string
	secret       *corev1.Secret
}

// gatewayRoute is an HTTPRoute.
type gatewayRoute struct {
	exists bool
	name   string
	// host is that of the first route; the others have all of their listener.
	host, path string
	// service and other are indices of the shared Services, other is -1 for none.
	service, other int
	// header is what a filter sets in answers, or empty.
	header string
}

// Names of listeners, all but that of the ListenerSet the Gateway's.
const (
	listenerPlain = "plain"
	listenerExtra = "extra"
	listenerOwn   = "own"
	listenerSet   = "set"
)

func (s *gatewayState) clone() *gatewayState {
	c := *s
	return &c
}

// String describes the state in an error.
func (s *gatewayState) String() string {
	return fmt.Sprintf("%s (after %q; Gateway: %v, extra %q, own %q, set %q, routes %+v)", s.name, s.change, s.exists, s.extra, s.own.host, s.set.host, s.routes)
}

func (s *gatewayState) gateway() *gatewayv1.Gateway {
	all := []gatewayv1.Listener{rig.Listener(listenerPlain, 80, ""), rig.Listener(listenerOwn, 443, s.own.host, s.own.secret.Name)}
	if s.extra != "" {
		all = append(all, rig.Listener(listenerExtra, 80, s.extra))
	}
	return rig.Gateway(s.name, all...)
}

// listenerSet returns the ListenerSet, or nil.
func (s *gatewayState) listenerSet() *gatewayv1.ListenerSet {
	if s.set.host == "" {
		return nil
	}
	return rig.ListenerSet(rig.Namespace, s.name, s.name, rig.Listener(listenerSet, 443, s.set.host, s.set.secret.Name))
}

// route returns the i-th route, or nil.
func (s *gatewayState) route(i int) *gatewayv1.HTTPRoute {
	r := &s.routes[i]
	if !r.exists {
		return nil
	}
	rule := rig.PathRule(r.path, otherName(r.service))
	if r.other >= 0 {
		rule.BackendRefs = append(rule.BackendRefs, rig.PathRule("/", otherName(r.other)).BackendRefs...)
	}
	if r.header != "" {
		rule.Filters = []gatewayv1.HTTPRouteFilter{{Type: gatewayv1.HTTPRouteFilterResponseHeaderModifier, ResponseHeaderModifier: &gatewayv1.HTTPHeaderFilter{
			Set: []gatewayv1.HTTPHeader{{Name: "X-Soak", Value: r.header}},
		}}}
	}
	if i == 2 {
		route := rig.SetRoute(rig.Namespace, r.name, s.name, "", rule)
		route.Spec.Hostnames = nil
		return route
	}
	route := rig.HTTPRoute(rig.Namespace, r.name, s.name, r.host, rule)
	section := gatewayv1.SectionName([]string{listenerPlain, listenerOwn}[i])
	route.Spec.ParentRefs[0].SectionName = &section
	if i == 1 {
		route.Spec.Hostnames = nil
	}
	return route
}

// secrets are those of the listeners.
func (s *gatewayState) secrets() (all []*corev1.Secret) {
	for _, l := range []secured{s.own, s.set} {
		if l.host != "" {
			all = append(all, l.secret)
		}
	}
	return all
}

// targets are requests to all listeners.
func (s *gatewayState) targets() []target {
	path := func(i int) string { return strings.TrimSuffix(s.routes[i].path, "/") + "/x" }
	all := []target{
		{port: s.ports[80], host: s.routes[0].host, path: path(0)},
		{port: s.ports[443], secure: true, host: s.own.host, path: path(1)},
	}
	if s.extra != "" {
		all = append(all, target{port: s.ports[80], host: s.extra, path: "/x"})
	}
	if s.set.host != "" {
		all = append(all, target{port: s.ports[443], secure: true, host: s.set.host, path: path(2)})
	}
	return all
}

// refused is the status of a connection that is closed without an answer.
const refused = 0

// answers returns the route that answers a request, and the status.
func (s *gatewayState) answers(t target) (*gatewayRoute, int) {
	var r *gatewayRoute
	switch {
	case s.exists && !t.secure && t.host == s.routes[0].host:
		r = &s.routes[0]
	case s.exists && t.secure && t.host == s.own.host:
		r = &s.routes[1]
	case s.exists && t.secure && t.host == s.set.host:
		r = &s.routes[2]
	case t.secure, !s.exists: // HAProxy closes connections to a port that no Gateway has
		return nil, refused
	default:
		return nil, http.StatusNotFound
	}
	if !r.exists || !strings.HasPrefix(t.path, strings.TrimSuffix(r.path, "/")+"/") {
		return nil, http.StatusNotFound
	}
	return r, http.StatusOK
}

// check implements shape.
func (s *gatewayState) check(t target, a rig.Answer) error {
	r, want := s.answers(t)
	if !s.exists && a.Status == http.StatusNotFound {
		return nil // the routes may go a moment before the port
	}
	if a.Status != want {
		err := fmt.Errorf("status %d instead of %d", a.Status, want)
		if a.Status == refused {
			err = fmt.Errorf("%w: %s", err, a.Body)
		}
		return err
	}
	if r == nil {
		return nil
	}
	if addresses := r.addresses(); !slices.Contains(addresses, a.Body) {
		return fmt.Errorf("pod %q instead of one of %s", a.Body, addresses)
	}
	if got := a.Header.Get("X-Soak"); got != r.header {
		return fmt.Errorf("header X-Soak is %q instead of %q", got, r.header)
	}
	return nil
}

func (r *gatewayRoute) addresses() []string {
	all := []string{otherAddress(r.service)}
	if r.other >= 0 {
		all = append(all, otherAddress(r.other))
	}
	return all
}

// askGateway asks over a new connection. One that does not come about over TLS has the status
// refused.
func (t target) askGateway() rig.Answer {
	p := rig.NewProbeAt(t.port, t.secure)
	defer p.Close()
	a, err := t.ask(p)
	if err != nil {
		return rig.Answer{Status: refused, Body: err.Error()}
	}
	return a
}
