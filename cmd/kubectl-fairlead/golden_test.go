package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the commands give into testdata and docs")

// testNow is after the creation of all manifests and before the end of the
// certificates that are meant to be good.
var testNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// TestGolden runs the commands of testdata/*.txtar. Files are manifests; "cmd
// NAME" holds a command line, "out NAME" what it writes and its exit code.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { golden(t, path) })
	}
}

func golden(t *testing.T, path string) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	outs, ran := map[string]string{}, 0
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, "out "); ok {
			outs[name] = string(f.Data)
		}
	}
	fresh := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		switch kind, name, _ := strings.Cut(f.Name, " "); kind {
		case "out":
		case "cmd":
			ran++
			got := invoke(t, strings.TrimSpace(string(f.Data)))
			if d := cmp.Diff(plain(outs[name]), plain(got)); d != "" && !*update {
				t.Errorf("%s: %s(-want +got):\n%s", name, f.Data, d)
			}
			fresh.Files = append(fresh.Files, f, txtar.File{Name: "out " + name, Data: []byte(got)})
		default:
			writeFile(t, f.Name, f.Data)
			fresh.Files = append(fresh.Files, f)
		}
	}
	if ran == 0 {
		t.Error("no command")
	}
	if *update {
		writeFile(t, path, txtar.Format(fresh))
	}
}

// contentHash ends the names of backends and servers. It changes with what
// HAProxy fixes at their birth, which is none of these tests' business.
var contentHash = regexp.MustCompile(`:[0-9a-f]{8}\b`)

// policyDoc is the registry's sentence about an annotation.
var policyDoc = regexp.MustCompile(`"doc": ".*"`)

// plain returns an output without hashes, column widths and what the registry
// of annotations says.
func plain(out string) string {
	out = policyDoc.ReplaceAllString(out, `"doc": "…"`)
	return blanks.ReplaceAllString(contentHash.ReplaceAllString(out, ":HASH"), " ")
}

var blanks = regexp.MustCompile(` +`)

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// invoke runs a command line, "kubectl fairlead …" or "… < file", and returns
// its output with the exit code.
func invoke(t *testing.T, line string) string {
	t.Helper()
	line, input, _ := strings.Cut(line, " < ")
	var in []byte
	if input != "" {
		var err error
		if in, err = os.ReadFile(input); err != nil {
			t.Fatal(err)
		}
	}
	args, err := words(strings.TrimPrefix(line, "kubectl fairlead"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &command{in: bytes.NewReader(in), out: &out, err: &out, now: testNow}
	code := c.run(t.Context(), args)
	if text := out.String(); text != "" && !strings.HasSuffix(text, "\n") {
		t.Errorf("%s: the output does not end in a line feed", line)
	}
	return out.String() + fmt.Sprintf("exit %d\n", code)
}

// words splits a command line at blanks outside of single quotes.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	quoted, begun := false, false
	for _, c := range line {
		switch {
		case c == '\'':
			quoted, begun = !quoted, true
		case c == ' ' && !quoted:
			if begun {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("%s: a quote is open", line)
	}
	if begun {
		out = append(out, word.String())
	}
	return out, nil
}
