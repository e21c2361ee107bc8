package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// blocks renders what the site shows in its own way: code in colours, wide tables that scroll by
// themselves, and no HTML of pages.
type blocks struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (b blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, b.code)
	r.Register(ast.KindCodeBlock, b.code)
	r.Register(ast.KindHTMLBlock, b.nothing)
	r.Register(ast.KindRawHTML, b.nothing)
	r.Register(tables.KindTable, b.table)
	r.Register(tables.KindTableCell, b.cell)
}

func (blocks) nothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// table renders the frame of a table. What scrolls can have the focus, so that keys scroll it.
func (blocks) table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	text := "</table></div>\n"
	if entering {
		text = "<div class=\"wide\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"><table>\n"
	}
	if _, err := w.WriteString(text); err != nil {
		return ast.WalkStop, fmt.Errorf("write a table: %w", err)
	}
	return ast.WalkContinue, nil
}

// cell renders a cell of a table. One without text is no head of its column, also where it is above
// it: a program that reads pages aloud would announce a head without a name.
func (blocks) cell(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	tag := "td"
	if n.Parent().Kind() == tables.KindTableHeader && n.HasChildren() {
		tag = "th"
	}
	text := "</" + tag + ">\n"
	if entering {
		text = "<" + tag + ">"
		if cell, ok := n.(*tables.TableCell); ok && cell.Alignment != tables.AlignNone {
			text = "<" + tag + " align=\"" + cell.Alignment.String() + "\">"
		}
	}
	if _, err := w.WriteString(text); err != nil {
		return ast.WalkStop, fmt.Errorf("write a cell: %w", err)
	}
	return ast.WalkContinue, nil
}

func (blocks) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	language := ""
	if fenced, ok := n.(*ast.FencedCodeBlock); ok && fenced.Info != nil {
		language, _, _ = strings.Cut(string(fenced.Info.Value(source)), " ")
	}
	if _, err := w.WriteString(highlight(language, string(n.Lines().Value(source)))); err != nil {
		return ast.WalkStop, fmt.Errorf("write code: %w", err)
	}
	return ast.WalkSkipChildren, nil
}

// highlight returns code as HTML. A language that is not known, or whose lexer fails, has no
// colours.
func highlight(language, code string) string {
	var b bytes.Buffer
	b.WriteString("<pre tabindex=\"0\"><code>")
	if !colours(&b, language, code) {
		b.WriteString(html.EscapeString(code))
	}
	b.WriteString("</code></pre>\n")
	return b.String()
}

// colours writes code in colours, or nothing.
func colours(b *bytes.Buffer, language, code string) bool {
	if language == "" || language == "text" {
		return false
	}
	lexer := lexers.Get(language)
	if lexer == nil {
		return false
	}
	tokens, err := chroma.Coalesce(lexer).Tokenise(&chroma.TokeniseOptions{State: "root", EnsureLF: true}, code)
	if err != nil {
		return false
	}
	last := ""
	for token := range tokens.Stdlib() {
		class := class(token.Type)
		if strings.TrimSpace(token.Value) == "" {
			class = last // spaces have no colour
		}
		if class != last {
			if last != "" {
				b.WriteString("</span>")
			}
			if class != "" {
				b.WriteString(`<span class="` + class + `">`)
			}
			last = class
		}
		b.WriteString(html.EscapeString(token.Value))
	}
	if last != "" {
		b.WriteString("</span>")
	}
	return true
}

// class is the colour of a token: of comments, words of the language, names of fields, text and
// numbers, and what a console answers.
func class(t chroma.TokenType) string {
	switch {
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InCategory(chroma.Keyword) || t == chroma.NameBuiltin:
		return "k"
	case t == chroma.NameTag || t == chroma.NameAttribute || t == chroma.NameVariable || t == chroma.GenericPrompt:
		return "n"
	case t.InCategory(chroma.Literal):
		return "s"
	case t == chroma.GenericOutput:
		return "o"
	}
	return ""
}
