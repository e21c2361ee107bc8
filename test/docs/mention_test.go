package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks: relative links lead to files that exist, and to headings in them.
func TestLinks(t *testing.T) {
	t.Parallel()
	found := 0
	for _, p := range pages(t) {
		text := fence.ReplaceAllString(p.text, "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			found++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(root, p.path)
			if file != "" {
				target = filepath.Join(root, filepath.Dir(p.path), file)
			}
			info, err := os.Stat(target)
			switch {
			case err != nil:
				t.Errorf("%s: the link %s leads nowhere", p.path, m[1])
			case anchor != "" && !info.IsDir() && !anchors(t, target)[anchor]:
				t.Errorf("%s: the link %s names a heading that is not there", p.path, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d links found", found)
	}
}

var (
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor   = regexp.MustCompile(`[^a-z0-9 _-]`)
	punctuated = strings.NewReplacer(" ", "-")
)

// anchors returns the names that a page's headings have in links.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(string(text), ""), -1) {
		all[punctuated.Replace(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""))] = true
	}
	return all
}

// TestEveryNameIsMentioned: all reasons and annotations that package api
// declares are in the documentation.
func TestEveryNameIsMentioned(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, p := range pages(t) {
		all.WriteString(p.text)
	}
	names := declared(t)
	if len(names) < 60 {
		t.Errorf("only %d names found; has their form changed?", len(names))
	}
	for constant, value := range names {
		if !strings.Contains(all.String(), "`"+value+"`") && !strings.Contains(all.String(), value+":") {
			t.Errorf("%s: %q is not in the documentation", constant, value)
		}
	}
}

// declared returns the constants Reason… and Annotation… of package api. A
// constant that continues another is the name of the one with its rest.
func declared(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "api", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	names := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !constantName.MatchString(spec.Names[0].Name) {
				return true
			}
			// Keys made of two parts are in the table of annotations.
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				names[spec.Names[0].Name] = value
			}
			return true
		})
	}
	return names
}

var constantName = regexp.MustCompile(`^(Reason|Annotation)[A-Z]`)

// TestIndex: docs/README.md, or the README.md of a page's folder, leads to every
// page.
func TestIndex(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		name, ok := strings.CutPrefix(p.path, "docs/")
		if !ok || name == "README.md" || strings.Contains(string(index), "("+name+")") {
			continue
		}
		folder, err := os.ReadFile(filepath.Join(root, filepath.Dir(p.path), "README.md"))
		if err != nil || !strings.Contains(string(folder), "("+filepath.Base(name)+")") {
			t.Errorf("neither docs/README.md nor the README.md of its folder names %s", name)
		}
	}
}
