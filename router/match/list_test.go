package match

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/regex"
)

// naive decides by looking at each rule: which of them are for the path, and which of
// these is asked first.
func naive(rules []Rule, path, method string) string {
	var fit []int
	for i := range rules {
		r := &rules[i]
		takes := false
		switch {
		case r.Conditions != nil && r.Conditions.Method != "" && r.Conditions.Method != method:
		case r.open():
			takes = regex.Match(r.Conditions.Path.Pattern, path) != nil
		case r.Exact:
			takes = path == r.Path
		case r.root():
			takes = true
		case r.slashed():
			takes = strings.HasPrefix(path, r.Path)
		default:
			takes = path == r.Path || strings.HasPrefix(path, r.Path+"/")
		}
		if takes {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	kind := func(r *Rule) int {
		switch {
		case r.open():
			return 0
		case r.slashed():
			return 1
		}
		return 2
	}
	first := slices.MinFunc(fit, func(a, b int) int {
		x, y := &rules[a], &rules[b]
		return cmp.Or(cmp.Compare(len(key("", *y)), len(key("", *x))), cmp.Compare(kind(x), kind(y)), cmp.Compare(a, b))
	})
	return rules[first].Value
}

// TestLists: a table with lists decides as looking at each rule does, as paths are written
// and normalised, and what it holds can be read.
func TestLists(t *testing.T) {
	t.Parallel()
	paths := []string{"/", "/foo", "/foo/", "/foo/bar", "/foob", "/f", "/foo/b", "/foo/b/", "/x"}
	var expressions []*model.PathExpression
	for _, text := range []string{"/foo/?$", "/foo/b", "/f.*r", "/foo(/|$)", "/(foo|x)", "/foo/b(/|$)", `/\.[a-z]+`, `/foo/\.\.?b`} {
		m, err := regex.ParseMatcher(text, false)
		if err != nil {
			t.Fatal(err)
		}
		expressions = append(expressions, &model.PathExpression{Written: m.Beginning, Pattern: m.Pattern, Longest: m.Longest})
	}
	const seed = 5
	dice := rand.New(rand.NewPCG(seed, seed))
	lists := 0
	for range 5000 {
		rules := make([]Rule, 1+dice.IntN(6))
		for i := range rules {
			rules[i] = Rule{Path: paths[dice.IntN(len(paths))], Exact: dice.IntN(4) == 0, Value: fmt.Sprint("v", i)}
			switch dice.IntN(4) {
			case 0:
				rules[i].Conditions = &model.Conditions{Method: "GET"}
			case 1:
				e := expressions[dice.IntN(len(expressions))]
				rules[i].Path, rules[i].Exact, rules[i].Conditions = e.Written, false, &model.Conditions{Path: e}
			}
		}
		plain, guarded := NewTable("h", rules), NewTable("h", rules)
		guarded.Guard("h", rules)
		for _, v := range guarded {
			if l, ok := ParseList(v); ok {
				lists++
				if l.String() != v || MapValue(v, func(s string) string { return s }) != v || len(Values(v)) != len(l.Entries) {
					t.Fatalf("%q is read as %v", v, l)
				}
			}
		}
		for _, path := range append(paths, "/foo/bar/x", "/foox/b", "/foo/bx", "/.env", "/foo/..b", "/foo/.b/x") {
			for _, method := range []string{"GET", "PUT"} {
				for name, table := range map[string]Table{"plain": plain, "guarded": guarded} {
					want := naive(rules, path, method)
					if got, _ := table.Look(table, "h", path, &Asked{Method: method}); got != want && (got != Refuse || want != "") {
						t.Fatalf("%s: %s %s leads to %q, want %q; %+v %v", name, method, path, got, want, rules, table)
					}
				}
			}
		}
	}
	t.Logf("%d lists", lists)
}

// FuzzParseList: whatever stands in a map, it is read or not, and what is read means the
// same when it is written again.
func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"?e4;me::474554>2:ab>1:c", "?e4;hr:61:5c41:2+qr:62:5c41:x>2:ab", "?w9;>0:", "?", "?e;", "?e1;x", "?a1;>99999999999999999999:x", "?e1;pr:1:5c>1:", "?e-1;>1:a", "?e01;>1:a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, ok := ParseList(text)
		if ok && l.String() != text {
			t.Errorf("%q became %q", text, l.String())
		}
		table := Table{"h/": text}
		table.Request("h", "/a")
	})
}
