package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository writes the pages of a small repository, and returns its folder.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range roots {
		if _, given := files[name]; !given {
			files[name] = "# " + name + "\n"
		}
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// built returns a file of the site of a repository.
func built(t *testing.T, files map[string]string, name string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "site")
	if _, err := build(repository(t, files), out, "v1"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestAnchors: headings have the names that GitHub gives to them.
func TestAnchors(t *testing.T) {
	t.Parallel()
	const text = "# A page\n\n## `spec.host`, and more\n\n## Two words\n\n## Two words\n\n## Two words\n\n### [A link](#a-page) & *form*\n\n" +
		"## snake_case-name\n\n## Ünïcode 日本\n\n## 3.4 or 3.2?\n\n```sh\n# no heading\n```\n\nSetext\n------\n"
	p := parse("docs/a.md", []byte(text))
	var got []string
	for _, h := range p.headings {
		got = append(got, h.ID)
	}
	want := []string{"a-page", "spechost-and-more", "two-words", "two-words-1", "two-words-2", "a-link--form", "snake_case-name", "ünïcode-日本", "34-or-32", "setext"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLinksAreRewritten: links lead to the site's files, whatever the place of the page.
func TestLinksAreRewritten(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"README.md":         "# Root\n\n[a](docs/routes/a.md#two) [docs](docs/README.md) [folder](docs/lb) [code](code/x.go) [all](code)\n",
		"docs/README.md":    "# Docs\n\n[up](../README.md) [a](routes/a.md)\n",
		"docs/lb/README.md": "# LB\n",
		"docs/routes/a.md": "# A\n\n## Two\n\n[b](b.md) [here](#two) [up](../../README.md#root) [lb](../lb/README.md) [web](https://example.com/x?y=1#z) <https://example.com>\n" +
			"![a picture](../pictures/x.png) [text](../conf.txt)\n",
		"docs/routes/b.md":    "# B\n",
		"docs/pictures/x.png": "png",
		"docs/conf.txt":       "conf",
		"code/x.go":           "package x // <b>\n",
		"code/x_test.go":      "package x\n",
	}
	for name, want := range map[string][]string{
		"index.html": {
			`href="docs/routes/a.html#two"`, `href="docs/index.html">docs<`, `href="docs/lb/index.html"`, `href="source/code/x.go.html"`,
			`href="source/code.html"`,
		},
		"docs/index.html": {`href="../index.html">up<`, `href="routes/a.html">a<`},
		"docs/routes/a.html": {
			`href="b.html">b<`, `href="#two">here<`, `href="../../index.html#root">up<`, `href="../../docs/lb/index.html">lb<`,
			`href="https://example.com/x?y=1#z"`, `href="https://example.com"`, `src="../../docs/pictures/x.png"`, `href="../../docs/conf.txt"`,
		},
		"docs/routes/index.html":    {`href="a.html">A<`, `href="b.html">B<`},
		"source/code/x.go.html":     {"&lt;b&gt;", `href="../../site.css"`},
		"source/code.html":          {"<h2>code/x.go</h2>"},
		"docs/pictures/x.png":       {"png"},
		"docs/conf.txt":             {"conf"},
		"headings.html":             {`href="docs/routes/a.html#two">Two<`},
		"search-index.js":           {"window.fairleadIndex = {", `"Two"`},
		"docs/lb/index.html":        {"<h1 id=\"lb\">LB</h1>", "v1"},
		"site.css":                  {"color-scheme"},
		"docs/routes/b.html":        {"Content-Security-Policy"},
		"CHANGELOG.html":            {"CHANGELOG.md"},
		"search.js":                 {"use strict"},
		"docs/routes/../index.html": {"Docs"},
	} {
		text := built(t, files, name)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s has no %s:\n%s", name, part, text)
			}
		}
	}
}

// TestRefused: what a page must not have is an error with the page and the line.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"a script", "<script>alert(1)</script>", "docs/a.md:3: HTML is not shown"},
		{"a script below a comment", "<!-- fine -->\n<script>alert(1)</script>", "docs/a.md:4: HTML is not shown"},
		{"a comment that ends early", "<!-- --> <img src=x onerror=alert(1)>", "docs/a.md:3: HTML is not shown"},
		{"HTML in a line", "text <img src=x onerror=alert(1)> text", `docs/a.md:3: HTML is not shown, and "<img`},
		{"a placeholder that is read as HTML", "name it x.<port>", `docs/a.md:3: HTML is not shown, and "<port>"`},
		{"in a table", "| a |\n|---|\n| x <b>y</b> |", `HTML is not shown, and "<b>"`},
		{"a scheme that runs code", "[x](javascript:alert(1))", `docs/a.md:3: the link "javascript:alert(1)" leads neither`},
		{"data", "[x](data:text/html,x)", "leads neither"},
		{"in an autolink", "<javascript:alert(1)>", "is no address of the web"},
		{"another host without a scheme", "[x](//example.com/x)", "leads neither"},
		{"a path from the root of the machine", "[x](/etc/passwd)", "leads neither"},
		{"out of the repository", "[x](../../etc/passwd)", "leads out of the repository"},
		{"nowhere", "[x](b.md)", "leads nowhere"},
		{"no such heading", "[x](../README.md#none)", "names a heading that README.md does not have"},
		{"no such heading of the page itself", "[x](#none)", "names a heading that docs/a.md does not have"},
		{"a picture elsewhere", "![x](https://example.com/x.png)", "is no PNG"},
		{"a picture that may have scripts", "![x](x.svg)", "is no PNG"},
		{"a picture that is not there", "![x](x.png)", "is not there"},
		{"a picture without words", "![](x.png)", "no words"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "site")
			_, err := build(repository(t, map[string]string{"docs/a.md": "# A\n\n" + test.text + "\n"}), out, "v1")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("something was written")
			}
		})
	}
}

// TestLinkOut: a symbolic link does not lead out of the repository.
func TestLinkOut(t *testing.T) {
	t.Parallel()
	root := repository(t, map[string]string{"docs/a.md": "# A\n\n[x](passwd.txt) [y](folder)\n"})
	for link, to := range map[string]string{"passwd.txt": "/etc/passwd", "folder": "/etc"} {
		if err := os.Symlink(to, filepath.Join(root, "docs", link)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := build(root, filepath.Join(t.TempDir(), "site"), "v1")
	if err == nil || strings.Count(err.Error(), "leads nowhere") != 2 {
		t.Errorf("got %v", err)
	}
}

// TestEscaped: text of pages stays text, in the page and in the index.
func TestEscaped(t *testing.T) {
	t.Parallel()
	files := map[string]string{"docs/a.md": "# `</title><script>alert(1)</script>`\n\n## \\<b onclick=x\\> \"quoted\"\n\n" +
		"| `x\"><script>` | b |\n|---|---|\n| `y\"><script>` | `</script>` |\n\n" +
		"```yaml\na: <script>alert(1)</script>\n```\n\n```nolanguage\"><script>\n<script>\n```\n\n    <script>\n\n`<script>` &lt;script&gt;\n"}
	for _, name := range []string{"docs/a.html", "search-index.js", "headings.html", "docs/index.html"} {
		text := built(t, files, name)
		text = strings.NewReplacer(`<script defer src="../search-index.js"></script>`, "", `<script defer src="../search.js"></script>`, "",
			`<script defer src="search-index.js"></script>`, "", `<script defer src="search.js"></script>`, "").Replace(text)
		if strings.Contains(text, "<script") || strings.Contains(text, "</script") || strings.Contains(text, "<b ") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// TestTable: cells are on the side that the page says, and a head without text is none.
func TestTable(t *testing.T) {
	t.Parallel()
	got := built(t, map[string]string{"docs/a.md": "# A\n\n|  | `b` | c |\n|---|--:|:-:|\n| `x` | 1 |  |\n"}, "docs/a.html")
	for _, part := range []string{"<td></td>\n<th align=\"right\"><code>b</code></th>", "<th align=\"center\">c</th>", "<tr id=\"row-x\">", "<td align=\"right\">1</td>", "<td align=\"center\"></td>"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in\n%s", part, got)
		}
	}
}

// TestColours: code is what it was, in colours or not.
func TestColours(t *testing.T) {
	t.Parallel()
	for language, code := range map[string]string{
		"yaml": "# remark\nkind: Route\nspec: {host: \"a\", n: 3}\n", "sh": "curl -v 'http://x' # why\n", "console": "$ curl http://x/\nok\n",
		"json": "{\"a\": [1, true]}\n", "text": "plain <text>\n", "": "plain\n", "no-such": "plain\n", "go": "package x\n\nvar a = `b`\n",
	} {
		got := highlight(language, code)
		if inColours := strings.Contains(got, "<span"); inColours != slices.Contains(strings.Fields("yaml sh console json go"), language) {
			t.Errorf("%q: colours %v: %s", language, inColours, got)
		}
		if plain := textOf(t, got); plain != code {
			t.Errorf("%q: got %q, want %q", language, plain, code)
		}
	}
}

// TestRemove: only a site is removed.
func TestRemove(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	if err := remove(out); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(out, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := remove(out); err == nil {
		t.Error("a folder with other files is removed")
	}
	if err := os.WriteFile(filepath.Join(out, mark), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := remove(out); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("the site is still there")
	}
}
