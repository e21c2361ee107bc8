package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const committed = `
kind: Route
apiVersion: route.openshift.io/v1
metadata: {name: shop, namespace: demo}
spec: {host: www.example.com, to: {kind: Service, name: shop}}
---
kind: Service
apiVersion: v1
metadata: {name: shop, namespace: demo}
spec: {ports: [{port: 80}]}
`

// TestDiffGit: files are compared with what they were in a commit.
func TestDiffGit(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	do := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", top, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, []byte(text))
	}
	do("init", "--quiet", "--initial-branch=main")
	write("app/shop.yaml", committed)
	write("app/.gitattributes", "*.yaml export-ignore\n") // which is for archives alone
	if err := os.Symlink("/etc/hostname", filepath.Join(top, "app/link.yaml")); err != nil {
		t.Fatal(err)
	}
	do("add", ".")
	do("commit", "--quiet", "-m", "first")
	if err := os.Remove(filepath.Join(top, "app/link.yaml")); err != nil {
		t.Fatal(err)
	}
	write("app/shop.yaml", strings.ReplaceAll(committed, "host: www.", "host: shop."))
	write("new/new.yaml", strings.ReplaceAll(committed, "www.", "new."))

	for _, test := range []struct {
		paths, against string
		code           int
		want           []string
	}{
		{"app", "git:main", exitBad, []string{"lost", "http://www.example.com", "gained", "http://shop.example.com"}},
		{"app/shop.yaml", "git:HEAD", exitBad, []string{"lost", "http://www.example.com"}},
		{"new", "git:main", exitBad, []string{"gained", "http://new.example.com"}},
		{"app", "git:none", exitUsage, []string{"git knows no such commit"}},
		{"app", "git:-x", exitUsage, []string{"names no commit"}},
		{"app", "git:", exitUsage, []string{"names no commit"}},
		{"-", "git:main", exitUsage, []string{"not standard input"}},
	} {
		var out bytes.Buffer
		path := test.paths
		if path != "-" {
			path = filepath.Join(top, path)
		}
		c := &command{in: strings.NewReader(""), out: &out, err: &out, now: testNow}
		code := c.run(t.Context(), []string{"diff", "-f", path, "--against", test.against})
		if code != test.code {
			t.Errorf("%s against %s: exit %d: %s", test.paths, test.against, code, out.String())
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s against %s lacks %q: %s", test.paths, test.against, want, out.String())
			}
		}
	}
}
