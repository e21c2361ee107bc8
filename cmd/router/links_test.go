package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinks: a third of a router's memory is pages of its own program. These
// packages would double them, and each comes in with one harmless import.
func TestLinks(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("cannot list what the router links: %v", err)
	}
	for name := range strings.Lines(string(out)) {
		for _, heavy := range []string{
			"k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/client-go/listers",
			"k8s.io/client-go/tools/leaderelection", "k8s.io/client-go/tools/record",
			"sigs.k8s.io/controller-runtime", "github.com/google/gnostic-models",
			// It may call any method by its name, so the linker keeps all methods of all packages.
			"text/template", "html/template",
		} {
			if name = strings.TrimSpace(name); (name == heavy || strings.HasPrefix(name, heavy+"/")) && name != "text/template/parse" {
				t.Errorf("the router links %s", name)
			}
		}
	}
}
