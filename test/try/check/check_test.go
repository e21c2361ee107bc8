package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// TestServe: what `make try CHECK=1` checks, one test for each line that it prints.
func TestServe(t *testing.T) {
	haproxy, err := toolset.Path("haproxy")
	if err != nil {
		t.Skip(err)
	}
	root, err := toolset.Root()
	if err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp("", "try") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) })
	program := filepath.Join(work, "fairlead")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, "./cmd/fairlead")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	try := &trial{program: program, haproxy: haproxy, manifests: filepath.Join(root, "test", "try"), work: work, say: t.Logf}
	t.Cleanup(try.kill)
	ctx := t.Context() // that of a subtest would end the program with it
	for _, c := range try.checks() {
		if !t.Run(c.name, func(t *testing.T) {
			if err := c.run(ctx); err != nil {
				t.Fatalf("%v\n%s", err, try.logged())
			}
		}) {
			return
		}
	}
}
