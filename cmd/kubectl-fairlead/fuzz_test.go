package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzCommands: whatever manifests say, each command gives an answer.
func FuzzCommands(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	texts, odd := regexp.MustCompile(`(host|path|name|value|namespace): ([\w./-]+)`), 0
	controls := []string{`\n`, `\t`, `\r`, `\0`, `\f`, `\e[2J`}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range a.Files {
			if filepath.Ext(m.Name) == ".yaml" {
				f.Add(m.Data, "https://www.example.com/shop/x", "shop")
				// In YAML these are escapes between double quotes.
				c := controls[odd%len(controls)]
				odd++
				f.Add(texts.ReplaceAll(m.Data, []byte(`$1: "$2`+c+`"`)), "https://www.example.com/shop/x"+c, "shop"+c)
			}
		}
	}
	f.Fuzz(func(t *testing.T, manifests []byte, url, name string) {
		for _, args := range [][]string{
			{"explain", "-f", "-", "--", url},
			{"explain", "-f", "-", "-H", "Host: any.example.com", "--client-ip", "203.0.113.1", "--", url},
			{"why", "-f", "-", "-n", "web", "--", "route/" + name},
			{"why", "-f", "-", "-n", "web", "--", "service/" + name},
			{"why", "-f", "-", "-n", "web", "--", "ingress/" + name},
			{"lint", "-f", "-"},
			{"render", "-f", "-", "-o", "json"},
			{"certs", "-f", "-"},
			{"diff", "-f", "-", "--against", os.DevNull, "-o", "markdown"},
			{"certs", "-f", "-", "-n", "web", "-o", "json", "--", name},
		} {
			c := &command{in: bytes.NewReader(manifests), out: io.Discard, err: io.Discard, now: testNow}
			if code := c.run(t.Context(), args); code < exitGood || code > exitUsage {
				t.Errorf("%v: exit code %d", args, code)
			}
		}
	})
}
