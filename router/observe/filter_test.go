package observe

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/model"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	whole := &Filter{
		Targets: []Target{{Kind: "Route", Namespace: "web", Name: "cart"}, {Namespace: "web"}},
		Host:    "www.example.com", Method: "POST", Pod: "cart-b", Path: "/cart", Status: "5xx", Slow: time.Second, Client: netip.MustParsePrefix("203.0.113.0/24"),
	}
	read, err := ParseFilter(whole.Query())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole, read, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
		t.Errorf("-written +read:\n%s", d)
	}
	r, ok := Parse([]byte(line))
	if !ok || !read.Takes(&r) {
		t.Errorf("%t: the record is not taken: %+v", ok, r)
	}
	for query, taken := range map[string]bool{
		"": true, "route=web/cart": true, "route=route/web/cart": true, "route=httproute/web/cart": false, "route=web/car": false, "route=web/x&namespace=web": true, "namespace=we": false,
		"host=WWW.example.com": true, "host=example.com": false, "method=post": true, "method=GET": false, "path=/ca": true, "path=cart": false,
		"status=504": true, "status=503": false, "status=4xx": false, "slow=30s": true, "slow=31s": false, "pod=cart-b": true, "pod=cart": false,
		"client=203.0.113.9": true, "client=203.0.113.0/24": true, "client=::1": false, "client=203.0.113.8": false,
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseFilter(q)
		if err != nil || f.Takes(&r) != taken {
			t.Errorf("%s: %v, taken must be %t", query, err, taken)
		}
	}
	for _, bad := range []string{
		"rout=web/cart", "route=cart", "route=web/", "route=pod/web/x", "route=web/a%20b", "route=web/a%0Ab", "namespace=", "namespace=A", "status=6xx", "status=5x", "status=abc",
		"slow=1", "slow=-1s", "client=x", "client=fe80::1%25eth0", "route=" + strings.Repeat("web/a&route=", MaxTargets) + "web/a",
	} {
		q, err := url.ParseQuery(bad)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := ParseFilter(q); err == nil {
			t.Errorf("%s is read as %+v", bad, f)
		}
	}
}

// TestKeys: keys begin the names of exactly the backends of their object.
func TestKeys(t *testing.T) {
	t.Parallel()
	backend := func(kind model.BackendKind, owner model.Kind, namespace, name, rule string) string {
		return (&model.Backend{Kind: kind, Owner: model.Object{Kind: owner, Namespace: namespace, Name: name}, Rule: rule}).Name()
	}
	names := map[string]Target{
		backend(model.KindHTTP, "Route", "web", "cart", ""):                                {"Route", "web", "cart"},
		backend(model.KindEdge, "Route", "web", "cart", ""):                                {"Route", "web", "cart"},
		backend(model.KindSecure, "Route", "web", "cart", model.BranchRule("", "next")):    {"Route", "web", "cart"},
		backend(model.KindTCP, "Route", "web", "cart", ""):                                 {"Route", "web", "cart"},
		backend(model.KindEdge, "Route", "web", "cart-2", ""):                              {"Route", "web", "cart-2"},
		backend(model.KindEdge, "Route", "web-2", "cart", ""):                              {"Route", "web-2", "cart"},
		backend(model.KindHTTP, "HTTPRoute", "web", "cart", "0"):                           {"HTTPRoute", "web", "cart"},
		backend(model.KindHTTP, "HTTPRoute", "web", "cart", model.BranchRule("0", "next")): {"HTTPRoute", "web", "cart"},
		backend(model.KindTCP, "TCPRoute", "web", "cart", ""):                              {"TCPRoute", "web", "cart"},
	}
	begins := func(target Target, value string) bool {
		for _, key := range target.Keys() {
			if strings.HasPrefix(value, key) {
				return true
			}
		}
		return false
	}
	for name, owner := range names {
		if kind, namespace, route := ownerOf(name + "|a|"); (Target{kind, namespace, route}) != owner {
			t.Errorf("%s is of %s %s/%s", name, kind, namespace, route)
		}
		for _, target := range []Target{{}, {Namespace: "web"}, {"Route", "web", "cart"}, {"HTTPRoute", "web", "cart"}, {"TCPRoute", "web", "cart"}, {"Route", "web-2", "cart"}} {
			want := target.Namespace == "" || target.Namespace == owner.Namespace && (target.Name == "" || target == owner)
			if begins(target, name+"|a|") != want {
				t.Errorf("%s observes %s: must be %t", target, name, want)
			}
		}
	}
	if !begins(Target{}, "!302") || begins(Target{Namespace: "web"}, "!302") {
		t.Error("redirects to https belong to everything, and to no namespace")
	}
}
