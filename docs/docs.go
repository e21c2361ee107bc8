// Package docs has the pages of this folder, as they were when the program was built, and shows
// them in a terminal.
package docs

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed *.md */*.md */*/*.md
var files embed.FS

// Page is one page.
type Page struct {
	// Name is the path without .md, and without README: "routes/tls", "gateway".
	Name, Title string
	text        string
}

// Pages returns all pages by their names.
func Pages() []Page {
	var all []Page
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(file)
		if err != nil {
			return err //nolint:wrapcheck // of the program itself
		}
		all = append(all, Page{nameOf(file), titleOf(string(text)), string(text)})
		return nil
	})
	if err != nil {
		panic(err) // what is part of the program can be read
	}
	slices.SortFunc(all, func(a, b Page) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// nameOf is the name of a file's page. That of the whole folder is "docs".
func nameOf(file string) string {
	name := strings.TrimSuffix(file, ".md")
	switch {
	case name == "README":
		return "docs"
	case path.Base(name) == "README":
		return path.Dir(name)
	}
	return name
}

// titleOf is the first heading.
func titleOf(text string) string {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return inline(strings.TrimSpace(title), "")
		}
	}
	return ""
}

// Find returns the pages that a user means: the one with this name or, without it, those whose
// last part it is. Case and .md make no difference.
func Find(name string) []Page {
	name = strings.Trim(strings.TrimSuffix(strings.ToLower(name), ".md"), "/")
	if rest, below := strings.CutPrefix(name, "docs/"); below {
		name = rest
	}
	if folder, readme := strings.CutSuffix(name, "/readme"); readme {
		name = folder
	}
	var found []Page
	for _, p := range Pages() {
		if strings.ToLower(p.Name) == name {
			return []Page{p}
		}
		if path.Base(strings.ToLower(p.Name)) == name {
			found = append(found, p)
		}
	}
	return found
}

// Row is a row of a table that explains a name.
type Row struct {
	Page Page
	text string
}

// Rows returns the rows of tables that begin with a name in code, such as a reason, a metric or
// an annotation.
func Rows(name string) []Row {
	var found []Row
	for _, p := range Pages() {
		head := ""
		for line := range strings.Lines(p.text) {
			switch {
			case !strings.HasPrefix(line, "|"):
				head = ""
			case head == "":
				head = line
			case strings.HasPrefix(line, "| `"+name+"`"):
				found = append(found, Row{p, head + "|---|\n" + line})
			}
		}
	}
	return found
}

// Text is the page for a terminal.
func (p Page) Text() string { return plain(p.text, p.Name) }

// Text is the row for a terminal.
func (r Row) Text() string { return plain(r.text, r.Page.Name) }
