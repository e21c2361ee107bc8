package manifest

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/convert"
	"github.com/fairlead/fairlead/router/explain"
)

// FuzzConverted: whatever a tenant writes, what is written about its conversion is read again
// as these objects and no others, also after all that a terminal must not be sent was escaped.
func FuzzConverted(f *testing.F) {
	f.Add("www.example.com", "/shop", "5s", "/app", "value", "pem")
	f.Add("a.b", "/a/", "5s\n---\nkind: Secret", "/app\t", "x: y\n- z", "-----BEGIN")
	f.Add("a.b", "/a//b|c", "1h", "/a\rb", "%[req.hdr(X)]", "\x00")
	f.Add("*.b", "/[a-z]+", "\f", "/%", "yes", "0x1f")
	f.Add("a.b", "/~", "null", "/$1", "\u202e\u200b", "\"'")
	f.Fuzz(func(t *testing.T, host, path, timeout, rewrite, value, text string) {
		r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "r", Annotations: map[string]string{
			"haproxy.router.openshift.io/timeout": timeout, "haproxy.router.openshift.io/rewrite-target": rewrite,
			"haproxy.router.openshift.io/ip_allowlist": value, "fairlead.dev/path-type": text, "fairlead.dev/redirect": rewrite, "fairlead.dev/cors-origins": value,
		}}}
		r.Spec.Host, r.Spec.Path = host, path
		r.Spec.To = routev1.RouteTargetReference{Kind: "Service", Name: "one"}
		r.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationReencrypt, DestinationCACertificate: text, InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyRedirect}
		r.Spec.HTTPHeaders = &routev1.RouteHTTPHeaders{Actions: routev1.RouteHTTPHeaderActions{Request: []routev1.RouteHTTPHeader{{
			Name: "X-A", Action: routev1.RouteHTTPHeaderActionUnion{Type: routev1.Set, Set: &routev1.RouteSetHTTPHeader{Value: value}},
		}}}}
		o := explain.NewObjects()
		o.Offline = true
		plain := r.DeepCopy()
		plain.Name, plain.Spec.TLS = "plain", nil
		o.Add(r)
		o.Add(plain)
		o.Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "one"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		s, err := explain.NewSnapshot(o, explain.Options{Now: time.Unix(1800000000, 0)})
		if err != nil {
			t.Skip()
		}
		out, err := s.Convert(explain.ConvertArgs{Options: convert.Options{Class: "fairlead"}})
		if err != nil {
			t.Fatal(err)
		}
		readAgain(t, out)
	})
}

// readAgain compares the objects with what stands in the output.
func readAgain(t *testing.T, out *explain.Conversion) {
	t.Helper()
	var text, list bytes.Buffer
	if err := out.YAML(terminal.Writer(&text)); err != nil {
		t.Fatal(err)
	}
	if err := out.JSON(terminal.Writer(&list)); err != nil {
		t.Fatal(err)
	}
	for form, data := range map[string][]byte{"YAML": text.Bytes(), "JSON": list.Bytes()} {
		all := Parse("", "out", data)
		if len(all) != len(out.Objects) {
			t.Fatalf("%s: %d objects are read as %d:\n%s", form, len(out.Objects), len(all), data)
		}
		for i, m := range all {
			if m.Object == nil || len(m.Findings) > 0 {
				t.Fatalf("%s: object %d is read as %v:\n%s", form, i, m.Findings, data)
			}
			if is, was := content(t, m.Object), content(t, out.Objects[i]); is != was {
				t.Fatalf("%s: read %s, written was %s", form, is, was)
			}
		}
	}
}

// content is an object without its kind, which only manifests say.
func content(t *testing.T, o metav1.Object) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "kind")
	delete(fields, "apiVersion")
	if text, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	return string(text)
}
