package bundle

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// TestRedact: objects.yaml has one of each place where a key or password can be, all of
// which have the word HUSH; redacted.yaml is what is shown of them.
func TestRedact(t *testing.T) {
	t.Parallel()
	given, err := os.ReadFile("testdata/objects.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for text := range strings.SplitSeq(string(given), "\n---\n") {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		clean, err := yaml.Marshal(Redact(o))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(clean))
	}
	got := strings.Join(out, "---\n")
	const file = "testdata/redacted.yaml"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if strings.Contains(got, "HUSH") {
		t.Error("a key or password is shown")
	}
}

// TestText has the forms that logs, events and conditions have passwords in, and what must
// stay.
func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"route web/shop: no endpoints":                                             "route web/shop: no endpoints",
		"secret web/shop-tls was not found":                                        "secret web/shop-tls was not found",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----":             "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"a -----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY----- b": "a -----BEGIN RSA PRIVATE KEY-----(left out)-----END RSA PRIVATE KEY----- b",
		"-----BEGIN PRIVATE KEY-----\\nMIIB":                                       "-----BEGIN PRIVATE KEY-----(left out)",
		"get https://user:pass@auth.example.com/x: refused":                        "get https://(left out)auth.example.com/x: refused",
		"Authorization: Basic dXNlcjpwYXNz\nnext":                                  "Authorization: (left out)\nnext",
		`{"authorization":"Bearer abc.def"} x`:                                     `{"authorization":(left out)} x`,
		"sent Bearer abcdefgh to it":                                               "sent Bearer (left out) to it",
		"GET /a?token=abc&b=1":                                                     "GET /a?token=(left out)&b=1",
		`password="a \" b" c`:                                                      "password=(left out) c",
		`"client_secret": "x y", "id": 1`:                                          `"client_secret": (left out), "id": 1`,
		"a\npassword:\n\n  hush\nb\nc":                                             "a\npassword:\n\n  (left out)\nb\nc",
		"cookie: a=b; c=d\nz":                                                      "cookie: (left out)\nz",
		"id eyJhbGciOi.eyJzdWIi.c2ln.":                                             "id (left out).",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestTextIsQuick: a log of a megabyte takes no seconds.
func TestTextIsQuick(t *testing.T) {
	t.Parallel()
	line := "2026-12-01T12:00:00Z router reconciled route web/shop of IngressController default at https://www.example.com/ in 3 ms\n"
	start := time.Now()
	text := strings.Repeat(line, 1<<20/len(line))
	if Text(text) != text {
		t.Error("a plain log is changed")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("1 MiB took %s", took)
	}
}

// FuzzRedact: whatever surrounds a key or password in a place for one, it is not shown.
func FuzzRedact(f *testing.F) {
	for _, seed := range []string{"", "a b", "x\n\t\r\x00\f\"'y", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "password: ", "://", "@", "\xff{}[]", "\u2028é", `\"`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		const hush = "HUSHhush0123456789"
		if strings.Contains(before+after, "HUSH") {
			return
		}
		around := before + hush + after
		lines := strings.ReplaceAll(before, "-----END", "") + hush + "\n" // a key ends where it ends
		objects := []map[string]any{
			{"kind": "Route", "spec": map[string]any{"tls": map[string]any{"key": around, "certificate": before + "-----BEGIN EC PRIVATE KEY-----\n" + lines + "-----END EC PRIVATE KEY-----\n" + after}}},
			{"kind": "Route", "metadata": map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": around, "example.com/" + before: around, "nginx.ingress.kubernetes.io/configuration-snippet": around}}},
			{"kind": "BGPPeer", "spec": map[string]any{"password": around}},
			{"kind": "RoutePolicy", "spec": map[string]any{"headers": map[string]any{"request": map[string]any{"set": []any{map[string]any{"name": before, "value": around}}}}}},
			{"kind": "Pod", "spec": map[string]any{"containers": []any{map[string]any{"env": []any{map[string]any{"name": "TOKEN_" + before, "value": around}}}}}},
			{"kind": "Secret", "data": map[string]any{before: around}, "stringData": map[string]any{"x": around}},
			{"status": map[string]any{"message": before + " https://u" + hush + ":" + hush + "@example.com/" + after}},
			{"status": map[string]any{"message": before + "\nAuthorization: Basic " + hush + "\n" + after}},
			{"status": map[string]any{"message": before + " password=" + hush + " " + after}},
		}
		for _, o := range objects {
			text, err := json.Marshal(Redact(o))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), hush) {
				t.Errorf("%s", text)
			}
		}
		if got := Text(before + "\npassword:\n\t" + hush + "\n" + after); strings.Contains(got, hush) {
			t.Errorf("%q", got)
		}
		if got := Text(before + "\n-----BEGIN PRIVATE KEY-----\n" + lines + after); strings.Contains(got, hush) {
			t.Errorf("%q", got)
		}
	})
}

// FuzzPath: whatever objects are called, their files stay in the folder.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"", ".", "..", "../../etc/passwd", "/etc/passwd", `..\x`, "a\x1b[2Jb", "a\nb\r\t\x00\f", "\u202e", strings.Repeat("x", 300), "C:", "~root", "-rf"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := Path("objects", a, b)
		if !filepath.IsLocal(got) || strings.Count(got, "/") != 2 || len(got) > 2*nameLength+10 || filepath.Clean(got) != got {
			t.Errorf("%q", got)
		}
		for _, c := range []byte(got) {
			if c <= ' ' || c >= 0x7f || strings.IndexByte(`\:*?"<>|~`, c) >= 0 {
				t.Errorf("%q", got)
			}
		}
		if a != b && Path(a) == Path(b) {
			t.Errorf("%q and %q share %q", a, b, got)
		}
	})
}
