package match

import (
	"fmt"
	"testing"
)

// TestPlain: the quick look at a path never takes one for plain that the
// expression or the decoding would change.
func TestPlain(t *testing.T) {
	t.Parallel()
	const letters = "/.;%\\a2f"
	var walk func(path string, left int)
	walk = func(path string, left int) {
		if plain(path) && (ambiguous.MatchString(path) || parameters.MatchString(path)) {
			t.Errorf("%q is not plain", path)
		}
		if left == 0 {
			return
		}
		for _, c := range letters {
			walk(path+string(c), left-1)
		}
	}
	walk("", 5)
}

// TestManyPaths: a table of thousands of paths that end in a slash is made in one
// pass. Each of them once asked for a table of all others, which did the same.
func TestManyPaths(t *testing.T) {
	t.Parallel()
	const paths = 3000
	rules := []Rule{{Path: "/p7", Value: "seven"}, {Path: "/p8", Value: "eight", Exact: true}, {Path: "/p9", Value: "nine"}, {Path: "/p9", Value: "never"}}
	for i := range paths {
		rules = append(rules, Rule{Path: fmt.Sprintf("/p%d/", i), Value: fmt.Sprint(i)}, Rule{Path: fmt.Sprintf("/p%d/x/", i), Value: fmt.Sprint(i, "-x")})
	}
	table := NewTable("h", rules)
	for path, want := range map[string]string{
		"/p7": "seven", "/p7/": "7", "/p7/a": "7", "/p7/x": "7", "/p7/x/": "7-x", "/p8": "eight", "/p8/": "8", "/p9": "nine", "/p2999/x/y": "2999-x",
		"/p10": "", "/p10/": "10", "/p3000/": "", "/": "",
	} {
		if got := table.Request("h", path); got != want {
			t.Errorf("%s: %q instead of %q", path, got, want)
		}
	}
}
