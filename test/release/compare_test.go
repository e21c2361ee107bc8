package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompared: a release that is not what its commit makes is refused, and what differs is named.
func TestCompared(t *testing.T) {
	t.Parallel()
	bill := func(version string) string {
		return `{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[{"type":"library","name":"libc6","purl":"pkg:deb/debian/libc6@` + version + `"}]}`
	}
	good := map[string]string{"install.yaml": "kind: Namespace\n", "router.cdx.json": bill("1")}
	for name, c := range map[string]struct {
		published map[string]string
		change    string // file that is changed after it was summed
		want      []string
	}{
		"equal":           {good, "", nil},
		"another file":    {map[string]string{"install.yaml": "kind: Secret\n", "router.cdx.json": bill("1")}, "", []string{"install.yaml: the commit makes another"}},
		"one more":        {map[string]string{"install.yaml": good["install.yaml"], "router.cdx.json": bill("1"), "x": ""}, "", []string{"x: it is published, and the commit does not make it"}},
		"one less":        {map[string]string{"router.cdx.json": bill("1")}, "", []string{"install.yaml: the commit makes it, and it is not published"}},
		"another package": {map[string]string{"install.yaml": good["install.yaml"], "router.cdx.json": bill("2")}, "", []string{"-pkg:deb/debian/libc6@2", "+pkg:deb/debian/libc6@1"}},
		"changed later":   {good, "install.yaml", []string{"install.yaml: its sum is not that in SHA256SUMS"}},
	} {
		var folders [2]string
		for i, files := range []map[string]string{c.published, good} {
			r := release{to: t.TempDir()}
			folders[i] = r.to
			for name, text := range files {
				if err := r.file(name, []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.sums(); err != nil {
				t.Fatal(err)
			}
		}
		if c.change != "" {
			if err := os.WriteFile(filepath.Join(folders[0], c.change), []byte("other"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		err := compared(folders[0], folders[1], &out)
		if len(c.want) == 0 {
			if err != nil || !strings.Contains(out.String(), "2 files") {
				t.Errorf("%s: %v, %q", name, err, &out)
			}
			continue
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", name, err, want)
			}
		}
	}
	r := release{to: t.TempDir()}
	if err := r.file("SHA256SUMS", []byte(strings.Repeat("0", 64)+"  ../x\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := readSums(r.to); err == nil {
		t.Error("sums of a file elsewhere are taken")
	}
}
