package ingest

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
)

func TestServerWeights(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ weights, counts, want []int }{
		{[]int{50, 50}, []int{1, 1}, []int{256, 256}},
		{[]int{25, 75}, []int{1, 1}, []int{85, 256}},
		{[]int{50, 50}, []int{2, 1}, []int{128, 256}},
		{[]int{20, 60}, []int{2, 1}, []int{42, 256}},
		{[]int{20, 10}, []int{2, 4}, []int{256, 64}},
		{[]int{100, 100}, []int{2, 3}, []int{256, 170}},
		{[]int{90, 10}, []int{1, 1}, []int{256, 28}},
		{[]int{99, 1}, []int{1, 3}, []int{256, 1}},
		{[]int{3, 256}, []int{5, 1}, []int{1, 256}},
		{[]int{100, 0}, []int{2, 1}, []int{1, 0}},
		{[]int{100, 100}, []int{0, 1}, []int{0, 1}},
		{[]int{0, 100, 0}, []int{2, 1, 1}, []int{0, 1, 0}},
		{[]int{0, 0}, []int{1, 1}, []int{0, 0}},
		{nil, nil, []int{}},
	} {
		if got := serverWeights(tt.weights, tt.counts); !slices.Equal(got, tt.want) {
			t.Errorf("weights %v of %v endpoints: %v, want %v", tt.weights, tt.counts, got, tt.want)
		}
	}
}

func TestUsable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"198.18.0.1": true, "10.0.0.1": true, "fd00::1": true, "2001:db8::1": true, "::ffff:198.18.0.1": true,
		"127.0.0.1": false, "127.255.255.255": false, "0.0.0.0": false, "169.254.169.254": false, "224.0.0.1": false, "168.63.129.16": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "ff02::1": false, "fd00:ec2::254": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:168.63.129.16": false, "::127.0.0.1": false, "::169.254.169.254": false,
	} {
		if got := usable(netip.MustParseAddr(text)); got != want {
			t.Errorf("usable(%s) = %v", text, got)
		}
	}
}

func TestSanitize(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for in, want := range map[string]string{"web-1": "web-1", "a b;c\n/d": "a_b_c__d", "é": "_", "": ""} {
		if got := sanitize(in); got != want {
			t.Errorf("sanitize(%q) = %q, want %q", in, got, want)
		}
	}
	if a, b := sanitize(long+"a"), sanitize(long+"b"); a == b || len(a) > maxName {
		t.Errorf("long names: %q and %q", a, b)
	}
}

// one is a Source with one Service that has one endpoint.
type one struct{ pod, port string }

func (one) Routes() []model.Key                      { return nil }
func (one) Route(model.Key) *routev1.Route           { return nil }
func (one) Service(model.Key) *Service               { return &Service{} }
func (one) Secret(model.Key) (*corev1.Secret, error) { return nil, nil }
func (o one) Slices(model.Key) []*Slice {
	port := int32(8080)
	return []*Slice{NewSlice(&discoveryv1.EndpointSlice{
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
		res := Route(r, one{pod, port}, Settings{}, Past{})
		if res.Claim == nil {
			if !slices.ContainsFunc(res.Findings, func(f api.Finding) bool { return f.Severity == api.SeverityError && f.Message != "" }) {
				t.Fatalf("refused without a reason: %v", res.Findings)
			}
			return
		}
		c := res.Claim
		if !hostText.MatchString(c.Host) || !pathText.MatchString(c.Path) || strings.ContainsAny(c.Path, "#?") {
			t.Fatalf("host %q, path %q", c.Host, c.Path)
		}
		if !word.MatchString(c.Backend.Name()) {
			t.Fatalf("backend %q", c.Backend.Name())
		}
		if record := c.Backend.Policy.Record(); strings.ContainsAny(record, "\n\r\x00") {
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

// FuzzBlocks: only certificates and private keys survive, re-encoded.
func FuzzBlocks(f *testing.F) {
	f.Add("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	f.Add("text\n-----BEGIN PRIVATE KEY-----\nX: y\n\nAAAA\n-----END PRIVATE KEY-----\n\n%FL%\nshow info")
	f.Add("-----BEGIN RSA PRIVATE KEY-----\n-----END RSA PRIVATE KEY-----")
	for _, s := range []string{"\n", "\t", "\r", "\x00", "\f"} {
		f.Add("-----BEGIN CERTIFICATE-----" + s + "AAAA\n" + s + "\n-----END CERTIFICATE-----" + s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		certs, keys, err := blocks(text, maxBundle)
		if err != nil {
			return
		}
		for _, b := range append(certs, keys...) {
			if strings.Contains(b, "\n\n") || strings.Contains(b, "%FL%") || !strings.HasPrefix(b, "-----BEGIN ") || !strings.HasSuffix(b, "-----\n") {
				t.Fatalf("block %q", b)
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
