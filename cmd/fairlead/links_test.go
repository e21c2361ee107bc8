package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestLinks: the first minute is mostly the time to compile this program. What a
// cluster or a cloud needs has no place in it, and comes in with one harmless import.
func TestLinks(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Skipf("cannot list what fairlead links: %v", err)
	}
	for name := range strings.Lines(string(out)) {
		for _, foreign := range []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "github.com/aws", "github.com/osrg/gobgp", "google.golang.org/grpc"} {
			if name = strings.TrimSpace(name); name == foreign || strings.HasPrefix(name, foreign+"/") {
				t.Errorf("fairlead links %s", name)
			}
		}
	}
}
