package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// site is all that is written.
type site struct {
	root    *os.Root
	out     string
	version string
	pages   []*page
	// byPath has the pages by their paths in the repository.
	byPath map[string]*page
	// copies are other files that pages show or lead to.
	copies map[string]bool
	// sources are files and folders of the repository that pages lead to, and that have pages of
	// their own.
	sources map[string]bool
	folders []*folder
	entries []entry
}

// roots are the pages outside of docs.
var roots = []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}

// build makes the site of a repository in a folder. All that is wrong with the pages is in one
// error.
func build(from, out, version string) (*site, error) {
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", err)
	}
	defer root.Close()
	s := &site{root: root, out: out, version: version, byPath: map[string]*page{}, copies: map[string]bool{}, sources: map[string]bool{}}
	if err := s.read(); err != nil {
		return nil, err
	}
	var wrong []error
	for _, p := range s.pages {
		wrong = append(wrong, s.check(p)...)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	s.folders = folders(s.pages)
	s.entries = entries(s.pages)
	return s, s.write()
}

// read reads all pages.
func (s *site) read() error {
	paths := slices.Clone(roots)
	err := fs.WalkDir(s.root.FS(), "docs", func(name string, file fs.DirEntry, err error) error {
		if err == nil && file.Type().IsRegular() && strings.HasSuffix(name, ".md") {
			paths = append(paths, name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("list the pages: %w", err)
	}
	s.pages = make([]*page, len(paths))
	var all errgroup.Group
	all.SetLimit(4)
	for i, name := range paths {
		all.Go(func() error {
			text, err := s.root.ReadFile(name)
			if err != nil {
				return fmt.Errorf("read a page: %w", err)
			}
			s.pages[i] = parse(name, text)
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, p := range s.pages {
		s.byPath[p.path] = p
	}
	return nil
}

// write writes everything.
func (s *site) write() error {
	views := make([]view, 0, len(s.pages)+len(s.folders)+len(s.sources)+1)
	for _, f := range s.folders {
		if f.index == nil {
			views = append(views, view{URL: f.url, Title: f.title, Folder: f, List: f.pages})
		}
	}
	views = append(views, view{URL: "headings.html", Title: "All headings", Headings: s.folders})
	for _, name := range keys(s.sources) {
		v, err := s.source(name)
		if err != nil {
			return err
		}
		views = append(views, v)
	}
	var all errgroup.Group
	all.SetLimit(4)
	for _, f := range s.folders {
		for _, p := range f.pages {
			all.Go(func() error {
				body, err := p.html()
				if err != nil {
					return err
				}
				return s.writePage(view{URL: p.url, Title: p.title, Body: body, Folder: f, Contents: p.contents(), Path: p.path})
			})
		}
	}
	for _, v := range views {
		all.Go(func() error { return s.writePage(v) })
	}
	all.Go(s.writeRest)
	return all.Wait()
}

// writeRest writes the files that are no pages.
func (s *site) writeRest() error {
	for _, name := range keys(s.copies) {
		text, err := s.root.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a file that a page shows: %w", err)
		}
		if err := s.put(name, text); err != nil {
			return err
		}
	}
	for _, name := range []string{"site.css", "search.js"} {
		text, err := layout.ReadFile("layout/" + name)
		if err != nil {
			return fmt.Errorf("read a part of all pages: %w", err)
		}
		if err := s.put(name, text); err != nil {
			return err
		}
	}
	text, err := indexScript(s.pages, s.entries)
	if err != nil {
		return err
	}
	return s.put(mark, text)
}

// put writes one file of the site.
func (s *site) put(name string, text []byte) error {
	file := filepath.Join(s.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make a folder of the site: %w", err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("write a file of the site: %w", err)
	}
	return nil
}

// address returns where the site has what is at a path of the repository.
func address(name string) string {
	stem, isPage := strings.CutSuffix(name, ".md")
	switch {
	case !isPage:
		return name
	case path.Base(stem) == "README":
		return path.Join(path.Dir(stem), "index.html")
	}
	return stem + ".html"
}

// relative returns a link from one file of the site to another.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	folder := path.Dir(from) + "/"
	if rest, below := strings.CutPrefix(to, folder); below {
		return rest
	}
	return up + to
}

// keys returns the keys of a set in order.
func keys(set map[string]bool) []string {
	all := make([]string, 0, len(set))
	for k := range set {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}
