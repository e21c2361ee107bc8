package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// remark is an HTML comment, which GitHub does not show either.
var remark = regexp.MustCompile(`^\s*<!--[^<>]*-->\s*$`)

// check makes the links of a page those of the site, and returns what the page must not have.
func (s *site) check(p *page) []error {
	var wrong []error
	p.walk(func(n ast.Node) {
		if err := s.checkNode(p, n); err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", p.path, p.line(n), err))
		}
	})
	return wrong
}

func (s *site) checkNode(p *page, n ast.Node) error {
	switch n := n.(type) {
	case *ast.Link:
		to, err := s.follow(p, string(n.Destination))
		n.Destination = []byte(to)
		return err
	case *ast.AutoLink:
		if u, err := url.Parse(string(n.URL(p.source))); err != nil || !elsewhere(u) && u.Scheme != "mailto" {
			return fmt.Errorf("the link %q is no address of the web", n.URL(p.source))
		}
	case *ast.Image:
		to, err := s.picture(p, string(n.Destination))
		n.Destination = []byte(to)
		if strings.TrimSpace(p.text(n)) == "" {
			err = errors.Join(err, errors.New("the picture has no words for readers who do not see it"))
		}
		return err
	case *ast.HTMLBlock:
		if !remark.Match(blockText(n, p.source)) {
			return errors.New("HTML is not shown: write it as code, or as Markdown")
		}
	case *ast.RawHTML:
		if text := n.Segments.Value(p.source); !remark.Match(text) {
			return fmt.Errorf("HTML is not shown, and %q would be missing: write it as code, or \\< for <", text)
		}
	}
	return nil
}

// blockText is the text of a block of HTML.
func blockText(n *ast.HTMLBlock, source []byte) []byte {
	all := bytes.Clone(n.Lines().Value(source))
	if n.HasClosure() {
		all = append(all, n.ClosureLine.Value(source)...)
	}
	return all
}

// elsewhere says whether an address is one of the web.
func elsewhere(u *url.URL) bool { return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" }

// follow returns the site's link for a page's.
func (s *site) follow(p *page, link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", fmt.Errorf("the link %q cannot be read: %w", link, err)
	}
	switch {
	case elsewhere(u) || u.Scheme == "mailto":
		return link, nil
	case u.Scheme != "" || u.Host != "" || u.RawQuery != "" || path.IsAbs(u.Path):
		return "", fmt.Errorf("the link %q leads neither into the repository nor to an address of the web", link)
	}
	name := p.path
	if u.Path != "" {
		name = path.Join(path.Dir(p.path), u.Path)
	}
	target := s.byPath[name]
	if target == nil {
		return s.leadOut(p, link, name)
	}
	if u.Fragment != "" && !target.ids[u.Fragment] {
		return "", fmt.Errorf("the link %q names a heading that %s does not have", link, name)
	}
	to := url.URL{Fragment: u.Fragment}
	if target != p {
		to.Path = relative(p.url, target.url)
	}
	return to.String(), nil
}

// leadOut returns the link to a file of the repository that is no page. A text is copied; all
// else gets a page, because browsers offer such files for download.
func (s *site) leadOut(p *page, link, name string) (string, error) {
	info, err := s.root.Stat(name)
	switch {
	case !fs.ValidPath(name):
		return "", fmt.Errorf("the link %q leads out of the repository", link)
	case err != nil:
		return "", fmt.Errorf("the link %q leads nowhere: %w", link, err)
	case info.IsDir() && s.byPath[path.Join(name, "README.md")] != nil:
		return relative(p.url, s.byPath[path.Join(name, "README.md")].url), nil
	case path.Ext(name) == ".txt" && strings.HasPrefix(name, "docs/"):
		s.copies[name] = true
		return relative(p.url, name), nil
	}
	s.sources[name] = true
	return relative(p.url, sourceAddress(name)), nil
}

// pictures are the forms that are shown. SVG may have scripts.
var pictures = map[string]bool{".png": true, ".jpg": true, ".webp": true}

// picture returns the site's address of a picture, which must be a file below docs: no page asks
// for anything elsewhere.
func (s *site) picture(p *page, link string) (string, error) {
	name := path.Join(path.Dir(p.path), link)
	if !strings.HasPrefix(name, "docs/") || !pictures[path.Ext(name)] || strings.Contains(link, ":") {
		return "", fmt.Errorf("the picture %q is no PNG, JPEG or WebP below docs", link)
	}
	if _, err := s.root.Stat(name); err != nil {
		return "", fmt.Errorf("the picture %q is not there: %w", link, err)
	}
	s.copies[name] = true
	return relative(p.url, name), nil
}
