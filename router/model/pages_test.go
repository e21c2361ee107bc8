package model

import (
	"encoding/base64"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// TestPageKeys: the longest beginning of a status that is a key leads to the page of that
// status, as HAProxy looks it up, and whole classes take one key.
func TestPageKeys(t *testing.T) {
	t.Parallel()
	g := rand.New(rand.NewPCG(1, 2))
	some := []PageUse{
		{Page: NewPage("a"), Type: "text/html"}, {Page: NewPage("b"), Type: "text/html"}, {Page: NewPage("a"), Type: "text/plain"},
	}
	for range 200 {
		p := &Pages{Router: map[int]PageUse{}, Pod: map[int]PageUse{}}
		for range g.IntN(6) {
			first := 400 + g.IntN(200)
			last := min(first+g.IntN(1+[]int{0, 9, 150}[g.IntN(3)]), 599)
			for status := first; status <= last; status++ {
				p.Pod[status] = some[g.IntN(len(some))%(1+g.IntN(2))]
			}
		}
		if g.IntN(2) == 0 {
			for status := 500; status <= 599; status++ {
				p.Router[status] = some[1]
			}
		}
		keys := p.Keys()
		for from, uses := range map[string]map[int]PageUse{"r": p.Router, "p": p.Pod} {
			for status := 100; status <= 999; status++ {
				var got PageUse
				for n, text := 1, from+strconv.Itoa(status); n <= len(text); n++ {
					if u, ok := keys[text[:n]]; ok {
						got = u
					}
				}
				if got != uses[status] {
					t.Fatalf("%s%d leads to %+v, want %+v, of %v", from, status, got, uses[status], keys)
				}
			}
		}
		if len(p.Router) == 100 && keys["r5"] != some[1] {
			t.Fatalf("a whole class takes %v", keys)
		}
	}
}

// TestPageParts: both parts together are the text, and each fits into a line of a map.
func TestPageParts(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7999, 8000, 8001, MaxPage} {
		text := strings.Repeat("é\n", n)[:n]
		first, second := NewPage(text).Parts()
		got := ""
		for _, part := range []string{first, second} {
			if part == "" || len(part) > 11<<10 {
				t.Errorf("%d bytes: a part of %d", n, len(part))
			}
			if bytes, err := base64.StdEncoding.DecodeString(part); err == nil {
				got += string(bytes)
			}
		}
		if got != text {
			t.Errorf("%d bytes are %d together", n, len(got))
		}
	}
	var none *Pages
	if len(none.Keys())+len(none.All()) > 0 || none.Shown() {
		t.Error("no pages show something")
	}
	if unused := (&Pages{Unused: true, Pod: map[int]PageUse{404: {Page: NewPage("a")}}}); len(unused.Keys())+len(unused.All()) > 0 || unused.Shown() {
		t.Error("unused pages are shown")
	}
}
