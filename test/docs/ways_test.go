package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	wayLine = regexp.MustCompile("^\\d+\\. `([a-z0-9_/]+\\.go)` — (.*)$")
	inTicks = regexp.MustCompile("`([A-Za-z]+)`")
)

// TestWays: the four ways through the code in docs/architecture.md name files and
// functions that exist, at most nine files each.
func TestWays(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Four ways through the code")
	section, _, _ = strings.Cut(section, "\n## ")
	files := 0
	for _, way := range strings.Split(section, "(nine files):")[1:] {
		steps := strings.Split(strings.ReplaceAll(way, "\n   ", " "), "\n")
		here := 0
		for _, line := range steps {
			m := wayLine.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			here++
			code, err := os.ReadFile(filepath.Join(root, m[1]))
			if err != nil {
				t.Error(err)
				continue
			}
			functions := inTicks.FindAllStringSubmatch(m[2], -1)
			if len(functions) == 0 {
				t.Errorf("%s: no function is named", m[1])
			}
			for _, f := range functions {
				if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + f[1] + `\(`).Match(code) {
					t.Errorf("%s has no function %s", m[1], f[1])
				}
			}
		}
		if here != 9 {
			t.Errorf("a way has %d files, want nine", here)
		}
		files += here
	}
	if files != 36 {
		t.Errorf("%d files in four ways", files)
	}
}
