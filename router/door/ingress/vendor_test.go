package ingress

import (
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
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

// FuzzForeignPolicy: whatever annotations of ingress-nginx say together, the routers can
// apply what is made of it, or the paths are closed.
func FuzzForeignPolicy(f *testing.F) {
	f.Add("cors-allow-origin", "https://a.test", "enable-cors", "true")
	f.Add("auth-url", "http://auth.ns.svc/check", "auth-signin", "https://$host/start?rd=$escaped_request_uri")
	f.Add("limit-rps", "10", "limit-burst-multiplier", "3")
	f.Add("permanent-redirect", "https://b.test$request_uri", "permanent-redirect-code", "308")
	f.Add("rewrite-target", "/x", "x-forwarded-prefix", "/y")
	f.Add("server-alias", "b.test", "auth-secret", "users")
	for _, text := range hostile {
		f.Add("auth-url", "http://auth.ns.svc/"+text, "auth-signin", "https://$host/"+text)
		f.Add("auth-cache-key", "$cookie_"+text, "auth-url", "http://auth.ns.svc/")
		f.Add("cors-allow-origin", "https://a.test"+text, "enable-cors", "true")
		f.Add("limit-allowlist", "10.0.0.0/8"+text, "limit-rpm", "5")
		f.Add("rewrite-target", "/"+text, "permanent-redirect", "/"+text)
		f.Add("upstream-vhost", text, "app-root", "/"+text)
	}
	f.Fuzz(func(t *testing.T, key, value, key2, value2 string) {
		i := ingressAt("i", "a.test", pathOf("/", 1))
		i.Annotations = map[string]string{prefixNginx + key: value, prefixNginx + key2: value2}
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a.test"}}}
		for _, r := range Convert(Input{Ingress: i}).Routes {
			if route.Closed(r) {
				continue
			}
			_, problems := policy.Read(r.Annotations, policy.Spec{}, model.Edge, false)
			for _, p := range problems {
				// A list may have wrong items, which admit no client.
				if p.Closes {
					t.Fatalf("%v: %+v", i.Annotations, p)
				}
			}
		}
	})
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
