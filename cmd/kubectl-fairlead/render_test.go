package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/fairlead/fairlead/router/explain"
)

// TestRender: the files are all there, lead where explain says, and hold no
// private key in either form.
func TestRender(t *testing.T) {
	a, err := txtar.ParseFile("testdata/certificate.txtar")
	if err != nil {
		t.Fatal(err)
	}
	manifests := a.Files[0].Data
	for _, args := range [][]string{
		{"render", "-f", "-"},
		{"render", "-f", "-", "-o", "json"},
		{"render", "-f", "-", "--haproxy", "3.0", "-o", "json"},
	} {
		var out bytes.Buffer
		c := &command{in: bytes.NewReader(manifests), out: &out, err: &out, now: testNow}
		if code := c.run(t.Context(), args); code != exitGood {
			t.Fatalf("%v: exit %d: %s", args, code, out.String())
		}
		if strings.Contains(out.String(), "PRIVATE KEY-----") {
			t.Errorf("%v shows a private key", args)
		}
		if args[len(args)-1] != "json" {
			checkArchive(t, out.Bytes())
			continue
		}
		var r explain.Rendered
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		checkFiles(t, r.Files)
	}
}

// checkArchive reads the text form, which is a txtar archive.
func checkArchive(t *testing.T, text []byte) {
	t.Helper()
	files := map[string]string{}
	for _, f := range txtar.Parse(text).Files {
		files[f.Name] = string(f.Data)
	}
	checkFiles(t, files)
}

func checkFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for file, part := range map[string]string{
		"haproxy.cfg":   "\nbackend be_edge_http:web:own:",
		"maps/http.map": "own.example.com/ !none",
		"crt.list":      " own.example.com",
	} {
		if !strings.Contains(files[file], part) {
			t.Errorf("%s lacks %q; there are %v", file, part, slices.Sorted(maps.Keys(files)))
		}
	}
	if !strings.Contains(files["maps/https.map"], "own.example.com/ be_edge_http:web:own:") || strings.Contains(files["maps/https.map"], "bad.example.com") {
		t.Errorf("maps/https.map:\n%s", files["maps/https.map"])
	}
	certificates := 0
	for name, text := range files {
		if strings.HasPrefix(name, "certs/") {
			certificates++
			if !strings.Contains(text, "BEGIN CERTIFICATE") || !strings.Contains(text, "# PRIVATE KEY is left out") {
				t.Errorf("%s:\n%s", name, text)
			}
		}
	}
	if certificates != 5 {
		t.Errorf("%d certificates", certificates)
	}
}
