package soak

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/test/bench/rig"
)

// state is all that a route is at one time. It is not changed once published.
type state struct {
	exists      bool
	name, host  string
	path        string
	termination routev1.TLSTerminationType // "" is a route without TLS
	// serial is that of the certificate that the route brings, or empty.
	serial, cert, key string
	// endpoints are those of the route's own Service, which has the weight;
	// other is the index of the shared Service with the rest, or -1.
	endpoints     []string
	weight, other int
	// header is what the route's header action sets, or empty.
	header      string
	annotations map[string]string
}

func (s *state) clone() *state {
	c := *s
	c.annotations = maps.Clone(s.annotations)
	return &c
}

func (s *state) plain() bool       { return s.termination == "" }
func (s *state) passthrough() bool { return s.termination == routev1.TLSTerminationPassthrough }

// object is the Route of the state. What passthrough routes cannot have is
// left out.
func (s *state) object(destinationCA string) *routev1.Route {
	r := rig.Route(s.name)
	r.Annotations = s.annotations
	r.Spec.Host, r.Spec.Path = s.host, s.path
	weight := int32(s.weight)
	r.Spec.To.Weight = &weight
	if s.other >= 0 {
		rest := int32(50)
		r.Spec.AlternateBackends = []routev1.RouteTargetReference{{Kind: "Service", Name: otherName(s.other), Weight: &rest}}
	}
	r.Spec.Port = &routev1.RoutePort{TargetPort: intstr.FromString("http")}
	switch s.termination {
	case "":
	case routev1.TLSTerminationPassthrough:
		r.Spec.Port.TargetPort, r.Spec.Path = intstr.FromString("https"), ""
		r.Spec.TLS = &routev1.TLSConfig{Termination: s.termination, InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyRedirect}
		return r
	default:
		r.Spec.TLS = &routev1.TLSConfig{
			Termination: s.termination, Certificate: s.cert, Key: s.key,
			InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyAllow,
		}
		if s.termination == routev1.TLSTerminationReencrypt {
			r.Spec.Port.TargetPort, r.Spec.TLS.DestinationCACertificate = intstr.FromString("https"), destinationCA
		}
	}
	if s.header != "" {
		r.Spec.HTTPHeaders = &routev1.RouteHTTPHeaders{Actions: routev1.RouteHTTPHeaderActions{Response: []routev1.RouteHTTPHeader{{
			Name: "X-Soak", Action: routev1.RouteHTTPHeaderActionUnion{Type: routev1.Set, Set: &routev1.RouteSetHTTPHeader{Value: s.header}},
		}}}}
	}
	return r
}

// target is a request.
type target struct {
	// port is where the router listens; zero is its own port for HTTP or HTTPS.
	port       int
	secure     bool
	host, path string
	method     string // GET if empty
}

func (t target) String() string {
	scheme := "http"
	if t.secure {
		scheme = "https"
	}
	return strings.TrimSpace(t.method + " " + scheme + "://" + t.host + t.path)
}

// at returns the port on 127.0.0.1.
func (t target) at() int {
	switch {
	case t.port != 0:
		return t.port
	case t.secure:
		return rig.HTTPSPort
	}
	return rig.HTTPPort
}

// target is a request that the route answers; http asks for plain HTTP where
// the route has both.
func (s *state) target(http bool) target {
	path := s.path
	if s.passthrough() {
		path = ""
	}
	return target{secure: !s.plain() && (s.passthrough() || !http), host: s.host, path: path + "/x"}
}

// denied reports whether the route's allow-list keeps the test's client out.
func (s *state) denied() bool {
	list, ok := s.annotations[api.AnnotationAllowlist]
	return ok && !strings.Contains(list, "127.0.0.1")
}

// check returns why an answer is not the state's to a request, or nil.
func (s *state) check(t target, a rig.Answer) error {
	want := s.status(t)
	if a.Status != want {
		return fmt.Errorf("status %d instead of %d", a.Status, want)
	}
	if want != http.StatusOK {
		return nil
	}
	if !slices.Contains(s.addresses(), a.Body) {
		return fmt.Errorf("pod %q instead of one of %s", a.Body, s.addresses())
	}
	if s.passthrough() {
		return nil
	}
	if got := a.Header.Get("X-Soak"); got != s.header {
		return fmt.Errorf("header X-Soak is %q instead of %q", got, s.header)
	}
	if got := a.Header.Get("X-Path"); got != s.rewritten(t.path) {
		return fmt.Errorf("path at the pod is %q instead of %q", got, s.rewritten(t.path))
	}
	return nil
}

func (s *state) status(t target) int {
	switch {
	case !s.exists || t.host != s.host || t.secure && s.plain():
		return http.StatusNotFound
	case s.passthrough():
		if !t.secure {
			return http.StatusFound
		}
	case s.path != "" && !strings.HasPrefix(t.path, s.path+"/"):
		return http.StatusNotFound
	case s.denied():
		return http.StatusForbidden
	}
	return http.StatusOK
}

func (s *state) addresses() []string {
	var all []string
	if s.weight > 0 {
		all = slices.Clone(s.endpoints)
	}
	if s.other >= 0 {
		all = append(all, otherAddress(s.other))
	}
	return all
}

func (s *state) rewritten(path string) string {
	to, ok := s.annotations[api.AnnotationRewrite]
	if !ok {
		return path
	}
	return strings.TrimRight(to, "/") + strings.TrimPrefix(path, s.path)
}

// others is the number of Services that routes share as their second one.
const others = 10

func otherName(n int) string    { return fmt.Sprintf("other%d", n) }
func otherAddress(n int) string { return rig.Address(n) }
