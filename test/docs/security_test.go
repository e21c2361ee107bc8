package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityNamesTests: every test and case that docs/security.md calls a proof is
// there, in the folder that is named before it.
func TestSecurityNamesTests(t *testing.T) {
	t.Parallel()
	there := testsByFolder(t)
	for _, name := range []string{"docs/security.md", "docs/security-processes.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		proofs := 0
		for line := range strings.Lines(string(text)) {
			folder := ""
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
				proof, _, _ := strings.Cut(m[1], "/")
				switch {
				case regexp.MustCompile(`^(Test|Fuzz)[A-Z]\w*$`).MatchString(proof):
					if proofs++; !there[folder+" "+proof] {
						t.Errorf("%s names %s in %q, which is not there", name, proof, folder)
					}
				case regexp.MustCompile(`^(hostile|ownership|fallback|path|headers|certificate|health)-[a-z-]+$`).MatchString(m[1]):
					// Cases of HAProxy have such names.
					if proofs++; !there[m[1]] {
						t.Errorf("%s names the case %s, which is not there", name, m[1])
					}
				case regexp.MustCompile(`^[a-z0-9]+(/[a-z0-9-]+)*$`).MatchString(m[1]):
					folder = m[1]
				}
			}
		}
		if proofs < 2 {
			t.Errorf("%s names %d tests; has their form changed?", name, proofs)
		}
	}
}

// testsByFolder returns "FOLDER TEST" for each test and fuzz target, and each case.
func testsByFolder(t *testing.T) map[string]bool {
	t.Helper()
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
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			for _, m := range functions.FindAllStringSubmatch(string(text), -1) {
				there[folder+" "+m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}
