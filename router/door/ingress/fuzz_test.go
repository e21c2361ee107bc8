package ingress

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/match"
)

var pathTypes = []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypePrefix, networkingv1.PathTypeImplementationSpecific}

// hostile are texts that break lines, words and terminals elsewhere.
var hostile = []string{"a\nb", "a\tb", "a\rb", "a\x00b", "a\fb", "a b", "a#b", "%[src]", "é", "\x1b[2J", "\xff", strings.Repeat("x", 300)}

func pathOf(path string, kind uint8) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{Path: path, PathType: &pathTypes[int(kind)%len(pathTypes)], Backend: networkingv1.IngressBackend{
		Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Name: "http"}},
	}}
}

func ingressAt(name, host string, paths ...networkingv1.HTTPIngressPath) *networkingv1.Ingress {
	i := &networkingv1.Ingress{}
	i.Namespace, i.Name = "ns", name
	i.Spec.Rules = []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}}}}
	return i
}

// asKubernetes says whether a path of an Ingress answers for the path of a request.
func asKubernetes(path string, kind networkingv1.PathType, request string) bool {
	if kind == networkingv1.PathTypeExact {
		return request == path
	}
	if before, ok := strings.CutSuffix(path, "/*"); ok && kind == networkingv1.PathTypeImplementationSpecific && !strings.Contains(before, "*") {
		path = before
	}
	path = strings.TrimRight(path, "/")
	return request == path || strings.HasPrefix(request, path+"/")
}

// FuzzPath: the Route of a path answers for the requests that the path answers
// for, and for no others.
func FuzzPath(f *testing.F) {
	for n, path := range []string{"/", "/foo", "/foo/", "/foo/*", "/*", "/*/a", "/foo*", "//", "/a//", "/%2f", "/a;b", "/foo/#", "", "x"} {
		for _, request := range []string{"/", "/foo", "/foo/", "/foo/bar", "/foobar", "/*", "/FOO", "/a//b"} {
			f.Add(path, uint8(n), request)
			f.Add(path, uint8(n+1), request)
		}
	}
	for n, text := range hostile {
		f.Add("/"+text, uint8(n), "/"+text)
	}
	f.Fuzz(func(t *testing.T, path string, kind uint8, request string) {
		p := pathOf(path, kind)
		out := Convert(Input{Ingress: ingressAt("i", "h.test", p)})
		if len(out.Routes) == 0 {
			if len(out.Findings) == 0 {
				t.Fatalf("path %q has neither a Route nor a finding", path)
			}
			return
		}
		r := out.Routes[0]
		if !strings.HasPrefix(r.Spec.Path, "/") || strings.ContainsAny(r.Spec.Path, " #\t\n\r\x00\f\x7f") {
			t.Fatalf("path %q becomes %q", path, r.Spec.Path)
		}
		if !strings.HasPrefix(request, "/") || strings.ContainsAny(request, "#?") || path == "" {
			return
		}
		table := match.NewTable("h.test", []match.Rule{{Path: r.Spec.Path, Exact: r.Annotations[api.AnnotationPathType] == "Exact", Value: "web"}})
		if got, want := table.Request("h.test", request) == "web", asKubernetes(path, *p.PathType, request); got != want {
			t.Fatalf("%s %q, request %q: served %t, want %t", *p.PathType, path, request, got, want)
		}
	})
}

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// FuzzIngress: whatever a tenant writes becomes Routes that the API server takes,
// or findings. What keeps requests away closes all paths; keys stay in their
// Secrets.
func FuzzIngress(f *testing.F) {
	add := func(host, path, key, value string) { f.Add("shop", host, path, uint8(len(path)), key, value, "tls") }
	add("a.example.com", "/", "", "")
	add("*.example.com", "/foo", api.AnnotationAllowlist, "10.0.0.0/8")
	add("", "/admin*", api.AnnotationAllowlist, "10.0.0.0/8")
	add("a.example.com", "/(a|b)/(.*)", prefixNginx+"use-regex", "true")
	add("a.example.com", "/foo(/|$)(.*)", prefixNginx+"rewrite-target", "/$2")
	add("a.example.com", "/", prefixNginx+"server-snippet", "deny all;")
	add("a.example.com", "/", prefixNginx+"canary", "true")
	add("a.example.com", "/", "traefik.ingress.kubernetes.io/router.middlewares", "ns-auth@kubernetescrd")
	add("a.example.com", "/", annotationTermination, "passthrough")
	add("a.example.com", "/", api.AnnotationCertificates, "copied")
	for _, text := range hostile {
		add("a.example.com", "/"+text, prefixNginx+"configuration-snippet", text)
		add(text, "/", prefixHAProxy+"allow-list", "10.0.0.0/8"+text)
		f.Add(text, "a.example.com", "/", uint8(0), text, text, text)
	}
	f.Fuzz(func(t *testing.T, name, host, path string, kind uint8, key, value, secret string) {
		i := ingressAt(name, host, pathOf(path, kind), pathOf("/", 1))
		i.Annotations = map[string]string{key: value}
		i.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: secret}}
		out := Convert(Input{Ingress: i})
		if diff := cmp.Diff(out, Convert(Input{Ingress: i})); diff != "" {
			t.Fatalf("it is not the same twice:\n%s", diff)
		}
		for _, r := range out.Routes {
			checkRoute(t, r, i)
		}
		checkClosed(t, i, out)
		i.Annotations[prefixNginx+"auth-url"] = "https://auth.example.com/"
		for _, r := range Convert(Input{Ingress: i}).Routes {
			if !route.Closed(r) {
				t.Fatalf("%s=%q opens Route %s%s", key, value, r.Spec.Host, r.Spec.Path)
			}
		}
		for _, finding := range out.Findings {
			if finding.Reason == "" || finding.Message == "" {
				t.Fatalf("finding %+v", finding)
			}
		}
	})
}

// checkRoute fails if the API server would refuse a Route of an Ingress that it
// has taken.
func checkRoute(t *testing.T, r *routev1.Route, i *networkingv1.Ingress) {
	t.Helper()
	if len(validation.IsDNS1123Subdomain(i.Name)) == 0 && (!objectName.MatchString(r.Name) || len(r.Name) > 63) {
		t.Fatalf("name %q of Ingress %q", r.Name, i.Name)
	}
	host := i.Spec.Rules[0].Host
	valid := host == "" || len(validation.IsDNS1123Subdomain(host)) == 0 || len(validation.IsWildcardDNS1123Subdomain(host)) == 0
	if valid && len(validation.IsDNS1123Subdomain(r.Spec.Host)) > 0 {
		t.Fatalf("host %q of %q", r.Spec.Host, host)
	}
	passthrough := r.Spec.TLS != nil && r.Spec.TLS.Termination == routev1.TLSTerminationPassthrough
	if passthrough != (r.Spec.Path == "") {
		t.Fatalf("path %q, TLS %+v", r.Spec.Path, r.Spec.TLS)
	}
	// What the Ingress has as it should be is not cut within a character.
	cut := func(of map[string]string) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(of)), func(v string) bool { return !utf8.ValidString(v) })
	}
	if cut(r.Annotations) && !cut(i.Annotations) {
		t.Fatalf("annotations %q", r.Annotations)
	}
	if r.Spec.TLS != nil && r.Spec.TLS.Key != "" {
		t.Fatal("a key in a Route")
	}
}

// checkClosed fails if something keeps requests away, and a Route lets them pass.
func checkClosed(t *testing.T, i *networkingv1.Ingress, out Output) {
	t.Helper()
	for _, f := range out.Findings {
		if f.Reason != api.ReasonForeignProtection {
			continue
		}
		for _, r := range out.Routes {
			if !route.Closed(r) {
				t.Fatalf("Route %s%s is open, and yet: %s", r.Spec.Host, r.Spec.Path, f.Text())
			}
		}
		if strings.Contains(f.Effect, "all paths of its hosts") && len(ClosedHosts(i, Limits{})) == 0 {
			t.Fatalf("neighbours stay open, and yet: %s", f.Text())
		}
	}
}
