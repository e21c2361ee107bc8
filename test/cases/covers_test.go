package cases

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door/route"
	"github.com/fairlead/fairlead/router/model"
)

// version makes a random version of one route: what protects is there or not,
// right or wrong, and the rest is right or wrong.
func (u *universe) version() *routev1.Route {
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "u1", Name: "guarded", UID: "guarded", Annotations: map[string]string{}}}
	r.Spec.Host, r.Spec.Path, r.Spec.To.Name = "a.u.test", pick(u, []string{"", "/", "/foo", "/foo/", "/foo/bar", "/fo+", "bad"}), "s1"
	annotations := map[string][]string{
		"haproxy.router.openshift.io/ip_allowlist":                          {"10.0.0.0/8", "10.1.0.0/16 192.168.0.0/16", "10.0.0.0/8,1.2.3.4", "nobody", " ", "0.0.0.0/0"},
		"haproxy.router.openshift.io/rate-limit-connections":                {"true", "false", "yes"},
		"haproxy.router.openshift.io/rate-limit-connections.rate-http":      {"5", "50", "many"},
		"haproxy.router.openshift.io/rate-limit-connections.concurrent-tcp": {"5", "50", "-1"},
		"fairlead.dev/path-type":                                            {"Exact", "Prefix", "Regex", "RegexIgnoreCase"},
		"haproxy.router.openshift.io/set-forwarded-headers":                 {"replace", "append"},
		"router.fairlead.dev/unknown":                                       {"x"},
		"fairlead.dev/deny":                                                 {"10.1.0.0/16", "10.0.0.0/8,1.2.3.4", "nobody", "0.0.0.0/0"},
		"fairlead.dev/max-body":                                             {"5", "50", "many"},
		"fairlead.dev/basic-secret":                                         {"users-a", "users-b", "nothing", "no name"},
		"fairlead.dev/limit":                                                {"5/h", "50/h", "many"},
	}
	// With many annotations most versions are closed by one of them, so half have few.
	one := pick(u, []int{3, 12})
	for key, values := range annotations {
		if u.IntN(one) == 0 {
			r.Annotations[key] = pick(u, values)
		}
	}
	if u.IntN(20) == 0 {
		r.Annotations["fairlead.dev/denny"] = "10.0.0.0/8"
	}
	if u.IntN(4) == 0 {
		r.Spec.Port = &routev1.RoutePort{}
		r.Spec.Port.TargetPort.StrVal, r.Spec.Port.TargetPort.Type = "closed_by_ingress", 1
	}
	policies := []routev1.InsecureEdgeTerminationPolicyType{"", "None", "Allow", "Redirect", "allow"}
	switch u.IntN(4) {
	case 0:
		r.Spec.TLS = &routev1.TLSConfig{Termination: "edge", InsecureEdgeTerminationPolicy: pick(u, policies)}
		r.Spec.TLS.Certificate = pick(u, []string{"", "", "broken"})
	case 1:
		r.Spec.TLS = &routev1.TLSConfig{Termination: "reencrypt", InsecureEdgeTerminationPolicy: pick(u, policies)}
		r.Spec.TLS.DestinationCACertificate = pick(u, []string{"", "broken", pki().ca(u.t, "ca").certPEM, pki().ca(u.t, "ca2").certPEM})
	case 2:
		r.Spec.HTTPHeaders = &routev1.RouteHTTPHeaders{}
		r.Spec.HTTPHeaders.Actions.Request = []routev1.RouteHTTPHeader{{Name: pick(u, []string{"X-User", "bad name"}), Action: routev1.RouteHTTPHeaderActionUnion{Type: routev1.Delete}}}
	}
	return r
}

// clientList reads an allow-list on its own: which of some clients it admits.
func clientList(r *routev1.Route, client string) bool {
	list, set := r.Annotations["haproxy.router.openshift.io/ip_allowlist"]
	if !set {
		return true
	}
	for item := range strings.FieldsSeq(list) {
		if p, err := netip.ParsePrefix(item); err == nil && p.Contains(netip.MustParseAddr(client)) {
			return true
		}
	}
	return false
}

// denyList reads a list of clients to refuse on its own: whether it has a client,
// and whether it can be read.
func denyList(r *routev1.Route, client string) (has, readable bool) {
	list, set := r.Annotations["fairlead.dev/deny"]
	for item := range strings.FieldsSeq(strings.ReplaceAll(list, ",", " ")) {
		if addr, err := netip.ParseAddr(item); err == nil {
			has = has || addr.String() == client
			continue
		}
		p, err := netip.ParsePrefix(item)
		if err != nil {
			return false, false
		}
		has = has || p.Contains(netip.MustParseAddr(client))
	}
	return has, !set || strings.TrimSpace(list) != ""
}

// limitOf returns a limit that a version asks for, 0 for none, and -1 for one
// that cannot be read.
func limitOf(r *routev1.Route, name string) int {
	const on = "haproxy.router.openshift.io/rate-limit-connections"
	switch r.Annotations[on] {
	case "", "false":
		return 0
	case "true":
	default:
		return -1
	}
	v, set := r.Annotations[on+"."+name]
	if !set {
		return 0
	}
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return n
	}
	return -1
}

// forbidden says what a claim with pods lets through that a version of its route
// keeps out, or tries to keep out. It shares no code with ingest.
func forbidden(c *model.Claim, newest *routev1.Route) error {
	p := c.Backend.Policy()
	if newest.Spec.Port != nil {
		return fmt.Errorf("it is closed by its Ingress")
	}
	if _, misspelt := newest.Annotations["fairlead.dev/denny"]; misspelt {
		return fmt.Errorf("an annotation that protects is misspelt")
	}
	if want, set := newest.Annotations["fairlead.dev/max-body"]; set {
		if n, err := strconv.ParseInt(want, 10, 64); err != nil || p.Sizes.Body == 0 || p.Sizes.Body > n {
			return fmt.Errorf("bodies up to %d, not %s", p.Sizes.Body, want)
		}
	}
	if want, set := newest.Annotations["fairlead.dev/basic-secret"]; set && (p.Agent == nil || p.Agent.Methods != "basic: users of Secret u1/"+want) {
		return fmt.Errorf("clients without a password of %s", want)
	}
	if want, set := newest.Annotations["fairlead.dev/limit"]; set {
		n, _, _ := strings.Cut(want, "/")
		if most, err := strconv.Atoi(n); err != nil || len(p.Rates) != 1 || p.Rates[0].Requests > most || p.Rates[0].Burst > most {
			return fmt.Errorf("rates %v, not %s", p.Rates, want)
		}
	}
	for _, client := range []string{"10.0.0.1", "10.1.0.1", "192.168.0.1", "1.2.3.4", "127.0.0.1"} {
		admitted := !p.Restricted
		for _, prefix := range p.Allow {
			admitted = admitted || prefix.Contains(netip.MustParseAddr(client))
		}
		for _, prefix := range p.Deny {
			admitted = admitted && !prefix.Contains(netip.MustParseAddr(client))
		}
		denied, readable := denyList(newest, client)
		if admitted && (!clientList(newest, client) || denied) || !readable {
			return fmt.Errorf("client %s", client)
		}
	}
	for name, limit := range map[string]int{"rate-http": p.Limits.Requests, "concurrent-tcp": p.Limits.Concurrent} {
		if want := limitOf(newest, name); want < 0 || want > 0 && (limit == 0 || limit > want) {
			return fmt.Errorf("limit %s of %d is %d", name, want, limit)
		}
	}
	if t := newest.Spec.TLS; t != nil {
		switch {
		case c.Termination == model.Plain:
			return fmt.Errorf("plain HTTP only")
		case t.InsecureEdgeTerminationPolicy == "allow", t.InsecureEdgeTerminationPolicy != "Allow" && c.Insecure == model.InsecureAllow:
			return fmt.Errorf("plain HTTP, %s for %q", c.Insecure, t.InsecureEdgeTerminationPolicy)
		case t.Termination == "reencrypt" && c.Termination != model.Reencrypt:
			return fmt.Errorf("plain HTTP to pods")
		case t.DestinationCACertificate != "" && (c.Backend.CA == nil || strings.TrimSpace(c.Backend.CA.PEM) != strings.TrimSpace(t.DestinationCACertificate)):
			return fmt.Errorf("pods of another CA")
		}
	}
	if h := newest.Spec.HTTPHeaders; h != nil && (len(p.RequestHeaders) != 1 || p.RequestHeaders[0].Name != h.Actions.Request[0].Name) {
		return fmt.Errorf("header %s", h.Actions.Request[0].Name)
	}
	if newest.Annotations["haproxy.router.openshift.io/set-forwarded-headers"] == "replace" && p.Forwarded != model.ForwardedReplace {
		return fmt.Errorf("forwarded headers of the client")
	}
	path, want := strings.TrimSuffix(c.Path, "/")+"/", strings.TrimSuffix(newest.Spec.Path, "/")+"/"
	kind := newest.Annotations["fairlead.dev/path-type"]
	served := ""
	if e := c.Expression(); e != nil {
		path, served = c.Path, e.Written
	}
	switch exact := kind == "Exact" && newest.Spec.Path != ""; {
	case newest.Spec.Path == "bad":
	case strings.HasPrefix(kind, "Regex"):
		if newest.Spec.Path != "" && (served != newest.Spec.Path || strings.Contains(c.Expression().Pattern, "[Ff]") != (kind == "RegexIgnoreCase" && strings.Contains(served, "f"))) {
			return fmt.Errorf("paths like %q instead of %q", served, newest.Spec.Path)
		}
	case exact && (!c.Exact || c.Path != newest.Spec.Path), !strings.HasPrefix(path, want):
		return fmt.Errorf("path %q instead of %q", c.Path, newest.Spec.Path)
	}
	return nil
}

// TestFallbackForbids: whatever versions of a route follow each other, and
// whatever HAProxy refuses of them, what the newest one forbids, or tries to
// forbid, is never served.
func TestFallbackForbids(t *testing.T) {
	t.Parallel()
	u := newUniverse(t)
	key := model.Object{Kind: route.Kind, Namespace: "u1", Name: "guarded"}
	kept, barred := 0, 0
	for range 600 {
		k := newCore(t)
		k.apply(u.services())
		var s step
		if err := s.services([]string{"u1/s1 http=8080 p@198.18.250.60"}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"users-a", "users-b"} {
			s.change.put = append(s.change.put, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "u1", Name: name}, Data: map[string][]byte{"auth": []byte("ann:$1$ab$e2KlfqG5YBMTjSz7XF.Eu1\n# " + name)},
			})
		}
		k.apply(s.change)
		for n := range 6 {
			newest := u.version()
			touched := k.propose(change{put: []metav1.Object{newest}})
			for u.IntN(4) == 0 {
				_, more, _ := k.pipeline.Refuse(key, "at random")
				maps.Copy(touched, more)
			}
			k.pipeline.Accept(touched)
			if err := k.equalsFull(t); err != nil {
				t.Fatalf("after version %d: %v", n, err)
			}
			c, served := k.pipeline.Claim(key)
			if !served || len(c.Backend.Servers) == 0 {
				barred++
				continue
			}
			if !k.pipeline.Status(key).Admitted {
				kept++
			}
			if err := forbidden(c, newest); err != nil {
				t.Fatalf("version %d lets through: %v\nnewest: %v %+v\nserved: %+v", n, err, newest.Annotations, newest.Spec, c)
			}
		}
	}
	t.Logf("%d former versions kept, %d paths without pods", kept, barred)
	if kept == 0 || barred == 0 {
		t.Errorf("%d former versions kept, %d paths without pods: nothing was tried", kept, barred)
	}
}
