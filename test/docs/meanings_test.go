package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMeanings: the words that docs/architecture.md explains are words of the code.
func TestMeanings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Words")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || !strings.HasSuffix(cells[2], "` |") {
			continue
		}
		rows++
		name := strings.Trim(cells[2], "` |")
		if strings.Contains(name, "/") {
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Error(err)
			}
			continue
		}
		folder, identifier, _ := strings.Cut(name, ".")
		if !declares(t, folder, identifier) {
			t.Errorf("no package %s declares %s", folder, identifier)
		}
	}
	if rows < 8 {
		t.Errorf("%d words; has the table moved?", rows)
	}
}

// declares reports whether a package of the router, the operator or the API declares a name.
func declares(t *testing.T, folder, identifier string) bool {
	t.Helper()
	declaration := regexp.MustCompile(`(?m)^(?:type|func) ` + identifier + `\b`)
	for _, parent := range []string{"router", "operator", "api"} {
		files, err := filepath.Glob(filepath.Join(root, parent, folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if declaration.Match(code) {
				return true
			}
		}
	}
	return false
}
