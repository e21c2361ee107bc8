package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fairlead/fairlead/api"
)

// TestNginxKeys: every annotation of ingress-nginx v1.15.1 has a row.
func TestNginxKeys(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/keys/nginx-v1.15.1.list")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(text))
	if len(names) < 130 {
		t.Fatalf("only %d names", len(names))
	}
	table := vendorTable(prefixNginx)
	for _, name := range names {
		if _, ok := table[name]; !ok {
			t.Errorf("%s has no row", name)
		}
	}
	for name := range table {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no annotation of ingress-nginx", name)
		}
	}
}

// TestKeys runs the lines of testdata/keys: annotations of one controller, and what
// the Route of the Ingress has then. Every row of the tables has a line.
func TestKeys(t *testing.T) {
	t.Parallel()
	for file, prefix := range map[string]string{"nginx": prefixNginx, "haproxy": prefixHAProxy, "haproxy-ingress": prefixHAProxy2} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			name := "testdata/keys/" + file + ".txt"
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			var now strings.Builder
			for line := range strings.Lines(string(text)) {
				line = strings.TrimRight(line, "\n")
				asked, want, ok := strings.Cut(line, " => ")
				if !ok {
					now.WriteString(line + "\n")
					continue
				}
				annotations := map[string]string{}
				for item := range strings.SplitSeq(asked, " | ") {
					key, value, _ := strings.Cut(item, "=")
					if !strings.Contains(key, "/") {
						seen[key] = true
						key = prefix + key
					}
					annotations[key] = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\0`, "\x00").Replace(value)
				}
				got := outcome(annotations)
				now.WriteString(asked + " => " + got + "\n")
				if got != want && !*update {
					t.Errorf("%s\n got: %s\nwant: %s", asked, got, want)
				}
			}
			for key := range vendorTable(prefix) {
				if !seen[key] {
					t.Errorf("%s has no line", key)
				}
			}
			if *update {
				if err := os.WriteFile(name, []byte(now.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// outcome is what becomes of an Ingress with TLS, in one line.
func outcome(annotations map[string]string) string {
	path := "/foo"
	for key := range annotations {
		if strings.HasSuffix(key, "/ssl-passthrough") {
			path = "/" // the only one that passthrough has
		}
	}
	i := ingressAt("i", "a.example.com", pathOf(path, 1))
	i.Namespace, i.Annotations = "shop", annotations
	i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a.example.com"}}}
	out := Convert(Input{Ingress: i, Services: map[string]*corev1.Service{
		"web": service("web", "http", 80), "auth": service("auth", "http", 80), "plain": service("plain", "", 8080),
	}})
	var words []string
	for n, r := range out.Routes {
		if n > 0 {
			words = append(words, "also "+r.Spec.Host)
			continue
		}
		words = append(words, describeRoute(r)...)
	}
	if len(out.Routes) == 0 {
		words = append(words, "no Route")
	}
	if len(ClosedHosts(i, Limits{})) > 0 {
		words = append(words, "hosts closed")
	}
	for _, f := range out.Findings {
		words = append(words, string(f.Reason))
	}
	return cmp.Or(strings.Join(words, " | "), "nothing")
}

func describeRoute(r *routev1.Route) []string {
	var words []string
	if r.Spec.Port != nil && r.Spec.Port.TargetPort.StrVal == api.ClosedPort {
		words = append(words, "closed")
	}
	if r.Spec.Path != "/foo" && r.Spec.Path != "" {
		words = append(words, fmt.Sprintf("path %q", r.Spec.Path))
	}
	if tls := fmt.Sprintf("%s/%s", r.Spec.TLS.Termination, r.Spec.TLS.InsecureEdgeTerminationPolicy); tls != "edge/Redirect" {
		words = append(words, tls)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
		if key != api.AnnotationFromIngress {
			short := strings.TrimPrefix(strings.TrimPrefix(key, "haproxy.router.openshift.io/"), "router.openshift.io/")
			words = append(words, short+"="+r.Annotations[key])
		}
	}
	return words
}

func service(name, port string, number int32) *corev1.Service {
	s := &corev1.Service{}
	s.Namespace, s.Name = "shop", name
	s.Spec.Ports = []corev1.ServicePort{{Name: port, Port: number}}
	return s
}
