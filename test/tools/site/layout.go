package main

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed layout
var layout embed.FS

// view is what the template of a page gets.
type view struct {
	URL, Title string
	Body       template.HTML
	// Path is the page in the repository.
	Path     string
	Contents []heading
	// Folder is the open part of the list of pages, or nil.
	Folder *folder
	// List and Headings are the content of pages that list others.
	List     []*page
	Headings []*folder
	// Folders and Version are for all pages.
	Folders []*folder
	Version string
}

// Link returns a link to a file of the site.
func (v view) Link(url string) string { return relative(v.URL, url) }

// Root is the way up to the site's root.
func (v view) Root() string { return strings.Repeat("../", strings.Count(v.URL, "/")) }

// URL, Title and Below of a page, for templates. Below are all headings but that of the page.
func (p *page) URL() string   { return p.url }
func (p *page) Title() string { return p.title }
func (p *page) Below() []heading {
	return slices.DeleteFunc(slices.Clone(p.headings), func(h heading) bool { return h.level == 1 })
}

// folder is the pages of a folder.
type folder struct {
	name, url, title string
	// index is its README.md, or nil.
	index *page
	pages []*page
}

// URL, Title and Pages of a folder, for templates.
func (f *folder) URL() string    { return f.url }
func (f *folder) Title() string  { return f.title }
func (f *folder) Pages() []*page { return f.pages }

// titles are those of folders, in the order in which they are listed. A folder without a title
// here has its name, and comes last.
var titles = [][2]string{
	{".", "Fairlead"},
	{"docs", "Guides"},
	{"docs/howto", "First tasks"},
	{"docs/routes", "Routes"},
	{"docs/gateway", "Gateway API"},
	{"docs/operator", "Routers"},
	{"docs/lb", "Addresses"},
	{"docs/cloud", "Clouds"},
	{"docs/monitoring", "Monitoring"},
	{"docs/monitoring/runbooks", "Runbooks"},
	{"docs/checks", "Checks"},
	{"docs/configuration", "Configuration"},
	{"docs/decisions", "Decisions"},
}

// folders lists the folders of pages, each with its pages by their titles.
func folders(pages []*page) []*folder {
	byName := map[string]*folder{}
	var all []*folder
	for _, p := range pages {
		name := path.Dir(p.path)
		f := byName[name]
		if f == nil {
			f = &folder{name: name, title: name, url: path.Join(name, "index.html")}
			byName[name] = f
			all = append(all, f)
			if at := place(name); at < len(titles) {
				f.title = titles[at][1]
			}
		}
		f.pages = append(f.pages, p)
		if p.url == f.url {
			f.index = p
		}
	}
	for _, f := range all {
		slices.SortStableFunc(f.pages, func(a, b *page) int {
			if (a == f.index) != (b == f.index) {
				if a == f.index {
					return -1
				}
				return 1
			}
			return strings.Compare(strings.ToLower(a.title), strings.ToLower(b.title))
		})
	}
	slices.SortStableFunc(all, func(a, b *folder) int {
		if d := place(a.name) - place(b.name); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}

// place is where a folder is in the list.
func place(name string) int {
	at := slices.IndexFunc(titles, func(t [2]string) bool { return t[0] == name })
	if at < 0 {
		return len(titles)
	}
	return at
}

// writePage writes one page.
func (s *site) writePage(v view) error {
	v.Folders, v.Version = s.folders, s.version
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		return fmt.Errorf("make %s: %w", v.URL, err)
	}
	return s.put(v.URL, b.Bytes())
}

var pageTemplate = template.Must(template.ParseFS(layout, "layout/page.html"))

// sourceAddress is where the site has a file or folder of the repository that is no page.
func sourceAddress(name string) string { return "source/" + name + ".html" }

// sourceBytes bounds the files of the repository that are shown.
const sourceBytes = 256 << 10

// source is the page of a file of the repository, or of all files of a folder.
func (s *site) source(name string) (view, error) {
	v := view{URL: sourceAddress(name), Title: name}
	var b bytes.Buffer
	err := fs.WalkDir(s.root.FS(), name, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || file != name && strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := s.root.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a file that a page leads to: %w", err)
		}
		if len(text) > sourceBytes {
			return fmt.Errorf("a page leads to %s, which has %d bytes, more than %d", file, len(text), sourceBytes)
		}
		if file != name {
			fmt.Fprintf(&b, "<h2>%s</h2>\n", template.HTMLEscapeString(file))
		}
		b.WriteString(highlight(strings.TrimPrefix(path.Ext(file), "."), string(text)))
		return nil
	})
	v.Body = template.HTML(b.String())
	if err != nil {
		return v, fmt.Errorf("show %s: %w", name, err)
	}
	return v, nil
}
