package cases

import (
	"fmt"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/test/fuzz"
)

// valuesRoute is a route with texts of a tenant where lists are made of them.
func valuesRoute(header, value, cookie, allow, path string) *routev1.Route {
	r := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "f", Name: "values", Annotations: map[string]string{
		api.AnnotationCookieName: cookie, api.AnnotationRewrite: path,
	}}}
	if allow != "" {
		r.Annotations[api.AnnotationAllowlist] = allow
	}
	r.Spec = routev1.RouteSpec{Host: "values.f.test", Path: path, To: routev1.RouteTargetReference{Kind: "Service", Name: "web"}}
	set := routev1.RouteHTTPHeaderActionUnion{Type: routev1.Set, Set: &routev1.RouteSetHTTPHeader{Value: value}}
	remove := routev1.RouteHTTPHeaderActionUnion{Type: routev1.Delete}
	actions := []routev1.RouteHTTPHeader{{Name: header, Action: set}, {Name: "X-Fixed", Action: set}, {Name: header + "-2", Action: remove}}
	r.Spec.HTTPHeaders = &routev1.RouteHTTPHeaders{Actions: routev1.RouteHTTPHeaderActions{Request: actions, Response: actions}}
	return r
}

// FuzzValues: lists of headers, cookies, allow-lists and paths of a tenant, from
// the Route through HAProxy's socket and back. HAProxy has exactly what is
// wanted, needs no second try, and another tenant's route is served.
func FuzzValues(f *testing.F) {
	f.Add("X-A", "b", "sticky", "10.0.0.0/8 ::1", "/a")
	f.Add("X-A", "%[req.hdr(host),lower]", "a", "127.0.0.1", "/")
	f.Add("X-A", "100%% sure; 'quoted' \"twice\" \\ #x <<%FL% $HOME", "__Host-a", "", "/a;b")
	for _, odd := range []string{"\n", "\t", "\r", "\x00", "\f", "\v", "\x7f", "\x1b[31m", " ", "|", ",", ";", "\\", "<<", "#", "'", "\"", "é", "\xff", "%"} {
		f.Add("X-A"+odd, "b", "a", "10.0.0.1", "/a")
		f.Add("X-A", "b"+odd+"show info", "a", "10.0.0.1", "/a")
		f.Add("X-A", "b", "a"+odd+"b", "10.0.0.1", "/a")
		f.Add("X-A", "b", "a", "10.0.0.1"+odd+"127.0.0.1", "/a")
		f.Add("X-A", "b", "a", "", "/a"+odd+"b")
	}
	fuzz.KeepPipes()
	b := newBed(f, "haproxy", newMemory())
	b.start()
	var victim step
	if err := victim.services([]string{"f/web http=8080 a@198.18.250.50", "v/web http=8080 b@198.18.250.51"}); err != nil {
		f.Fatal(err)
	}
	if err := victim.objects("kind: Route\nmetadata: {namespace: v, name: victim}\nspec: {host: victim.test, to: {kind: Service, name: web}}"); err != nil {
		f.Fatal(err)
	}
	b.apply(victim.change)
	f.Fuzz(func(t *testing.T, header, value, cookie, allow, path string) {
		b.t = t
		k := newCoreOf(t, b)
		ch := change{put: []metav1.Object{valuesRoute(header, value, cookie, allow, path)}}
		refused := b.count("fairlead_router_reload_failures_total") + b.count("fairlead_router_drift_corrections_total") + b.reloads()
		b.apply(ch)
		k.apply(ch)
		if err := holdsEntries(b.readBack(), k.pipeline.Want()); err != nil {
			t.Error(err)
		}
		if st, _ := b.statusOf(parseObject("Route", "f/values")); st.Reason == api.ReasonRefusedByHAProxy {
			t.Errorf("it was HAProxy that refused it: %s", st.Message)
		}
		if n := b.count("fairlead_router_reload_failures_total") + b.count("fairlead_router_drift_corrections_total") + b.reloads(); n != refused {
			t.Errorf("%d reloads and repairs", n-refused)
		}
		b.apply(change{del: []model.Object{parseObject("Route", "f/values")}})
		b.serves(k, []string{"GET http://victim.test/ -> 200 pod=b"})
	})
}

// holdsEntries compares the entries of HAProxy's maps with those wanted. Policies
// of a backend that waits for its end may be left.
func holdsEntries(have, want *plan.State) error {
	for e, v := range want.Entries {
		if got, ok := have.Entries[e]; !ok || got != v {
			return fmt.Errorf("map %s: %q has %q, want %q", e.Map, e.Key, got, v)
		}
	}
	for e, v := range have.Entries {
		if _, wanted := want.Entries[e]; !wanted && (e.Map.Routes() || !strings.HasPrefix(e.Key, "be_http:f:values:")) {
			return fmt.Errorf("map %s: %q has %q, which nothing wants", e.Map, e.Key, v)
		}
	}
	return nil
}
