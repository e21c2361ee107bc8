package explain

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/model"
)

// randomCluster has objects of all kinds that a console watches, of few names, so that they meet.
type randomCluster struct {
	*rand.Rand
	objects map[model.Object]metav1.Object
	version int
}

func (r *randomCluster) of(all ...string) string { return all[r.IntN(len(all))] }

// spec returns an object of a random kind as YAML, with a place for its metadata.
func (r *randomCluster) spec() (o metav1.Object, namespace, name, text string) {
	namespace, name = r.of("a", "b", "c"), r.of("s1", "s2", "s3")
	host := r.of("one.test", "two.test", "www.wild.test", "*.wild.test", "gw.test", "bad host")
	switch r.IntN(16) {
	case 0, 1, 2, 3:
		wild := ""
		if strings.HasPrefix(host, "*.") {
			host, wild = "www.wild.test", ", wildcardPolicy: Subdomain"
		}
		tls := r.of("", "", ", tls: {termination: edge, insecureEdgeTerminationPolicy: Redirect}", ", tls: {termination: passthrough}", ", tls: {termination: edge, certificate: bad, key: bad}")
		return &routev1.Route{}, namespace, name, fmt.Sprintf("{spec: {host: %q, path: %q, to: {kind: Service, name: %s, weight: %d}%s%s}}", host, r.of("", "", "/p", "/p/q"), r.of("s1", "s2"), r.IntN(3), tls, wild)
	case 4:
		return &corev1.Service{}, namespace, r.of("s1", "s2"), fmt.Sprintf("{spec: {type: %s, ports: [{name: %s, port: 80, targetPort: 8080}]}}", r.of("ClusterIP", "LoadBalancer"), r.of("http", "web"))
	case 5, 6:
		return &discoveryv1.EndpointSlice{}, namespace, name, fmt.Sprintf(`{addressType: IPv4, ports: [{name: http, port: 8080, protocol: TCP}], endpoints: [{addresses: [10.0.0.%d], conditions: {ready: %v}}]}`, 1+r.IntN(4), r.IntN(3) > 0)
	case 7:
		return &networkingv1.Ingress{}, namespace, name, fmt.Sprintf(`{spec: {ingressClassName: %s, rules: [{host: %s, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: %s, port: {name: %s}}}}]}}]}}`, r.of("openshift-default", "other"), r.of("one.test", "two.test"), r.of("s1", "s2"), r.of("http", "web"))
	case 8:
		target := r.of("targetRefs: [{group: route.openshift.io, kind: Route, name: s1}], ", "targetRefs: [{kind: Service, name: s1}], ", "targetSelector: {kind: Route, matchLabels: {l: '1'}}, ", "")
		return &v1alpha1.RoutePolicy{}, namespace, name, "{spec: {" + target + r.of("access: {allow: [10.0.0.0/8]}", "timeouts: {response: 5s}", "access: {deny: [192.0.2.0/24]}") + "}}"
	case 9:
		return &v1alpha1.ClusterRoutePolicy{}, "", name, "{spec: {" + r.of("", "hosts: [one.test], ", "namespaceSelector: {matchLabels: {l: '1'}}, ") + r.of("timeouts: {response: 7s}", "access: {deny: [198.51.100.0/24]}") + "}}"
	case 10, 11:
		return &gatewayv1.HTTPRoute{}, namespace, name, fmt.Sprintf("{spec: {parentRefs: [{name: %s, namespace: %s}], hostnames: [%s], rules: [{backendRefs: [{name: %s, port: 80}]}]}}", r.of("s1", "s2"), r.of("a", "b"), r.of("gw.test", "one.test"), r.of("s1", "s2"))
	case 12, 13:
		return r.beside(namespace, name)
	case 14:
		return r.ofAll()
	}
	return r.spec()
}

// beside is an object that is beside routes of the Gateway API.
func (r *randomCluster) beside(namespace, name string) (metav1.Object, string, string, string) {
	if r.IntN(3) == 0 {
		return &gatewayv1.ReferenceGrant{}, namespace, name, "{spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: '', kind: Service}]}}"
	}
	return &gatewayv1.Gateway{}, r.of("a", "b"), r.of("s1", "s2"), fmt.Sprintf("{spec: {gatewayClassName: %s, listeners: [{name: http, port: %d, protocol: HTTP, hostname: %q, allowedRoutes: {namespaces: {from: %s}}}]}}", r.of("fairlead", "fairlead", "foreign"), 80+r.IntN(2), r.of("*.test", "gw.test"), r.of("All", "Same"))
}

// ofAll is an object of a kind on which all others depend.
func (r *randomCluster) ofAll() (metav1.Object, string, string, string) {
	switch r.IntN(4) {
	case 0:
		return &gatewayv1.GatewayClass{}, "", r.of("fairlead", "foreign"), fmt.Sprintf("{spec: {controllerName: %s}}", r.of("fairlead.dev/gateway-controller", "example.com/x"))
	case 1:
		return &corev1.Namespace{}, "", r.of("a", "b", "c"), "{}"
	case 2:
		return &operatorv1.IngressController{}, api.OperatorNamespace, "default", "{spec: {" + r.of("", "", "routeSelector: {matchLabels: {l: '1'}}", "namespaceSelector: {matchLabels: {l: '1'}}") + "}, status: {domain: apps.test}}"
	}
	return &networkingv1.IngressClass{}, "", "openshift-default", "{spec: {controller: " + r.of("openshift.io/ingress-to-route", "example.com/x") + "}}"
}

// change makes, changes or removes an object. The same pointer is never another object.
func (r *randomCluster) change(t *testing.T) ObjectChange {
	t.Helper()
	o, namespace, name, text := r.spec()
	if err := yaml.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(text, err)
	}
	o.SetNamespace(namespace)
	o.SetName(name)
	key := keyOf(o)
	before := r.objects[key]
	r.version++
	if before != nil && r.IntN(4) == 0 {
		if refOf(o).Kind != "IngressController" {
			delete(r.objects, key)
			return ObjectChange{Before: before}
		}
	}
	o.SetUID(types.UID(fmt.Sprintf("u%d", r.version)))
	o.SetCreationTimestamp(metav1.NewTime(time.Unix(1_700_000_000+int64(r.IntN(5)), 0)))
	if before != nil {
		o.SetUID(before.GetUID())
		o.SetCreationTimestamp(before.GetCreationTimestamp())
	}
	o.SetGeneration(int64(r.version))
	if r.IntN(2) == 0 {
		o.SetLabels(map[string]string{"l": "1"})
	}
	if before != nil && r.IntN(5) == 0 { // of kinds with a generation, what differs is the status
		status := before.(interface{ DeepCopyObject() k8sruntime.Object }).DeepCopyObject().(metav1.Object)
		o = status
		if g, ok := o.(*gatewayv1.Gateway); ok {
			g.Status.Addresses = []gatewayv1.GatewayStatusAddress{{Value: r.of("192.0.2.7", "192.0.2.8")}}
		}
	} else if slice, ok := o.(*discoveryv1.EndpointSlice); ok {
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: r.of("s1", "s2")}
	}
	if route, ok := o.(*routev1.Route); ok && r.IntN(4) == 0 {
		route.OwnerReferences = []metav1.OwnerReference{{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Name: r.of("s1", "s2"), Controller: new(true)}}
	}
	o.SetResourceVersion(fmt.Sprint(r.version))
	r.objects[key] = o
	return ObjectChange{Before: before, Now: o}
}

// given returns the objects as a reading from the beginning gives them.
func (r *randomCluster) given() *Objects {
	o := NewObjects()
	for _, key := range slices.SortedFunc(maps.Keys(r.objects), compareKeys) {
		o.Add(r.objects[key])
	}
	for _, kind := range []string{"Secret", "ConfigMap"} {
		o.Gaps = append(o.Gaps, Gap{Kind: kind, Why: "no right"})
	}
	return o
}

// answers are what a snapshot says, as text.
func answers(t *testing.T, s *Snapshot) map[string]string {
	t.Helper()
	notes := s.Notes()
	slices.Sort(notes)
	lint := s.Lint("")
	slices.SortFunc(lint.Findings, func(a, b Finding) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	slices.Sort(lint.Notes)
	certs, err := s.Certs(CertArgs{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(certs.Notes)
	of := map[string]any{"rows": s.Rows(), "listeners": s.ListenerRows(), "namespaces": s.Namespaces(), "notes": notes, "lint": lint, "certs": certs}
	for _, url := range []string{"http://one.test/p", "https://one.test/", "https://www.wild.test/p/q", "http://other.wild.test/", "http://gw.test/", "https://two.test/"} {
		r, err := ParseRequest(RequestArgs{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		e := s.Explain(r)
		slices.Sort(e.Notes)
		of["explain "+url], of["host "+url] = e, s.RowsOf(r.Host)
	}
	texts := map[string]string{}
	for name, v := range of {
		text, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Fatalf("%s: %s: updated:\n%s\nfrom the beginning:\n%s", what, name, got[name], text)
		}
	}
}

// TestUpdate: a snapshot that takes changes in equals one of the objects as they are then, and what a
// user of one namespace sees that is not concerned equals what is decided for that user again.
func TestUpdate(t *testing.T) {
	t.Parallel()
	opts := Options{Now: time.Unix(1_800_000_000, 0)}
	kept, all, parts := 0, 0, 0
	for seed := range 8 {
		r := &randomCluster{Rand: rand.New(rand.NewPCG(uint64(seed), 7)), objects: map[model.Object]metav1.Object{}}
		for range 40 {
			r.change(t)
		}
		s, err := NewSnapshot(r.given(), opts)
		if err != nil {
			t.Fatal(err)
		}
		answers(t, s)
		sees := func(namespace string) bool { return namespace == "a" }
		view, err := s.Within(sees)
		if err != nil {
			t.Fatal(err)
		}
		for step := range 40 {
			var changes []ObjectChange
			for range 1 + r.IntN(3) {
				changes = append(changes, r.change(t))
			}
			what := fmt.Sprintf("seed %d, step %d", seed, step)
			s.Later(changes, time.Time{})
			touched, err := s.Settle()
			if err != nil {
				t.Fatal(what, err)
			}
			fresh, err := NewSnapshot(r.given(), opts)
			if err != nil {
				t.Fatal(what, err)
			}
			same(t, what, answers(t, s), answers(t, fresh))
			if touched.all {
				all++
			} else {
				parts++
			}
			own, err := fresh.Within(sees)
			if err != nil {
				t.Fatal(what, err)
			}
			if touched.Concerns(view) {
				if view, err = s.Within(sees); err != nil {
					t.Fatal(what, err)
				}
			} else {
				kept++
			}
			same(t, what+", a user", answers(t, view), answers(t, own))
		}
	}
	t.Logf("%d updates of all, %d of parts; what a user sees was kept %d times", all, parts, kept)
	if parts < 80 || kept < 20 {
		t.Error("too few updates are of parts, or leave what a user sees as it is")
	}
}

// TestUpdateForgets: of a Route that cannot be served any more, a console says so, as it would if it
// had begun after that. That the router serves a former version is the router's word.
func TestUpdateForgets(t *testing.T) {
	t.Parallel()
	o := manyObjects(1)
	s, err := NewSnapshot(o, Options{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	was := s.objects.Routes[model.Object{Kind: "Route", Namespace: "team-0", Name: "shop-0"}]
	is := was.DeepCopy()
	is.Spec.TLS = &routev1.TLSConfig{Termination: "edge", Certificate: "no certificate", Key: "no key"}
	is.ResourceVersion = "2"
	if state := s.Rows()[0].State; state != RowServed {
		t.Fatal(state)
	}
	s.Later([]ObjectChange{{Before: was, Now: is}}, time.Time{})
	if _, err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	if state := s.Rows()[0].State; state != RowRefused {
		t.Errorf("it is %s", state)
	}
}

// TestUpdateIsSmall: after a change of one Route of 10,000, one is decided again, and what that
// allocates does not depend on how many there are, but for lists of pointers.
func TestUpdateIsSmall(t *testing.T) {
	const n, most = 10_000, 400_000
	o := manyObjects(n)
	s, err := NewSnapshot(o, Options{Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	before := s.Rows()
	update := func(c ObjectChange) (*Touched, uint64) {
		t.Helper()
		var was, is runtime.MemStats
		runtime.ReadMemStats(&was)
		s.Later([]ObjectChange{c}, time.Time{})
		touched, err := s.Settle()
		if err != nil {
			t.Fatal(err)
		}
		s.Rows()
		runtime.ReadMemStats(&is)
		return touched, is.TotalAlloc - was.TotalAlloc
	}
	key := model.Object{Kind: "Route", Namespace: "team-7", Name: "shop-150"}
	for i, change := range []func(*routev1.Route){
		func(r *routev1.Route) { r.Annotations = map[string]string{"bench/change": "1"} },
		func(r *routev1.Route) { r.Spec.Host = "another.example.com" },
		func(r *routev1.Route) { r.Spec.To.Name = "shop-151" },
	} {
		was := s.objects.Routes[key]
		is := was.DeepCopy()
		change(is)
		is.ResourceVersion = fmt.Sprint("new-", i)
		touched, bytes := update(ObjectChange{Before: was, Now: is})
		t.Logf("change %d: %d objects decided again, %d bytes", i, touched.Decided, bytes)
		if touched.Decided != 1 || bytes > most {
			t.Errorf("change %d: %d objects were decided again, %d bytes were allocated", i, touched.Decided, bytes)
		}
	}
	if now := s.Rows(); len(now) != n || slices.EqualFunc(now, before, func(a, b *Row) bool { return a == b }) {
		t.Errorf("%d rows, or none is another one", len(now))
	}
}

// TestUpdateOfNamespace: a namespace that comes has nothing decided again, and one with other labels only
// its own Routes where the router or a policy selects by labels. Time that passes has nothing decided
// again but what has ended.
func TestUpdateOfNamespace(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o := manyObjects(2000)
	for i := range 500 {
		o.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%d", i), UID: types.UID(fmt.Sprint("n", i))}})
	}
	s, err := NewSnapshot(o, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.Rows()
	settle := func(what string, most int, at time.Time, changes ...ObjectChange) {
		t.Helper()
		s.Later(changes, at)
		touched, err := s.Settle()
		if err != nil {
			t.Fatal(what, err)
		}
		if touched.Decided > most {
			t.Errorf("%s: %d objects were decided again", what, touched.Decided)
		}
	}
	labelled := func(name, label string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "n", Labels: map[string]string{"l": label}}}
	}
	settle("a new namespace", 0, time.Time{}, ObjectChange{Now: labelled("new", "1")})
	settle("its labels", 0, time.Time{}, ObjectChange{Before: labelled("new", "1"), Now: labelled("new", "2")})
	settle("it goes", 0, time.Time{}, ObjectChange{Before: labelled("new", "2")})
	settle("labels by which nothing selects", 0, time.Time{}, ObjectChange{Before: s.objects.Namespaces["team-7"], Now: labelled("team-7", "1")})
	settle("ten minutes", 0, now.Add(10*time.Minute))
	by := &v1alpha1.ClusterRoutePolicy{ObjectMeta: metav1.ObjectMeta{Name: "by-labels", UID: "p"}}
	by.Spec.NamespaceSelector = &v1alpha1.NamespaceSelector{MatchLabels: map[string]string{"l": "2"}}
	settle("a policy that selects by labels", 2000, time.Time{}, ObjectChange{Now: by})
	settle("labels of a namespace with 20 Routes", 20, time.Time{}, ObjectChange{Before: s.objects.Namespaces["team-7"], Now: labelled("team-7", "2")})
}

// TestUpdateOfTime: a certificate that ends while nothing changes is shown as one that has ended.
func TestUpdateOfTime(t *testing.T) {
	t.Parallel()
	now := time.Now()
	signed, err := certfile.SelfSigned("example.com")
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode([]byte(signed.PEM))
	tls := &routev1.TLSConfig{Termination: "edge", Certificate: string(pem.EncodeToMemory(block)), Key: string(rest)}
	o := NewObjects()
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "shop", UID: "u1", CreationTimestamp: metav1.NewTime(now)}}
	r.Spec = routev1.RouteSpec{Host: "shop.apps.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: "s"}}
	r.Spec.TLS = tls
	o.Add(r)
	s, err := NewSnapshot(o, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s.Rows()
	later := now.AddDate(100, 0, 0)
	s.Later(nil, later)
	if _, err := s.Settle(); err != nil {
		t.Fatal(err)
	}
	fresh, err := NewSnapshot(o, Options{Now: later})
	if err != nil {
		t.Fatal(err)
	}
	got := answers(t, s)
	same(t, "a hundred years later", got, answers(t, fresh))
	if !strings.Contains(got["rows"], `"certificate": "Expired"`) {
		t.Error(got["rows"])
	}
}

// BenchmarkUpdate is what a console does after each change.
func BenchmarkUpdate(b *testing.B) {
	o := manyObjects(10_000)
	s, err := NewSnapshot(o, Options{Now: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	s.Rows()
	key := model.Object{Kind: "Route", Namespace: "team-7", Name: "shop-150"}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		is := s.objects.Routes[key].DeepCopy()
		is.ResourceVersion = fmt.Sprint(n)
		s.Later([]ObjectChange{{Before: s.objects.Routes[key], Now: is}}, time.Time{})
		if _, err := s.Settle(); err != nil || len(s.Rows()) != 10_000 || len(s.Namespaces()) != 500 {
			b.Fatal(err)
		}
	}
}
