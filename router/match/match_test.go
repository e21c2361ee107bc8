package match_test

import (
	"maps"
	"testing"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	rules := func(paths ...string) []match.Rule {
		var out []match.Rule
		for _, p := range paths {
			r := match.Rule{Path: p, Value: p}
			if p[0] == '=' {
				r = match.Rule{Path: p[1:], Exact: true, Value: p}
			}
			if p == "(empty)" {
				r.Path = ""
			}
			out = append(out, r)
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		rules []match.Rule
		want  map[string]string // request path → rule, "" for no match
	}{
		{"root", rules("/"), map[string]string{"/": "/", "/x": "/", "": "/", "//": "/"}},
		{"older of two roots", rules("(empty)", "/"), map[string]string{"/x": "(empty)"}},
		{"segments", rules("/foo"), map[string]string{"/foo": "/foo", "/foo/": "/foo", "/foo/x": "/foo", "/foobar": "", "/fo": "", "/": ""}},
		{"longest", rules("/", "/a", "/a/b"), map[string]string{"/a/b/c": "/a/b", "/a/bc": "/a", "/ab": "/"}},
		{"slash only", rules("/foo/"), map[string]string{"/foo": "", "/foo/": "/foo/", "/foo/x": "/foo/"}},
		{"slash and root", rules("/", "/foo/"), map[string]string{"/foo": "/", "/foo/": "/foo/", "/foobar": "/"}},
		{"slash and plain", rules("/foo", "/foo/"), map[string]string{"/foo": "/foo", "/foo/": "/foo/", "/foo/x": "/foo/"}},
		{"exact", rules("/", "=/foo"), map[string]string{"/foo": "=/foo", "/foo/": "/", "/foo/x": "/"}},
		{"exact with prefix", rules("/foo", "=/foo"), map[string]string{"/foo": "=/foo", "/foo/": "/foo"}},
		{"exact root", rules("/", "=/"), map[string]string{"/": "=/", "/x": "/"}},
		{"exact and slash", rules("=/foo", "/foo/"), map[string]string{"/foo": "=/foo", "/foo/": "/foo/"}},
		{"exact with slash", rules("=/foo/", "/"), map[string]string{"/foo/": "=/foo/", "/foo": "/"}},
		{"raw compare", rules("/foo"), map[string]string{"/%66oo": "", "//foo": "", "/x/../foo": "", "/foo;p=1": ""}},
		{"bytes below slash", rules("/foo/", "/foo/!x"), map[string]string{"/foo/!x/y": "/foo/!x", "/foo/y": "/foo/"}},
	} {
		table := match.NewTable("h.test", tt.rules)
		for path, want := range tt.want {
			if got := table.Request("H.test.:8080", path); got != want {
				t.Errorf("%s: %q goes to %q, want %q; table %v", tt.name, path, got, want, table)
			}
		}
	}
}

func TestRequestWildcard(t *testing.T) {
	t.Parallel()
	table := match.NewTable("a.x.test", []match.Rule{{Path: "/foo/", Value: "exact"}})
	maps.Copy(table, match.NewTable("*.x.test", []match.Rule{{Value: "wild"}}))
	for request, want := range map[[2]string]string{
		{"a.x.test", "/foo/"}: "exact",
		{"a.x.test", "/foo"}:  "wild", // the shield says miss, so the search goes on
		{"b.x.test", "/"}:     "wild",
		{"x.test", "/"}:       "",
		{"a.b.x.test", "/"}:   "",
	} {
		if got := table.Request(request[0], request[1]); got != want {
			t.Errorf("%v goes to %q, want %q", request, got, want)
		}
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"H.TEST": "h.test", "h.test:80": "h.test", "h.test.": "h.test", "h.test.:80": "h.test", "[::1]:80": "[::1]", "[::1]": "[::1]",
	} {
		if got := match.Host(in); got != want {
			t.Errorf("Host(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestScopedWithoutHost: a request or connection to a Gateway that names no host is one for the
// listener for all hosts, whatever else is known of its port.
func TestScopedWithoutHost(t *testing.T) {
	t.Parallel()
	scope := model.NewScope(model.Object{Kind: "Gateway", Namespace: "a", Name: "g"}, "any")
	tables := &match.Tables{
		Listeners: match.Table{match.ListenerKey(20000, ""): "80", match.ListenerKey(20000, match.Any): scope.Prefix()},
		HTTP:      match.Table{model.ScopedHost(scope, match.Any) + "/": "be"},
	}
	if d := match.Decide(tables, match.Request{Slot: 20000, Path: "/"}); d.Scope != scope || d.Value != "be" {
		t.Errorf("%+v", d)
	}
}
