package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/router/policy"
)

// TestVendorTable: every annotation has one answer, and what is carried over
// goes to annotations that there are.
func TestVendorTable(t *testing.T) {
	t.Parallel()
	known := map[string]bool{annotationTermination: true}
	for _, a := range policy.Annotations() {
		known[a.Key] = true
	}
	for _, prefix := range []string{prefixNginx, prefixHAProxy, prefixHAProxy2} {
		for name, f := range vendorTable(prefix) {
			if !f.harmless && f.carry == nil && f.instead == "" {
				t.Errorf("%s%s: nothing is said", prefix, name)
			}
			if f.harmless && (f.carry != nil || f.instead != "" || f.protects != nil) {
				t.Errorf("%s%s: harmless, and more is said", prefix, name)
			}
			if f.carry == nil {
				continue
			}
			for _, value := range []string{"true", "false", "5", "5s", "cookie", "HTTPS", "Lax", "round_robin", "roundrobin", "/x", "10.0.0.0/8"} {
				into := &carried{annotations: map[string]string{}, ingress: &networkingv1.Ingress{}}
				if err := f.carry(value, into); err != nil {
					continue
				}
				for key := range into.annotations {
					if !known[key] {
						t.Errorf("%s%s=%s becomes %s, which nobody reads", prefix, name, value, key)
					}
				}
			}
		}
	}
}

// FuzzVendorAnnotations: whatever other controllers' annotations say, values of ours are
// made of it that the routers can judge: one line, no control characters beyond
// those that were there.
func FuzzVendorAnnotations(f *testing.F) {
	f.Add("10.0.0.0/8,nonsense")
	f.Add("/x/$2")
	f.Add("5\r\nX: y")
	for _, text := range hostile {
		f.Add(text)
		f.Add("10.0.0.0/8" + text)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, prefix := range []string{prefixNginx, prefixHAProxy, prefixHAProxy2} {
			for name, a := range vendorTable(prefix) {
				if a.carry == nil {
					continue
				}
				into := &carried{annotations: map[string]string{}, ingress: &networkingv1.Ingress{}}
				if err := a.carry(value, into); err != nil && len(into.annotations) > 0 {
					t.Fatalf("%s%s: %v, and yet %v", prefix, name, err, into.annotations)
				}
				for _, v := range into.annotations {
					if strings.ContainsAny(v, "\r\n\x00") && !strings.ContainsAny(value, "\r\n\x00") {
						t.Fatalf("%s%s: %q", prefix, name, v)
					}
				}
			}
		}
	})
}
