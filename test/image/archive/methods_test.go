package archive

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestUnusedMethods: no program of the router or of the speaker calls methods by their names, with
// which the linker keeps all methods of all packages. One import is enough: of text/template or of
// what has it. (The router's firewall is left out.)
func TestUnusedMethods(t *testing.T) {
	t.Parallel()
	for _, pkg := range []string{"router", "speaker", "speaker-bgp"} {
		target := filepath.Join(t.TempDir(), pkg)
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w", "-o", target, "github.com/fairlead/fairlead/cmd/"+pkg)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		program, err := os.ReadFile(target)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(program, []byte("text/template.(*state).evalField")) {
			t.Errorf("%s executes templates", pkg)
		}
		t.Logf("%s: %.1f MB", pkg, float64(len(program))/1e6)
	}
}
