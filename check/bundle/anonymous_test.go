package bundle

import (
	"encoding/json"
	"strings"
	"testing"
)

func shopObjects() []map[string]any {
	return []map[string]any{
		{"kind": "Namespace", "metadata": map[string]any{"name": "acme-web"}},
		{"kind": "Route", "metadata": map[string]any{"name": "shop", "namespace": "acme-web"}, "spec": map[string]any{"host": "www.acme.com", "tls": map[string]any{"certificate": "-----BEGIN CERTIFICATE-----\nd3d3LmFjbWUuY29t\n-----END CERTIFICATE-----\n"}}},
		{"kind": "Ingress", "metadata": map[string]any{"name": "i", "namespace": "acme-db"}, "spec": map[string]any{"rules": []any{map[string]any{"host": "*.shop.acme.com"}}}},
		{"kind": "IngressController", "metadata": map[string]any{"name": "default", "namespace": "openshift-ingress-operator"}, "spec": map[string]any{"domain": "apps.acme.org"}},
		{"kind": "RoutePolicy", "metadata": map[string]any{"namespace": "acme-web"}, "spec": map[string]any{"url": "https://auth.acme.net:8443/x"}},
	}
}

// TestNames: the same host always has the same name, in all texts; what every cluster has
// keeps its own.
func TestNames(t *testing.T) {
	t.Parallel()
	n := NewNames(shopObjects())
	for in, want := range map[string]string{
		"route acme-web/shop":                           "route namespace-2/shop",
		"WWW.acme.com and www.acme.com":                 n.hosts["www.acme.com"] + " and " + n.hosts["www.acme.com"],
		"be_http:acme-web:shop":                         "be_http:namespace-2:shop",
		"a.svc of shop.acme-db.svc.cluster.local":       "a.svc of shop.namespace-1.svc.cluster.local",
		"*.shop.acme.com":                               "*." + n.hosts["shop.acme.com"],
		"namespace openshift-ingress":                   "namespace openshift-ingress",
		"routes.route.openshift.io v1.36.3 at 10.0.0.1": "routes.route.openshift.io v1.36.3 at 10.0.0.1",
	} {
		if got := n.Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if one, two := n.Text("x-acme.apps.acme.org"), n.Text("x-acme.apps.acme.org"); one != two || strings.Contains(one, "acme") {
		t.Errorf("%q, %q", one, two)
	}
	if got := n.Text("GET https://new.acme.io/ by new.acme.io"); strings.Contains(got, "acme") {
		t.Error(got)
	}
	for _, o := range shopObjects() {
		text, err := json.Marshal(n.Object(o))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "acme") || strings.Contains(string(text), "d3d3") {
			t.Errorf("%s", text)
		}
	}
	var off *Names
	if got := off.Text("www.acme.com"); got != "www.acme.com" {
		t.Error(got)
	}
}

// FuzzNames: no text keeps a host or a namespace as a word.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"", " ", "\n\t\r\x00\f", "/", ":", "://", ".", "=\"", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, around string) {
		edge := strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' {
				return -1 // another word
			}
			return c
		}, around)
		n := NewNames(shopObjects())
		for _, name := range []string{"www.acme.com", "auth.acme.net", "x.apps.acme.org", "acme-web", "acme-db"} {
			if got := n.Text(edge + name + edge); strings.Contains(strings.ToLower(got), "acme") {
				t.Errorf("%q", got)
			}
		}
	})
}
