package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the repository.
const root = "../.."

// page is one file of the documentation.
type page struct {
	// path is from the root of the repository.
	path string
	text string
}

// pages returns docs/**/*.md and the pages of the root folder.
func pages(t *testing.T) []page {
	t.Helper()
	var paths []string
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		paths = append(paths, filepath.Join(root, name))
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []page
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page{name, string(text)})
	}
	return all
}

// example is one yaml block.
type example struct {
	page string
	line int
	text string
	// finding is what the comment before the block asks for: "refused" or
	// "warns", and a reason.
	finding, reason string
	// denied is what the API server says to it; empty if it must accept it.
	denied string
}

var (
	fence   = regexp.MustCompile("(?ms)^```([a-z ]*)\n(.*?)^```$")
	comment = regexp.MustCompile(`<!-- (refused|warns): ([A-Za-z]+) -->\n$`)
)

// examples returns the yaml blocks of a page.
func (p page) examples(t *testing.T) []example {
	t.Helper()
	var all []example
	blocks := fence.FindAllStringSubmatchIndex(p.text, -1)
	for i, b := range blocks {
		info, text := p.text[b[2]:b[3]], p.text[b[4]:b[5]]
		if !strings.HasPrefix(info, "yaml") {
			continue
		}
		e := example{page: p.path, line: 1 + strings.Count(p.text[:b[0]], "\n"), text: text}
		if m := comment.FindStringSubmatch(p.text[:b[0]]); m != nil {
			e.finding, e.reason = m[1], m[2]
		}
		if info == "yaml refused" {
			if i+1 == len(blocks) || p.text[blocks[i+1][2]:blocks[i+1][3]] != "text" {
				t.Fatalf("%s:%d: no text block says how the API server refuses this", p.path, e.line)
			}
			e.denied = strings.TrimSpace(p.text[blocks[i+1][4]:blocks[i+1][5]])
		}
		all = append(all, e)
	}
	return all
}
