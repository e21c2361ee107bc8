package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityNamesTests: every test and case that docs/security.md calls a proof
// is there.
func TestSecurityNamesTests(t *testing.T) {
	t.Parallel()
	functions := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	there := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root:
			return filepath.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			there[strings.TrimSuffix(entry.Name(), ".txtar")] = true
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range functions.FindAllStringSubmatch(string(text), -1) {
				there[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docs/security.md", "docs/security-processes.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		proofs := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(string(text), -1)
		if name == "docs/security.md" {
			// Cases of HAProxy have names like hostile-newline.
			proofs = append(proofs, regexp.MustCompile("`((?:hostile|ownership|fallback|path|headers|certificate|health)-[a-z-]+)`").FindAllStringSubmatch(string(text), -1)...)
		}
		if len(proofs) < 2 {
			t.Errorf("%s names %d tests; has their form changed?", name, len(proofs))
		}
		for _, proof := range proofs {
			if !there[proof[1]] {
				t.Errorf("%s names %s, which is not there", name, proof[1])
			}
		}
	}
}
