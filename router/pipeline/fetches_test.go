package pipeline

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// TestFetches: each page is asked for once, however many routes show it; the oldest routes of a
// namespace may ask; what no route asks for is forgotten.
func TestFetches(t *testing.T) {
	t.Parallel()
	p := New(nil, nil, door.Settings{NamespaceFetches: 3}, &model.Certificate{ID: "default:default:1", PEM: "x"})
	service := model.Object{Kind: door.KindPageFetch, Namespace: "a", Name: "errors:"}
	set := func(name string, age int64, codes ...int) {
		v := &routev1.Route{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(age, 0))}}
		var asked []model.PageFetch
		if len(codes) > 0 {
			asked = []model.PageFetch{{Key: service, Host: "errors.a.svc", Codes: codes, Addresses: []netip.AddrPort{netip.MustParseAddrPort("198.18.0.1:80")}}}
		}
		key := model.Object{Kind: "Route", Namespace: "a", Name: name}
		p.shares.set(key, v, &door.Result{Fetches: asked})
		p.fetches.set(key, asked)
	}
	asks := func(want string, refused ...string) {
		t.Helper()
		p.settleShares(false, func(model.Objects) {})
		var got []string
		all, changed := p.Fetches()
		for _, f := range all {
			got = append(got, fmt.Sprint(f.Key.Name, f.Host, f.Codes, f.Addresses))
		}
		if strings.Join(got, " ") != want || !changed {
			t.Errorf("asks for %v (changed: %v), want %s", got, changed, want)
		}
		var closed []string
		for _, n := range p.shares.fetches.namespaces {
			for o := range n.refused {
				closed = append(closed, o.Name)
			}
		}
		if slices.Sort(closed); !slices.Equal(closed, refused) {
			t.Errorf("refused %v, want %v", closed, refused)
		}
	}
	set("one", 1, 404)
	set("two", 2, 404, 503)
	asks("errors:errors.a.svc[404 503] [198.18.0.1:80]")
	set("three", 3, 500)
	asks("errors:errors.a.svc[404 503] [198.18.0.1:80]", "three")
	if _, changed := p.Fetches(); changed {
		t.Error("nothing changed, and it says so")
	}
	results := []FetchResult{{service, &policy.ServicePages{Unfit: map[int]string{404: "no"}}}, {model.Object{Kind: door.KindPageFetch, Name: "gone"}, &policy.ServicePages{}}}
	if ch := p.TakeFetches(results); len(ch.Objects) != 1 || len(p.TakeFetches(results).Objects) != 0 {
		t.Errorf("%v changed, or it is said twice", ch.Objects)
	}
	set("two", 2)
	asks("errors:errors.a.svc[404 500] [198.18.0.1:80]")
	set("one", 1)
	set("three", 3)
	asks("")
	if f := p.fetches; len(f.asking)+len(f.by)+len(f.answered) > 0 {
		t.Errorf("something stays of nothing: %v", f)
	}
}
