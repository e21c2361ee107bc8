package main

import (
	"bytes"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// page is one page of the documentation.
type page struct {
	// path is from the root of the repository, url from that of the site.
	path, url, title string
	source           []byte
	tree             ast.Node
	headings         []heading
	terms            []term
	// ids are all that links may name.
	ids map[string]bool
}

// heading is one of a page, with the name that links have for it.
type heading struct {
	level    int
	ID, Text string
}

// Deep says whether it is below another one in the list of a page.
func (h heading) Deep() bool { return h.level > 2 }

// term is a name in code that a row of a table explains, or a flag.
type term struct {
	id, text, about, kind string
}

// markdown reads what GitHub shows.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Linkify, extension.Strikethrough),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// parse reads a page. Its links are as they were written.
func parse(name string, source []byte) *page {
	p := &page{path: name, url: address(name), source: source, ids: map[string]bool{}}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext()))
	p.walk(func(n ast.Node) {
		if h, ok := n.(*ast.Heading); ok {
			p.addHeading(h)
		}
	})
	if p.title == "" {
		p.title = name
	}
	p.addTerms()
	return p
}

// walk visits all nodes of a page, parents before children.
func (p *page) walk(visit func(ast.Node)) {
	_ = ast.Walk(p.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}

func (p *page) addHeading(h *ast.Heading) {
	title := strings.TrimSpace(p.text(h))
	id := p.unused(anchor(title))
	h.SetAttributeString("id", []byte(id))
	p.headings = append(p.headings, heading{h.Level, id, title})
	if p.title == "" && h.Level == 1 {
		p.title = title
	}
}

// unused returns an id that the page does not have yet, as GitHub does: with a number.
func (p *page) unused(id string) string {
	free := id
	for n := 1; p.ids[free]; n++ {
		free = id + "-" + strconv.Itoa(n)
	}
	p.ids[free] = true
	return free
}

// anchor is the name that GitHub gives to a heading.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}

// text is what a reader sees of a node, without its form.
func (p *page) text(n ast.Node) string {
	var b bytes.Buffer
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			b.Write(p.own(n))
		} else if n.Kind() == tables.KindTableCell {
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// own is the text of a node itself, without that of the nodes in it.
func (p *page) own(n ast.Node) []byte {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(p.source)
		if n.Parent() == nil || n.Parent().Kind() != ast.KindCodeSpan {
			value = util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(value)))
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			return append(bytes.Clone(value), ' ')
		}
		return value
	case *ast.String:
		return n.Value
	case *ast.AutoLink:
		return n.Label(p.source)
	}
	return nil
}

// contents are the headings that the page lists beside its text.
func (p *page) contents() []heading {
	var all []heading
	for _, h := range p.headings {
		if h.level == 2 || h.level == 3 {
			all = append(all, h)
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// html returns the page's text. What the repository's pages may not have was refused before.
func (p *page) html() (template.HTML, error) {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.source, p.tree); err != nil {
		return "", fmt.Errorf("render %s: %w", p.path, err)
	}
	return template.HTML(b.String()), nil
}

// line returns the line of the page at which a node begins, or 0.
func (p *page) line(n ast.Node) int {
	for at := n; at != nil; at = at.Parent() {
		start := -1
		switch at := at.(type) {
		case *ast.Text:
			start = at.Segment.Start
		case *ast.RawHTML:
			start = at.Segments.At(0).Start
		default:
			if at.Type() == ast.TypeBlock && at.Lines() != nil && at.Lines().Len() > 0 {
				start = at.Lines().At(0).Start
			}
		}
		if start >= 0 {
			return 1 + bytes.Count(p.source[:start], []byte("\n"))
		}
	}
	return 0
}
