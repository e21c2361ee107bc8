package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"text/template/parse"
	"time"
	"unicode/utf8"

	"github.com/fairlead/fairlead/api/terminal"
)

//go:embed template static
var files embed.FS

const (
	// textBytes is how much of one text is shown. Annotations may have a megabyte.
	textBytes = 4096
	// pageBytes is how long a page may be: rows whose texts are all as long as they may
	// be are longer, and then the page says so.
	pageBytes = 4 << 20
)

// look has what pages are made with.
type look struct {
	base   string
	now    func() time.Time
	pages  map[string]*template.Template
	static map[string]asset
	names  map[string]string // of static files, with a hash of the content
}

// asset is a file for browsers.
type asset struct {
	kind string
	text []byte
}

func newLook(base string, now func() time.Time) (*look, error) {
	l := &look{base: base, now: now, pages: map[string]*template.Template{}, static: map[string]asset{}, names: map[string]string{}}
	if err := l.readStatic(); err != nil {
		return nil, err
	}
	shared, err := template.New("").Funcs(l.functions()).ParseFS(files, "template/layout.html", "template/part-*.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	names, err := fs.Glob(files, "template/page-*.html")
	if err != nil {
		return nil, fmt.Errorf("read the templates: %w", err)
	}
	for _, name := range names {
		t, err := template.Must(shared.Clone()).ParseFS(files, name)
		if err != nil {
			return nil, fmt.Errorf("read template %s: %w", name, err)
		}
		for _, one := range t.Templates() {
			if one.Tree != nil { // the empty one has none
				shorten(one.Tree.Root)
			}
		}
		l.pages[strings.TrimSuffix(strings.TrimPrefix(path.Base(name), "page-"), ".html")] = t
	}
	return l, nil
}

// readStatic names the files by their content, so that browsers may keep them.
func (l *look) readStatic() error {
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
	entries, err := files.ReadDir("static")
	if err != nil {
		return fmt.Errorf("read the static files: %w", err)
	}
	for _, e := range entries {
		text, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			return fmt.Errorf("read %s: %w", e.Name(), err)
		}
		sum := sha256.Sum256(text)
		end := path.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), end) + "-" + hex.EncodeToString(sum[:6]) + end
		l.static[name], l.names[e.Name()] = asset{kinds[end], text}, name
	}
	return nil
}

// shorten has every text of a template that is written pass through the function "short".
// Thus no template can forget it.
func shorten(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, child := range n.Nodes {
			shorten(child)
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			name := parse.NewIdentifier("short").SetPos(n.Pos)
			n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{name}})
		}
	case *parse.IfNode:
		shorten(n.List)
		shorten(n.ElseList)
	case *parse.RangeNode:
		shorten(n.List)
		shorten(n.ElseList)
	case *parse.WithNode:
		shorten(n.List)
		shorten(n.ElseList)
	}
}

// short is a value without what is too much of a text, and with visible escapes for what
// cannot be seen: a character that turns the direction of writing is one.
func short(v any) string {
	text := fmt.Sprint(v)
	if len(text) > textBytes {
		cut := textBytes
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = fmt.Sprintf("%s… (%d more bytes)", text[:cut], len(text)-cut)
	}
	return terminal.Line(text)
}

func (l *look) functions() template.FuncMap {
	return template.FuncMap{
		"short":    short,
		"link":     l.link,
		"static":   func(name string) string { return l.base + "static/" + l.names[name] },
		"text":     func(v any) string { return fmt.Sprint(v) },
		"iso":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"ago":      func(t time.Time) string { return relative(t.Sub(l.now())) },
		"count":    func(n *int) int { return *n },
		"lower":    strings.ToLower,
		"page":     pageOf,
		"searched": func(action string, of routesPage) searched { return searched{action, of} },
		"object":   l.objectLink,
	}
}

// link returns the path of a page whose parts may hold anything.
func (l *look) link(parts ...any) string {
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(l.base, "/"))
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(fmt.Sprint(p)))
	}
	return b.String()
}

// objectLink is the page of an object that is written as "kind/namespace/name", with more
// after "#" or ":", or empty if its kind has none.
func (l *look) objectLink(text string) string {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) != 3 || objectKinds()[parts[0]+"s"] == "" {
		return ""
	}
	name, _, _ := strings.Cut(parts[2], "#")
	name, _, _ = strings.Cut(name, ":")
	return l.link(parts[0]+"s", parts[1], name)
}

// relative says how long ago a time was, or how long it is until then.
func relative(d time.Duration) string {
	future := d > 0
	d = d.Abs()
	text := "less than a minute"
	for _, unit := range []struct {
		of   time.Duration
		word string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= unit.of {
			text = fmt.Sprintf("%d %s", d/unit.of, unit.word)
			break
		}
	}
	if future {
		return "in " + text
	}
	return text + " ago"
}

// render returns a whole page, or an error if it is too long.
func (l *look) render(name string, data any) ([]byte, error) {
	var b bytes.Buffer
	if err := l.pages[name].ExecuteTemplate(&limited{&b}, "layout", data); err != nil {
		return nil, fmt.Errorf("write page %s: %w", name, err)
	}
	return b.Bytes(), nil
}

// limited is a buffer for a page.
type limited struct{ *bytes.Buffer }

// Write implements io.Writer.
func (w *limited) Write(p []byte) (int, error) {
	if w.Len()+len(p) > pageBytes {
		return 0, fmt.Errorf("the page is longer than %d MiB", pageBytes>>20)
	}
	return w.Buffer.Write(p) //nolint:wrapcheck // it never fails
}
