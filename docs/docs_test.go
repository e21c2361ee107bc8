package docs

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPlain: what a terminal shows of Markdown.
func TestPlain(t *testing.T) {
	t.Parallel()
	const text = "<!-- Generated. -->\n# A **page**\n\nOne\nparagraph with [a link](tls.md#x), [another](../README.md) and `code [x](y.md)`,\n" +
		"[the web](https://example.com/x) and x\\<y.\n\n## Section\n\n* an item that is long enough to need\n  a second line, because it has more than eighty characters\n* two\n\n" +
		"| key | values | what |\n|---|---|---|\n| `a` | `x\\|y` | one |\n| `b` |  | two |\n\n```yaml\na: 1\n\n# b\n```\n\n    indented\n\n1. first\n   ```sh\n   ls\n   ```\n2. second\n"
	const want = `A page
======

One paragraph with a link [routes/tls], another [docs] and ` + "`code [x](y.md)`" + `, the
web <https://example.com/x> and x<y.

Section
-------

* an item that is long enough to need a second line, because it has more than
  eighty characters
* two

* ` + "`a`" + `
    values: ` + "`x|y`" + `
    what: one
* ` + "`b`" + `
    what: two

    a: 1

    # b

    indented

1. first
       ls
2. second
`
	if got := plain(text, "routes/hosts"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestPages: each page has a title and can be shown, in lines of the width, but for code and
// words that are longer.
func TestPages(t *testing.T) {
	t.Parallel()
	all := Pages()
	if len(all) < 200 {
		t.Errorf("only %d pages", len(all))
	}
	names := map[string]bool{}
	mark := regexp.MustCompile(`(?m)^(\||#+ |<!--)`)
	for _, p := range all {
		if p.Title == "" || names[p.Name] {
			t.Errorf("%s: title %q, name there before: %v", p.Name, p.Title, names[p.Name])
		}
		names[p.Name] = true
		text := p.Text()
		if m := mark.FindString(text); m != "" {
			t.Errorf("%s: %q is left of the form", p.Name, m)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > width+1 && !strings.HasPrefix(line, "    ") && strings.Count(strings.TrimSpace(line), " ") > 3 {
				t.Errorf("%s: a line of %d characters: %s", p.Name, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// TestFind: pages are found by their names and by the ends of these, names by tables.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"routes/tls": "routes/tls", "docs/routes/tls.md": "routes/tls", "fl101": "checks/FL101", "Gateway": "gateway", "gateway/README.md": "gateway",
		"docs": "docs", "tls": "gateway/tls routes/tls", "../README": "", "": "", "nothing": "",
	} {
		var got []string
		for _, p := range Find(name) {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	found := false
	for _, row := range Rows("HostAlreadyClaimed") {
		found = found || row.Page.Name == "routes/reasons" && strings.HasPrefix(row.Text(), "* `HostAlreadyClaimed`\n    severity: ")
	}
	if !found {
		t.Error("a reason is not found")
	}
	if rows := Rows("HostAlready"); len(rows) != 0 {
		t.Errorf("half a name has %d rows", len(rows))
	}
}

// FuzzPlain: no text stops the program, and the form of a page is no command for it.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"#", "# \n", "|", "| a\n|---|\n|", "```", "```\n```", "* ", "1. x\n    y", "<!--", "[a](b.md)", "\\", "a\tb\r\n\x00\f", "    x\n* y\n    z", "![](", "`[a](b)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := plain(text, "routes/tls"); !strings.HasSuffix(got, "\n") {
			t.Errorf("no end of line: %q", got)
		}
	})
}
