package docs

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// word is one that the text of the project does not use, with what to write
// instead.
type word struct {
	pattern *regexp.Regexp
	instead string
}

// words are archaic, or make a person of a program.
var words = []word{
	{whole(`anew`), `"again", "from scratch"`},
	{whole(`lest`), `"so that … not"`},
	{regexp.MustCompile(`(?i)([,;(] ?save\b|\bsave (?:that|for|in|when|where|if|by|on|with|of|at|as)\b)`), `"except", "unless"`},
	{whole(`shall`), `"must", "is to", or the present tense`},
	{whole(`part(?:ed|s) by`), `"separated by"`},
	{whole(`parted`), `"separated", "divided"`},
	{whole(`whoever|whosoever`), `the noun: "a user who", "the client that"`},
	{whole(`nobody|anybody`), `the noun: "no client", "no other program", "no node"`},
	{whole(`somebody`), `the noun: "another program", "another owner", "a user"`},
	{whole(`everybody`), `the noun: "all clients", "all Routes"`},
	{whole(`(?:is|are) none of`), `"unknown …; use one of: …"`},
	{whole(`likewise`), `"also", "the same holds for"`},
	{whole(`tells?|told|telling|hears?|heard`), `"reports", "announces", "sends", "receives", "distinguishes"`},
	{whole(`what (?:is|are) (?:no|none)`), `the noun, not a clause in its place: "other Routes", "unmanaged certificates"`},
	{regexp.MustCompile(`(?i)((?:\b(?:by|to|for|of)|[:;,]) who)\b`), `the noun: "the user who", "the client that", "the owner"`},
	{whole(`blanks`), `"space", "separated by spaces"`},
	{whole(`st(?:ands?|ood) up`), `"starts", "is made"`},
	{whole(`heed(?:s|ed)?`), `"honours", "follows"`},
	{whole(`mend(?:s|ed)?`), `"fix", "repair"`},
	{whole(`hence|thence|whence`), `"so", "therefore"`},
	{whole(`of late`), `"recently"`},
}

// whole returns a pattern that only whole words match.
func whole(words string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\w-])(` + words + `)(?:$|[^\w-])`)
}

// source is a set of files with text for people.
type source struct {
	// path is a file, or a folder with all files below, from the root of the repository.
	path string
	// ends is how the names of the files end.
	ends string
	// text blanks everything in a file that is not text for people and leaves
	// its lines where they are.
	text func(string) string
}

// sources are what the test reads. A new kind of file needs a function that
// finds its text.
var sources = []source{
	{"README.md", "", prose},
	{"CONTRIBUTING.md", "", prose},
	{"SECURITY.md", "", prose},
	{"CHANGELOG.md", "", prose},
	{"docs", ".md", prose},
	{"config", ".yaml", comments},
	{"api", ".go", messages},
	{"cmd", ".go", messages},
	{"console", ".go", messages},
	{"console/template", ".html", func(page string) string { return page }},
	{"examples", ".go", messages},
	{"lbprovider", ".go", messages},
	{"operator", ".go", messages},
	{"router", ".go", messages},
}

// unclean lists files that still use such words. It only gets shorter: the test
// fails for a file that is here without need.
var unclean = map[string]string{
	"docs/routes/annotations.md":    "generated from router/policy",
	"docs/cloud/aws-annotations.md": "generated from lbprovider/cloud/aws/stack",

	"lbprovider/cloud/aws/stack/annotation.go": "a value of users, and the page above",
	"lbprovider/inspect/text.go":               "cases hold these words",
	"router/door/ingress/tls.go":               "cases hold these words",
	"router/policy/allowlist.go":               "cases hold these words",
}

var (
	// code is what is quoted from programs: spans, targets of links, and HTML comments.
	code     = regexp.MustCompile("`[^`\n]*`|\\]\\([^)\n]*\\)|<!--.*?-->")
	notBreak = regexp.MustCompile(`[^\n]`)
	indented = regexp.MustCompile(`(?m)^    .*$`)
	remark   = regexp.MustCompile(`(?:^|\s)#(.*)$`)
)

// prose is the text of a page without its code.
func prose(page string) string {
	blank := func(s string) string { return notBreak.ReplaceAllString(s, " ") }
	page = fence.ReplaceAllStringFunc(page, blank)
	page = indented.ReplaceAllStringFunc(page, blank)
	return code.ReplaceAllString(page, " x ")
}

// comments is the text of a manifest's comments.
func comments(manifest string) string {
	lines := strings.Split(manifest, "\n")
	for i, line := range lines {
		lines[i] = ""
		if m := remark.FindStringSubmatch(line); m != nil {
			lines[i] = m[1]
		}
	}
	return strings.Join(lines, "\n")
}

// messages are the strings of a program: what it says in findings, logs, help and
// metrics.
func messages(program string) string {
	var s scanner.Scanner
	set := token.NewFileSet()
	text := bytes.Repeat([]byte{' '}, len(program))
	for i := range text {
		if program[i] == '\n' {
			text[i] = '\n'
		}
	}
	s.Init(set.AddFile("", -1, len(program)), []byte(program), nil, 0)
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return string(text)
		}
		if kind == token.STRING && strings.Contains(literal, " ") {
			copy(text[set.Position(at).Offset:], literal)
		}
	}
}

// TestWords holds the style of CONTRIBUTING.md.
func TestWords(t *testing.T) {
	t.Parallel()
	read := 0
	for _, s := range sources {
		err := filepath.WalkDir(filepath.Join(root, s.path), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, s.ends) || strings.HasSuffix(path, "_test.go") {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read++
			complaints := badWords(s.text(string(text)))
			if why, listed := unclean[name]; listed {
				if len(complaints) == 0 {
					t.Errorf("%s has no such word any more: take it out of the list unclean (%s)", name, why)
				}
				return nil
			}
			for _, c := range complaints {
				t.Errorf("%s:%d: %q: write %s", name, c.line, c.word, c.instead)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 80 {
		t.Errorf("only %d files read; have they moved?", read)
	}
	for name := range unclean {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Errorf("the list unclean names a file that is gone: %v", err)
		}
	}
}

// badWord is a word in a line of a text.
type badWord struct {
	line          int
	word, instead string
}

// badWords returns the words of a text that are in the list.
func badWords(text string) []badWord {
	var all []badWord
	for i, line := range strings.Split(text, "\n") {
		// Most of a program is blanked, and each pattern would try each of its spaces. Two of them still part one text from the next.
		for strings.Contains(line, "   ") {
			line = strings.ReplaceAll(line, "   ", "  ")
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		for _, w := range words {
			for _, m := range w.pattern.FindAllStringSubmatch(line, -1) {
				all = append(all, badWord{i + 1, m[1], w.instead})
			}
		}
	}
	return all
}

// TestWordsAreFound: the patterns find what they are for, and nothing else.
func TestWordsAreFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		found      []string
	}{
		{"archaic", "It is written anew, lest two answer.", []string{"anew", "lest"}},
		{"the second line", "Fine.\nNames shall be short.", []string{"shall"}},
		{"except", "all, save the first; no change save that it moves", []string{", save", "save that"}},
		{"to save is allowed", "It saves memory. Save the file.", nil},
		{"a person for a program", "Whoever writes tells Somebody; nobody mends it", []string{"Whoever", "nobody", "Somebody", "tells", "mends"}},
		{"a clause for a noun", "It deletes what is no route's, by who writes it; the user who reads it.", []string{"what is no", "by who"}},
		{"to tell, to hear, blanks", "Programs cannot tell; they hear blanks. Tellers fill in blanket forms.", []string{"tell", "hear", "blanks"}},
		{"far in a line, and no words of two texts", "x" + strings.Repeat(" ", 60) + "nobody" + strings.Repeat(" ", 31) + "is" + strings.Repeat(" ", 30) + "none of", []string{"nobody"}},
		{"within a word", "the newest, a parcel, apartment, marshalled, re-parted", nil},
		{"code", "`is none of` [x](somebody.md)\n\n```text\nnobody\n```\n\n    anew\n\nhence", []string{"hence"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range badWords(prose(test.text)) {
				got = append(got, strings.TrimSpace(c.word))
			}
			if len(got) != len(test.found) {
				t.Fatalf("found %q, want %q", got, test.found)
			}
			for _, w := range test.found {
				if !strings.Contains(strings.Join(got, "|"), w) {
					t.Errorf("found %q, want %q", got, test.found)
				}
			}
		})
	}
	const manifest = "# anew\nkind: A # lest\nnobody: x\nurl: a#shall\n"
	if got := badWords(comments(manifest)); len(got) != 2 || got[0].line != 1 || got[1].line != 2 {
		t.Errorf("comments of a manifest: %+v", got)
	}
}
