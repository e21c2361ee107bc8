package main

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
)

// option is a flag of a program in code.
var option = regexp.MustCompile(`(?:^|[\s\[(|])(--[a-z][a-z0-9]+(?:-[a-z0-9]+)*)`)

// addTerms finds what the search knows by name: rows of tables that begin with code, such as
// reasons, metrics, annotations and fields, and flags. Rows get ids for links.
func (p *page) addTerms() {
	section, about := "", p.title
	options := map[string]int{}
	p.walk(func(n ast.Node) {
		code := ""
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			name, _ := id.([]byte)
			section, about = string(name), strings.TrimSpace(p.text(n))
		case *tables.TableRow:
			p.addRow(n)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			code = string(n.Lines().Value(p.source))
		case *ast.CodeSpan:
			code = p.text(n)
		}
		for _, m := range option.FindAllStringSubmatch(code, -1) {
			found := term{section, m[1], brief(about), kindMention}
			if row := rowOf(n); row != nil {
				found = term{rowID(row), m[1], brief(p.text(row)), kindTerm}
			}
			at, before := options[m[1]]
			switch {
			case !before:
				options[m[1]] = len(p.terms)
				p.terms = append(p.terms, found)
			case found.kind == kindTerm && p.terms[at].kind == kindMention:
				p.terms[at] = found
			}
		}
	})
}

// addRow adds the row of a table if it begins with code, or with a bold word as in the glossary.
func (p *page) addRow(row *tables.TableRow) {
	cell := row.FirstChild()
	if cell == nil || cell.FirstChild() == nil || cell.FirstChild().Kind() != ast.KindCodeSpan && cell.FirstChild().Kind() != ast.KindEmphasis {
		return
	}
	name := strings.TrimSpace(p.text(cell))
	id := p.unused("row-" + anchor(strings.ReplaceAll(p.text(cell.FirstChild()), " ", "-")))
	row.SetAttributeString("id", []byte(id))
	var rest strings.Builder
	for c := cell.NextSibling(); c != nil; c = c.NextSibling() {
		rest.WriteString(p.text(c) + " ")
	}
	p.terms = append(p.terms, term{id, name, brief(rest.String()), kindTerm})
}

// rowOf returns the row in which a node is, or nil.
func rowOf(n ast.Node) *tables.TableRow {
	for ; n != nil; n = n.Parent() {
		if row, ok := n.(*tables.TableRow); ok {
			return row
		}
	}
	return nil
}

// rowID returns the id of a row, or empty.
func rowID(row *tables.TableRow) string {
	id, _ := row.AttributeString("id")
	name, _ := id.([]byte)
	return string(name)
}

// briefLength is how much the search says about an entry.
const briefLength = 110

// brief is the beginning of a text, in one line.
func brief(text string) string {
	words := strings.Fields(text)
	length := 0
	for i, word := range words {
		length += len(word) + 1
		if length > briefLength {
			return strings.Join(words[:i], " ") + " …"
		}
	}
	return strings.Join(words, " ")
}
