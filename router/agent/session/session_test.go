package session_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/session"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, session.KeySize) }

func keys(t testing.TB, list ...session.Key) session.Keys {
	t.Helper()
	k, err := session.NewKeys(list)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestSeal: only the same key and the same parts read a cookie, and no changed one.
func TestSeal(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	a, b := session.Key{Made: now.Add(-time.Hour), Secret: secret(1)}, session.Key{Made: now.Add(-time.Minute), Secret: secret(2)}
	k := keys(t, a)
	sealed, err := k.Seal(now, []byte("alice"), "session", "shop.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := k.Open(sealed, "session", "shop.example.com"); !ok || string(text) != "alice" {
		t.Fatalf("%q %v", text, ok)
	}
	for _, parts := range [][]string{{"session", "other.example.com"}, {"login", "shop.example.com"}, {"sessions", "hop.example.com"}, {"session"}, {}} {
		if _, ok := k.Open(sealed, parts...); ok {
			t.Errorf("it opens for %q", parts)
		}
	}
	for i := range len(sealed) {
		changed := []byte(sealed)
		if changed[i]++; string(changed) == sealed {
			continue
		}
		if _, ok := k.Open(string(changed), "session", "shop.example.com"); ok {
			t.Errorf("it opens with byte %d changed", i)
		}
	}
	if _, ok := keys(t, session.Key{Made: a.Made, Secret: secret(3)}).Open(sealed, "session", "shop.example.com"); ok {
		t.Error("it opens with another key")
	}
	again, _ := k.Seal(now, []byte("alice"), "session", "shop.example.com")
	if again == sealed {
		t.Error("the same text twice is the same cookie")
	}
	// A new key is read at once, and written by when all routers have it.
	both := keys(t, b, a)
	young, _ := both.Seal(now, []byte("x"))
	if _, ok := k.Open(young); !ok {
		t.Error("a key that other routers may not have yet is used")
	}
	later, _ := both.Seal(now.Add(10*time.Minute), []byte("x"))
	if _, ok := k.Open(later); ok {
		t.Error("the new key is never used")
	}
	if _, ok := both.Open(sealed, "session", "shop.example.com"); !ok {
		t.Error("the old key is not accepted")
	}
}

// TestNoKeys: without keys nothing is written, and nothing read.
func TestNoKeys(t *testing.T) {
	t.Parallel()
	var none session.Keys
	if s, err := none.Seal(time.Unix(0, 0), []byte("x")); err == nil {
		t.Errorf("sealed %q", s)
	}
	if _, ok := none.Open(strings.Repeat("A", 100)); ok {
		t.Error("opened")
	}
	for _, bad := range [][]session.Key{{{Secret: secret(1)[:31]}}, {{}}, {{Secret: secret(1)}, {Secret: secret(2)}, {Secret: secret(3)}, {Secret: secret(4)}, {Secret: secret(5)}}} {
		if k, err := session.NewKeys(bad); err == nil || k.Usable() {
			t.Errorf("%d keys are taken", len(bad))
		}
	}
}

// TestChunks: a text of each length comes back, and one of mixed chunks does not pass for
// a whole one.
func TestChunks(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3499, 3500, 3501, 7000, 14000} {
		text := strings.Repeat("x", n-1) + "y"
		chunks, ok := session.Split("n", text)
		if !ok {
			t.Fatalf("%d bytes are too long", n)
		}
		jar := map[string]string{}
		for _, c := range chunks {
			jar[c.Name] = c.Value
		}
		get := func(name string) (string, bool) { v, ok := jar[name]; return v, ok }
		if got, ok := session.Join("n", get); !ok || got != text {
			t.Errorf("%d bytes come back as %d", n, len(got))
		}
		if delete(jar, chunks[len(chunks)-1].Name); true {
			if _, ok := session.Join("n", get); ok {
				t.Errorf("%d bytes: the last cookie is not missed", n)
			}
		}
	}
	for _, text := range []string{"", strings.Repeat("x", 14001)} {
		if _, ok := session.Split("n", text); ok {
			t.Errorf("%d bytes are split", len(text))
		}
	}
}

// FuzzCookies: no text of a client opens, whatever its cookies are.
func FuzzCookies(f *testing.F) {
	k := keys(f, session.Key{Secret: secret(1)})
	good, _ := k.Seal(time.Unix(0, 0), []byte("alice"), "session")
	for _, s := range []string{"", "1.", "1." + good, "2." + good[:20], "4.x", "5.x", "0.", "\n", "\t", "\r", "\x00", "\f", "1.\x00" + good} {
		f.Add(s, good)
	}
	f.Fuzz(func(t *testing.T, first, other string) {
		text, ok := session.Join("n", func(name string) (string, bool) {
			if name == "n" {
				return first, true
			}
			return other, true
		})
		if !ok {
			return
		}
		if len(text) > session.MaxText {
			t.Errorf("%d bytes", len(text))
		}
		if opened, ok := k.Open(text, "session"); ok && string(opened) != "alice" {
			t.Errorf("%q opens", opened)
		}
		if _, ok := k.Open(text, "login"); ok {
			t.Error("it opens for something else")
		}
	})
}
