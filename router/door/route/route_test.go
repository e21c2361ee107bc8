package route

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// one is a Source with one Service that has one endpoint.
type one struct{ pod, port string }

func (one) All() []model.Object                               { return nil }
func (one) Object(model.Object) door.Version                  { return nil }
func (one) Service(model.Object) *backend.Service             { return &backend.Service{} }
func (one) Secret(model.Object) (*corev1.Secret, error)       { return nil, nil }
func (one) ConfigMap(model.Object) (*policy.ConfigMap, error) { return nil, nil }
func (o one) Slices(model.Object) []*backend.Slice {
	port := int32(8080)
	return []*backend.Slice{backend.NewSlice(&discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"198.18.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: o.pod}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &o.port, Port: &port}},
	})}
}

var (
	word     = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)
	hostText = regexp.MustCompile(`^(\*\.)?[a-z0-9.-]+$`)
	pathText = regexp.MustCompile(`^(/[!-~]*)?$`)
)

// FuzzRoute gives the router what a tenant may write. Whatever it is, what
// goes on to HAProxy is made of safe words, and a refusal says why.
func FuzzRoute(f *testing.F) {
	f.Add("h.test", "/a", "edge", "5s", "cookie", "Lax", "web-1", "http")
	f.Add("*.h.test", "/a b", "passthrough", "1.5s", "a b", "x", "a;b", "p q")
	f.Add("H.TEST", "a#b?c", "reencrypt", "99999999999999999999d", "\n", "None", "\x00", ";")
	f.Add("a..b", "/\x7f", "", "-1", "%[src]", "", "é", "|")
	for _, s := range []string{"a\nb", "a\tb", "a\rb", "a\x00b", "a\fb", "\n", "5s\n"} {
		f.Add(s, "/"+s, "edge", s, s, s, s, s)
		f.Add("h.test", "/"+s, "", "5s"+s, s, "Lax"+s, s, s)
	}
	f.Fuzz(func(t *testing.T, host, path, termination, duration, cookie, site, pod, port string) {
		r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", Annotations: map[string]string{
			api.AnnotationTimeout: duration, api.AnnotationTimeoutTunnel: duration, api.AnnotationCheckInterval: duration,
			api.AnnotationCookieName: cookie, api.AnnotationCookieSameSite: site, api.AnnotationPathType: site,
			api.AnnotationBalance: cookie, api.AnnotationPodConnections: duration, api.AnnotationDisableCookies: site,
		}}}
		r.Spec.Host, r.Spec.Path, r.Spec.To.Name = host, path, "web"
		if termination != "" {
			r.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationType(termination)}
		}
		res := Route(r, one{pod, port}, door.Settings{}, door.Past{})
		if len(res.Claims) == 0 {
			if !slices.ContainsFunc(res.Findings, func(f api.Finding) bool { return f.Severity == api.SeverityError && f.Message != "" }) {
				t.Fatalf("refused without a reason: %v", res.Findings)
			}
			return
		}
		c := res.Claims[0]
		if !hostText.MatchString(c.Host) || !pathText.MatchString(c.Path) || strings.ContainsAny(c.Path, "#?") {
			t.Fatalf("host %q, path %q", c.Host, c.Path)
		}
		if !word.MatchString(c.Backend.Name()) {
			t.Fatalf("backend %q", c.Backend.Name())
		}
		if record := c.Backend.Record(); strings.ContainsAny(record, "\n\r\x00") {
			t.Fatalf("policy %q", record)
		}
		for _, s := range c.Backend.Servers {
			if !word.MatchString(s.Name()) || len(s.Name()) > 600 || s.Weight < 0 || s.Weight > 256 {
				t.Fatalf("server %q weight %d", s.Name(), s.Weight)
			}
			if i := s.Options.CheckInterval; i != "" && !regexp.MustCompile(`^[1-9][0-9]*ms$`).MatchString(i) {
				t.Fatalf("check interval %q", i)
			}
		}
	})
}

// FuzzTime: what parses is a time that HAProxy can hold.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"5s", "1", "0", "1.5s", "24d", "99999999999999999999d", "+1s", "1 s", "1s\n", "1\ts", "\r1s", "1s\x00", "\f1s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := api.ParseTime(text)
		if err == nil && (d <= 0 || d.Milliseconds() > 1<<31-1) {
			t.Fatalf("%q is %s", text, d)
		}
	})
}

func (one) Policies(string) *policy.Set { return nil }

func (one) AllPolicies() []model.Object        { return nil }
func (one) Namespace(string) *policy.Namespace { return nil }
