package snapshot

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
)

// TestTroubleClean: what is passed on is printable and bounded.
func TestTroubleClean(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for name, c := range map[string]struct {
		in   Trouble
		want Trouble
		good bool
	}{
		"good":         {Trouble{KindIssuer, 0, "https://a/", "no answer", 7}, Trouble{KindIssuer, 0, "https://a/", "no answer", 7}, true},
		"control":      {Trouble{KindKeys, 2, "https://a/\x1b[31m", "a\r\nb\x00\fé", 0}, Trouble{KindKeys, 2, `https://a/\u001b[31m`, `a  b\u0000\u000cé`, 0}, true},
		"long":         {Trouble{KindKeys, 0, long, long, 0}, Trouble{KindKeys, 0, long[:maxAddress-3] + "…", long[:maxCause-3] + "…", 0}, true},
		"unknown kind": {Trouble{"Else", 0, "https://a/", "", 0}, Trouble{"Else", 0, "https://a/", "", 0}, false},
		"no address":   {Trouble{KindKeys, 0, "", "x", 0}, Trouble{KindKeys, 0, "", "x", 0}, false},
		"place":        {Trouble{KindKeys, -1, "a", "x", 0}, Trouble{KindKeys, -1, "a", "x", 0}, false},
		"time":         {Trouble{KindKeys, 0, "a", "x", 1 << 60}, Trouble{KindKeys, 0, "a", "x", 1 << 60}, false},
	} {
		if got, good := c.in.Clean(); got != c.want || good != c.good {
			t.Errorf("%s: %+v, %v", name, got, good)
		}
	}
}

// TestWorst: of two workers the one that refuses counts, or that will refuse first.
func TestWorst(t *testing.T) {
	t.Parallel()
	a := Trouble{KindKeys, 0, "u", "x", 100}
	b := Trouble{KindKeys, 0, "u", "y", 0}
	c := Trouble{KindKeys, 1, "v", "y", 50}
	got := Worst([]Trouble{a, c}, []Trouble{b}, nil)
	if fmt.Sprint(got) != fmt.Sprint([]Trouble{b, c}) {
		t.Errorf("%+v", got)
	}
	var many []Trouble
	for i := range 50 {
		many = append(many, Trouble{KindKeys, i, "u", "x", 0})
	}
	if n := len(Worst(many)); n != MaxTroublesEach {
		t.Errorf("%d of a policy", n)
	}
}

// TestFair: a namespace with very many does not keep out those of others.
func TestFair(t *testing.T) {
	t.Parallel()
	all := Troubles{}
	for i := range 2000 {
		all[fmt.Sprintf("a/%04d", i)] = []Trouble{{KindIssuer, 0, "u", "x", 0}}
	}
	for i := range 100 {
		all[fmt.Sprintf("z/%04d", i)] = []Trouble{{KindIssuer, 0, "u", "x", 0}}
	}
	namespace := func(id string) string { return id[:1] }
	kept := all.Fair(namespace)
	if len(kept) != MaxTroubles || kept["z/0099"] == nil || kept["a/0000"] == nil {
		t.Errorf("%d kept", len(kept))
	}
	if !kept.Equal(all.Fair(namespace)) {
		t.Error("it is not the same each time")
	}
}

// FuzzTrouble: no text gets through that is long or not printable.
func FuzzTrouble(f *testing.F) {
	f.Add("https://a/", "no answer\r\n\x00\x1b[1m")
	f.Add("\xff\xfe\f\t", strings.Repeat("é", 300))
	f.Fuzz(func(t *testing.T, address, cause string) {
		got, _ := Trouble{Kind: KindKeys, Address: address, Cause: cause}.Clean()
		for _, text := range []string{got.Address, got.Cause} {
			if len(text) > maxAddress || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("%q", text)
			}
		}
	})
}
