package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocs runs the examples of pages: a yaml block whose first line names a file is that
// file, a console block is a command with its output.
func TestDocs(t *testing.T) {
	for name, least := range map[string]int{"explain.md": 4, "certs.md": 2, "diff.md": 3, "gateway/convert.md": 1} {
		path, err := filepath.Abs("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { examples(t, path, least) })
	}
}

// examples runs the examples of a page, which has at least so many.
func examples(t *testing.T, path string, least int) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var fresh strings.Builder
	commands := 0
	parts := strings.SplitAfter(string(page), "```")
	for i, part := range parts {
		if i%2 == 0 {
			fresh.WriteString(part)
			continue
		}
		body := strings.TrimSuffix(part, "```")
		kind, text, _ := strings.Cut(body, "\n")
		switch kind {
		case "yaml":
			if name, _, ok := strings.Cut(strings.TrimPrefix(text, "# "), "\n"); ok && strings.HasSuffix(name, ".yaml") {
				writeFile(t, name, []byte(text))
			}
		case "console":
			commands++
			line, want, _ := strings.Cut(strings.TrimPrefix(text, "$ "), "\n")
			got := invoke(t, line)
			got = got[:strings.LastIndex(got, "exit ")]
			if d := cmp.Diff(plain(want), plain(got)); d != "" && !*update {
				t.Errorf("%s (-docs +now):\n%s", line, d)
			}
			part = "console\n$ " + line + "\n" + got + "```"
		}
		fresh.WriteString(part)
	}
	if commands < least {
		t.Errorf("only %d examples", commands)
	}
	if *update {
		writeFile(t, path, []byte(fresh.String()))
	}
}
