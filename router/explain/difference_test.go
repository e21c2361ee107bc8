package explain

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/match"
)

// randomRoutes makes worlds of few hosts and paths, so that routes meet.
type randomRoutes struct{ *rand.Rand }

func (r randomRoutes) pick(of ...string) string { return of[r.IntN(len(of))] }

func (r randomRoutes) route(name string) *routev1.Route {
	route := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, Annotations: map[string]string{}}}
	route.Spec.Host = r.pick("a.test", "b.test", "x.a.test")
	route.Spec.Path = r.pick("", "/", "/foo", "/foo/", "/foo/bar", "/fo")
	route.Spec.To = routev1.RouteTargetReference{Kind: "Service", Name: r.pick("one", "two"), Weight: new(int32(r.IntN(3)))}
	if r.IntN(3) == 0 {
		route.Spec.AlternateBackends = []routev1.RouteTargetReference{{Kind: "Service", Name: "three", Weight: new(int32(1 + r.IntN(2)))}}
	}
	if r.IntN(4) == 0 {
		route.Spec.Host, route.Spec.WildcardPolicy = "w.a.test", routev1.WildcardPolicySubdomain
	}
	switch r.IntN(4) {
	case 0:
		route.Spec.TLS = &routev1.TLSConfig{Termination: routev1.TLSTerminationEdge, InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyType(r.pick("", "Allow", "Redirect"))}
	case 1:
		route.Spec.TLS, route.Spec.Path = &routev1.TLSConfig{Termination: routev1.TLSTerminationPassthrough}, ""
	}
	if r.IntN(3) == 0 {
		route.Annotations["haproxy.router.openshift.io/ip_allowlist"] = r.pick("10.0.0.0/8", "10.1.0.0/16 10.3.0.0/16", "2001:db8::/32", "10.0.0.0/7 192.0.2.1")
	}
	if r.IntN(4) == 0 {
		route.Annotations["haproxy.router.openshift.io/rewrite-target"] = r.pick("/", "/new")
	}
	if r.IntN(5) == 0 {
		route.Annotations["haproxy.router.openshift.io/timeout"] = r.pick("5s", "7s")
	}
	return route
}

// world returns a snapshot of routes, of which some are replaced in the next one.
func (r randomRoutes) worlds(t *testing.T) (before, after *Snapshot) {
	t.Helper()
	sides := [2]*Objects{NewObjects(), NewObjects()}
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: "default"}}
	ic.Spec.RouteAdmission = &operatorv1.RouteAdmissionPolicy{WildcardPolicy: operatorv1.WildcardPolicyAllowed}
	for i := range 6 {
		name := fmt.Sprintf("r%d", i)
		same := r.route(name)
		for _, side := range sides {
			side.Offline = true
			side.Controllers["default"] = ic
			for _, service := range []string{"one", "two", "three"} {
				side.Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: service}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
			}
			switch r.IntN(8) {
			case 0: // not there
			case 1:
				side.Add(r.route(name))
			default:
				side.Add(same)
			}
		}
	}
	var made [2]*Snapshot
	for i, side := range sides {
		var err error
		if made[i], err = NewSnapshot(side, Options{Domain: "apps.test", Now: time.Unix(1800000000, 0)}); err != nil {
			t.Fatal(err)
		}
	}
	return made[0], made[1]
}

func (r randomRoutes) request(t *testing.T) *Request {
	t.Helper()
	target := r.pick("/", "/foo", "/foo/", "/foo/bar", "/foo/x", "/foo/bar/x", "/fo", "/fo/x", "/fox", "/x", "/x/y", "/foo/barx")
	request, err := ParseRequest(RequestArgs{
		URL:      r.pick("http", "https") + "://" + r.pick("a.test", "b.test", "x.a.test", "w.a.test", "y.a.test", "c.test") + target,
		ClientIP: r.pick("10.0.0.1", "10.1.2.3", "10.2.0.0", "10.3.255.255", "11.0.0.1", "9.255.255.255", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db9::", "0.0.0.0"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// class finds the class that a request is in, by looking at each of them.
func classFor(all []class, r *Request) *class {
	var best *class
	host := match.Host(r.Host)
	for _, level := range []string{host, match.Wildcard(host), match.Any} {
		for i := range all {
			c := &all[i]
			in := c.host == level && c.request.Secure == r.Secure && !c.odd && c.with == "" && c.written == "" &&
				(len(c.spans) == 1 || between(c.spans[c.client], r.ClientIP))
			switch {
			case !in:
				continue
			case !c.below && c.path == r.Path:
				return c
			case c.below && strings.HasPrefix(r.Path, strings.TrimSuffix(c.path, "/")+"/") && (best == nil || len(c.path) > len(best.path)):
				best = c
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

func between(c span, a netip.Addr) bool {
	return a.BitLen() == c.first.BitLen() && c.first.Compare(a) <= 0 && a.Compare(c.last) <= 0
}

// TestCompareFindsAll asks random requests on both sides of random worlds: what differs is
// in a class that is reported, and each class that is reported differs.
func TestCompareFindsAll(t *testing.T) {
	t.Parallel()
	differed, alike := 0, 0
	for seed := range uint64(60) {
		r := randomRoutes{rand.New(rand.NewPCG(seed, 5))}
		before, after := r.worlds(t)
		all := slices.Collect(classes(before, after, func(n string) { t.Error(n) }))
		for range 400 {
			request := r.request(t)
			c := classFor(all, request)
			if c == nil { // a host of no route
				if was, is := before.Explain(request).Result, after.Explain(request).Result; was != is {
					t.Fatalf("seed %d: %s from %s is in no class: %+v, then %+v", seed, request.URL, request.ClientIP, was, is)
				}
				continue
			}
			asked := *c
			asked.request = *request
			was, is := before.outcome(&asked), after.outcome(&asked)
			differs, reported := len(compare(before, after, was, is)) > 0, len(compare(before, after, before.outcome(c), after.outcome(c))) > 0
			if differs != reported {
				t.Fatalf("seed %d: %s from %s: differs %t, its class %s %s below=%t from %s: %t\nbefore %+v\nafter  %+v",
					seed, request.URL, request.ClientIP, differs, c.host, c.path, c.below, c.request.ClientIP, reported, was, is)
			}
			if differs {
				differed++
			} else {
				alike++
			}
		}
	}
	if differed < 1000 || alike < 1000 {
		t.Errorf("%d requests differ and %d do not: too few of one to say anything", differed, alike)
	}
}

// TestCompareSaysWhatItLeavesOut: with very many ranges of clients, a note says so.
func TestCompareSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	o := NewObjects()
	o.Offline = true
	var list []string
	for n := range 50 {
		list = append(list, fmt.Sprintf("10.%d.0.0/16", 2*n))
	}
	o.Add(&routev1.Route{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "many", Annotations: map[string]string{"haproxy.router.openshift.io/ip_allowlist": strings.Join(list, " ")}},
		Spec:       routev1.RouteSpec{Host: "many.test", To: routev1.RouteTargetReference{Kind: "Service", Name: "one"}},
	})
	s, err := NewSnapshot(o, Options{Domain: "apps.test", Now: time.Unix(1800000000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	d := Compare(s, s)
	if len(d.Changes) > 0 || !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "only the first 64") }) {
		t.Errorf("%+v", d)
	}
}
