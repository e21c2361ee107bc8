package match

import (
	"net/url"
	"path"
	"strings"
	"testing"
)

func TestNormal(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/": "/", "/a/b": "/a/b", "/a/": "/a/", "/%61%44": "/aD", "/a;v=1/b;": "/a/b", "/a/;v=1": "/a/", "/a%25": "/a%", "/%e2%82%ac": "/\u20ac",
		"/...": "/...", "/.a/b.": "/.a/b.", "/%2ea": "/.a", "/a+b": "/a+b", "": "",
	} {
		if got, ok := Normal(path); !ok || got != want {
			t.Errorf("%s: %q, %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{
		"//", "/a//b", "/.", "/..", "/./a", "/a/..", "/a/../b", "/%2e/a", "/%2E%2e", "/.%2e/a", "/a/..;/b", "/a/.;x", "/;/a", "/;x/a", "/;..", "/;%2e%2e/a",
		"/%2f", "/%2F", "/%5c", "\\", "/a\\b", "/%3b", "/%00", "/%0a", "/%1F", "/%7f", "/%c0%af", "/%2561", "/%25%36", "/%", "/%6", "/%zz", "/%6g", "/%u0061",
	} {
		if got, ok := Normal(path); ok {
			t.Errorf("%s: not ambiguous: %q", path, got)
		}
	}
}

// FuzzNormal compares with what programs do to a path: decode it once or twice,
// take parameters away before or after, clean it or not. Where these differ, the
// path is ambiguous.
func FuzzNormal(f *testing.F) {
	for _, seed := range []string{
		"/admin", "//admin", "/./admin", "/x/../admin", "/%61dmin", "/%2fadmin", "/admin;x=1", "/a;b/..;c/d", "/%252e%252e/a", "/a%5c..%5cb", "/%c0%ae%c0%ae/",
		"/a\nb", "/a\tb", "/a\rb", "/a\x00b", "/a\fb", "/%0a%0d%00", "/;/;/", "/%", "/%4", "/a%3b/b", "/%E2%82%AC", "/a%25b", "/%25%34%31",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !strings.HasPrefix(raw, "/") {
			return
		}
		got, ok := Normal(raw)
		if !ok {
			return
		}
		strip := func(p string) string {
			segments := strings.Split(p, "/")
			for i, s := range segments {
				segments[i], _, _ = strings.Cut(s, ";")
			}
			return strings.Join(segments, "/")
		}
		decoded, err := url.PathUnescape(strip(raw))
		if err != nil {
			t.Fatalf("%q: cannot be decoded: %v", raw, err)
		}
		late, err := url.PathUnescape(raw)
		if err != nil {
			t.Fatal(err)
		}
		clean := func(p string) string {
			if c := path.Clean(p); c != "/" && strings.HasSuffix(p, "/") {
				return c + "/"
			}
			return path.Clean(p)
		}
		for how, p := range map[string]string{
			"parameters first": decoded, "parameters last": strip(late), "cleaned": clean(decoded), "cleaned before": mustDecode(t, clean(strip(raw))),
			"backslashes": strings.ReplaceAll(decoded, "\\", "/"),
		} {
			if p != got {
				t.Errorf("%q: %s it is %q, not %q", raw, how, p, got)
			}
		}
	})
}

func mustDecode(t *testing.T, p string) string {
	t.Helper()
	d, err := url.PathUnescape(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// FuzzGuard: whatever a path is, on a guarded host it leads where its normal form
// leads, or nowhere.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"/admin", "/%61dmin/x", "/admin;x", "//admin", "/adm%69n;a/b", "/admin/", "/open", "/caf%c3%a9", "/caf\xc3\xa9/x", "/\n", "/\t", "/\r", "/\x00", "/\f", "/x%2"} {
		f.Add(seed)
	}
	rules := []Rule{{Path: "/", Value: "open"}, {Path: "/admin", Value: "closed"}, {Path: "/admin/login", Exact: true, Value: "login"}, {Path: "/caf%C3%A9", Value: "caf"}}
	table := NewTable("h", rules)
	table.Guard("h", rules)
	plain := NewTable("h", []Rule{rules[0], rules[1], rules[2], {Path: "/caf\u00e9", Value: "caf"}})
	f.Fuzz(func(t *testing.T, path string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "#?") {
			return
		}
		got, want := table.Request("h", path), BadPath
		if normal, ok := Normal(path); ok {
			want = plain.lookup("h" + strings.ReplaceAll(normal, "#", "+") + end)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	})
}

// TestGuardExactRoot: a rule for the path "/" alone answers on a guarded host as
// on any other.
func TestGuardExactRoot(t *testing.T) {
	t.Parallel()
	rules := []Rule{{Path: "/", Exact: true, Value: "root"}, {Path: "/admin", Value: "admin"}}
	table := NewTable("h", rules)
	table.Guard("h", rules)
	for path, want := range map[string]string{"/": "root", "/admin": "admin", "/x": ""} {
		if got := table.Request("h", path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}
