package route

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// pair is a Source with Services "web", of two pods, "single", of one, and
// "asleep", which is idled.
type pair struct{ one }

func (pair) Service(k model.Object) *backend.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}}
	if k.Name == "asleep" {
		s.Annotations = map[string]string{"idling.alpha.openshift.io/idled-at": "2026-01-01T00:00:00Z"}
		s.Spec = corev1.ServiceSpec{ClusterIP: "198.18.0.9", Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}
	}
	return backend.NewService(s)
}

func (pair) Slices(k model.Object) []*backend.Slice {
	port, name := int32(8080), "http"
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{discoveryv1.LabelServiceName: k.Name}},
		AddressType: discoveryv1.AddressTypeIPv6,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	pod := func(name, address string) {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: name},
		})
	}
	switch k.Name {
	case "single":
		pod("s-1", "198.18.0.3")
	case "web":
		pod("w-1", "198.18.0.1")
		pod("w-2", "2001:db8::2")
	}
	return []*backend.Slice{backend.NewSlice(slice)}
}

func ingested(t *testing.T, termination model.Termination, annotations map[string]string, services ...string) *model.Claim {
	t.Helper()
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", Annotations: annotations}}
	r.Spec.Host = "h.test"
	for i, s := range services {
		weight := int32(10)
		name, zero := strings.CutSuffix(s, "=0")
		if zero {
			weight = 0
		}
		to := routev1.RouteTargetReference{Kind: "Service", Name: name, Weight: &weight}
		if i == 0 {
			r.Spec.To = to
			continue
		}
		r.Spec.AlternateBackends = append(r.Spec.AlternateBackends, to)
	}
	if termination != model.Plain {
		r.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationType(termination)}
	}
	res := Route(r, pair{}, door.Settings{CheckInterval: 7 * time.Second}, door.Past{})
	if len(res.Claims) == 0 {
		t.Fatalf("refused: %v", res.Findings)
	}
	return res.Claims[0]
}

// TestServers: who the servers of a route are, which of them are checked, and
// what each may take.
func TestServers(t *testing.T) {
	t.Parallel()
	const w1, w2, s1, idle = "pod:w-1:web:http:198.18.0.1:8080", "pod:w-2:web:http:2001:db8::2:8080", "pod:s-1:single:http:198.18.0.3:8080", "ept:asleep:http:198.18.0.9:80"
	checked := func(id, interval string) model.Server {
		return model.Server{ID: id, Options: model.ServerOptions{CheckInterval: interval, Cookie: backend.MD5(id)}}
	}
	for _, tt := range []struct {
		name        string
		termination model.Termination
		annotations map[string]string
		services    []string
		want        []model.Server
	}{
		{name: "one pod is not checked", services: []string{"single"}, want: []model.Server{checked(s1, "")}},
		{name: "two pods are", services: []string{"web"}, want: []model.Server{checked(w1, "7000ms"), checked(w2, "7000ms")}},
		{
			name: "as often as asked for", services: []string{"web"}, annotations: map[string]string{api.AnnotationCheckInterval: "2s"},
			want: []model.Server{checked(w1, "2000ms"), checked(w2, "2000ms")},
		},
		{name: "pods without weight are not, nor do they count", services: []string{"single", "web=0"}, want: []model.Server{checked(s1, ""), checked(w1, ""), checked(w2, "")}},
		{name: "pods of several services count together", services: []string{"single", "web"}, want: []model.Server{checked(s1, "7000ms"), checked(w1, "7000ms"), checked(w2, "7000ms")}},
		{name: "an idled service is never checked", services: []string{"asleep", "web"}, want: []model.Server{checked(idle, ""), checked(w1, "7000ms"), checked(w2, "7000ms")}},
		{
			name: "limit of connections", services: []string{"single"},
			annotations: map[string]string{api.AnnotationPodConnections: "+05", api.AnnotationDisableCookies: "true"},
			want:        []model.Server{{ID: s1, MaxConn: 5}},
		},
		{
			name: "passthrough", termination: model.Passthrough, services: []string{"single", "web=0"},
			annotations: map[string]string{api.AnnotationPodConnections: "7"}, want: []model.Server{{ID: s1, MaxConn: 7}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ingested(t, tt.termination, tt.annotations, tt.services...).Backend.Servers
			if d := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(model.Server{}, "Address", "Weight")); d != "" {
				t.Errorf("servers (-want +got):\n%s", d)
			}
		})
	}
}

// TestProfile: the algorithm, and the timeout of passthrough.
func TestProfile(t *testing.T) {
	t.Parallel()
	both := func(timeout, tunnel string) map[string]string {
		return map[string]string{api.AnnotationTimeout: timeout, api.AnnotationTimeoutTunnel: tunnel}
	}
	for _, tt := range []struct {
		name        string
		termination model.Termination
		annotations map[string]string
		services    []string
		want        model.Profile
	}{
		{"plain", model.Plain, nil, []string{"web"}, model.Profile{Balance: model.Random, Cookie: true}},
		{"several services", model.Edge, nil, []string{"web", "single"}, model.Profile{Balance: model.RoundRobin, Cookie: true}},
		{"the others without weight", model.Reencrypt, nil, []string{"web", "single=0"}, model.Profile{Balance: model.Random, Cookie: true}},
		{"no pods count, too", model.Plain, nil, []string{"web", "nowhere"}, model.Profile{Balance: model.RoundRobin, Cookie: true}},
		{"asked for", model.Plain, map[string]string{api.AnnotationBalance: "source"}, []string{"web", "single"}, model.Profile{Balance: model.SourceHash, Cookie: true}},
		{"passthrough", model.Passthrough, nil, []string{"web"}, model.Profile{TCP: true, Balance: model.SourceHash}},
		{"passthrough, several services", model.Passthrough, nil, []string{"web", "single"}, model.Profile{TCP: true, Balance: model.RoundRobin}},
		{"passthrough, timeout", model.Passthrough, both("50s", "wrong"), []string{"web"}, model.Profile{TCP: true, Balance: model.SourceHash, Tunnel: time.Minute}},
		{"passthrough, timeout-tunnel first", model.Passthrough, both("50s", "2h"), []string{"web"}, model.Profile{TCP: true, Balance: model.SourceHash, Tunnel: 6 * time.Hour}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, ingested(t, tt.termination, tt.annotations, tt.services...).Backend.Profile); d != "" {
				t.Errorf("profile (-want +got):\n%s", d)
			}
		})
	}
}

// TestTimeouts: what the annotations mean behind TLS that ends at the router.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"5": 5 * time.Millisecond, "5us": 5 * time.Microsecond, "5ms": 5 * time.Millisecond, "5s": 5 * time.Second,
		"5m": 5 * time.Minute, "5h": 5 * time.Hour, "5d": 5 * 24 * time.Hour,
		"25d": 2147483647 * time.Millisecond, "99999999999999999999": 2147483647 * time.Millisecond,
		"0": 0, "1.5s": 0, "1d12h": 0, " 5s": 0, "+5s": 0, "-5s": 0, "5 s": 0, "": 0, "05s": 0,
	} {
		p := ingested(t, model.Edge, map[string]string{api.AnnotationTimeout: text, api.AnnotationTimeoutTunnel: text}, "web").Backend.Policy()
		if p.Timeouts.Server != want || p.Timeouts.Tunnel != want {
			t.Errorf("%q: %s and %s, want %s", text, p.Timeouts.Server, p.Timeouts.Tunnel, want)
		}
	}
}

// TestCookieName is the name that OpenShift's routers give, so that clients
// keep their pods when a Route moves.
func TestCookieName(t *testing.T) {
	t.Parallel()
	if got := defaultCookieName(model.Object{Kind: Kind, Namespace: "ns1", Name: "web"}); got != "635b2d0a0d48be3e3fb6d6d1b8e88db4" {
		t.Errorf("ns1/web: %s", got)
	}
}

// TestPlainClaim asks for nothing: thousands of claims do not pay for what few ask for.
func TestPlainClaim(t *testing.T) {
	t.Parallel()
	for _, termination := range []model.Termination{model.Plain, model.Edge, model.Passthrough} {
		if b := ingested(t, termination, nil, "web").Backend; b.Asks != nil {
			t.Errorf("%q: %+v", termination, b.Asks)
		}
	}
}
