package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

const (
	// indexBytes bounds the index of the search, as a server would send it.
	indexBytes = 300_000
	// buildTime bounds the making of the site on a busy machine; alone it takes less than 2 s.
	buildTime = 20 * time.Second
)

// ours builds the site of this repository.
func ours(t *testing.T) (folder string, s *site) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "site")
	began := time.Now()
	s, err := build("../../..", folder, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("%d pages, %d entries in %.2f s", len(s.pages), len(s.entries), took.Seconds())
	if took > buildTime {
		t.Errorf("the site took %v", took)
	}
	return folder, s
}

// TestSite: the site of this repository is whole: each link and anchor leads somewhere, each
// page is well-formed, and none asks for anything outside.
func TestSite(t *testing.T) {
	t.Parallel()
	folder, s := ours(t)
	for _, f := range s.folders {
		if f.title == f.name {
			t.Errorf("the folder %s has no title in the list of pages: give it one in titles", f.name)
		}
	}
	files := map[string]*file{}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		at, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		files[at] = &file{name: at}
		if path.Ext(at) == ".html" {
			files[at].read(t, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, f := range files {
		for _, link := range f.links {
			links++
			resolve(t, files, f, link)
		}
	}
	if len(s.pages) < 200 || links < 5000 {
		t.Errorf("only %d pages with %d links", len(s.pages), links)
	}
	t.Logf("%d files, %d links", len(files), links)
	index, err := os.ReadFile(filepath.Join(folder, mark))
	if err != nil {
		t.Fatal(err)
	}
	if size := zipped(t, index); size > indexBytes {
		t.Errorf("the index has %d bytes, zipped; at most %d", size, indexBytes)
	} else {
		t.Logf("the index has %d bytes, %d zipped", len(index), size)
	}
	found(t, index)
}

func zipped(t *testing.T, text []byte) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// found demands that the search has each reason, metric, check and alert, and flags.
func found(t *testing.T, script []byte) {
	t.Helper()
	var index struct {
		Pages   [][2]string
		Entries [][5]any
	}
	text, _ := bytes.CutPrefix(script, []byte("window.fairleadIndex = "))
	if err := json.Unmarshal(bytes.TrimRight(text, ";\n"), &index); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range index.Entries {
		name, ok := e[2].(string)
		if !ok {
			t.Fatalf("entry %v", e)
		}
		first, _, _ := strings.Cut(name, ":")
		names[name], names[first] = true, true
	}
	var want []string
	for name, row := range map[string]string{"routes/reasons.md": "(?m)^\\| `([A-Z][A-Za-z0-9]+)`", "monitoring/metrics.md": "(?m)^\\| `(fairlead_[a-z_]+)`"} {
		text, err := os.ReadFile("../../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(row).FindAllStringSubmatch(string(text), -1) {
			want = append(want, m[1])
		}
	}
	for _, folder := range []string{"checks", "monitoring/runbooks"} {
		pages, err := filepath.Glob("../../../docs/" + folder + "/F*.md")
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			want = append(want, strings.TrimSuffix(filepath.Base(page), ".md"))
		}
	}
	want = append(want, "--router-image", "--domain", "--config")
	if len(want) < 300 {
		t.Errorf("only %d names to be found", len(want))
	}
	for _, name := range want {
		if !names[name] {
			t.Errorf("the search does not find %s", name)
		}
	}
}

// file is one of the site, as a browser reads it.
type file struct {
	name  string
	ids   map[string]bool
	links []string
}

// void are elements without an end.
var void = strings.Fields("meta link br img input hr")

// read demands that each element has an end and each id is there once, and that nothing in the
// page runs, is a style or comes from elsewhere.
func (f *file) read(t *testing.T, text []byte) {
	t.Helper()
	f.ids = map[string]bool{}
	var open []string
	headings, last := 0, ""
	for z := html.NewTokenizer(bytes.NewReader(text)); ; {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case html.ErrorToken:
			if len(open) > 0 {
				t.Errorf("%s: without an end: %v", f.name, open)
			}
			if headings != 1 {
				t.Errorf("%s: %d headings h1", f.name, headings)
			}
			return
		case html.SelfClosingTagToken, html.StartTagToken:
			if token.Data == "h1" {
				headings++
			}
			if kind == html.StartTagToken && !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
			f.attributes(t, token)
		case html.EndTagToken:
			if token.Data == "th" && last == "<th>" {
				t.Errorf("%s: the head of a column has no text", f.name)
			}
			if len(open) == 0 || open[len(open)-1] != token.Data {
				t.Errorf("%s: </%s> ends %v", f.name, token.Data, open)
				return
			}
			open = open[:len(open)-1]
		case html.CommentToken:
			t.Errorf("%s: the comment %q", f.name, token.Data)
		default:
		}
		last = token.String()
	}
}

func (f *file) attributes(t *testing.T, token html.Token) {
	t.Helper()
	source := false
	for _, a := range token.Attr {
		switch {
		case a.Key == "id":
			if f.ids[a.Val] || a.Val == "" {
				t.Errorf("%s: id %q twice", f.name, a.Val)
			}
			f.ids[a.Val] = true
		case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
			t.Errorf("%s: attribute %s of %s", f.name, a.Key, token.Data)
		case a.Key == "src" || a.Key == "href":
			source = true
			if u, err := url.Parse(a.Val); err != nil || u.Scheme != "" || u.Host != "" {
				if token.Data != "a" || u == nil || !elsewhere(u) && u.Scheme != "mailto" {
					t.Errorf("%s: %s asks for %s", f.name, token.Data, a.Val)
				}
				continue
			}
			f.links = append(f.links, a.Val)
		}
	}
	if token.Data == "style" || token.Data == "script" && !source {
		t.Errorf("%s: %s in the page", f.name, token.Data)
	}
}

// resolve demands that a link leads to a file, and to an id in it.
func resolve(t *testing.T, files map[string]*file, from *file, link string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Error(err)
		return
	}
	to := from
	if u.Path != "" {
		to = files[path.Join(path.Dir(from.name), u.Path)]
	}
	switch {
	case to == nil:
		t.Errorf("%s: the link %s leads nowhere", from.name, link)
	case u.Fragment != "" && !to.ids[u.Fragment]:
		t.Errorf("%s: the link %s names an id that is not there", from.name, link)
	}
}

// textOf is the text of a piece of HTML.
func textOf(t *testing.T, piece string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(piece))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "body" {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}
