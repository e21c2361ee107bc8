package archive

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// TestBill: what is told of an image is what it holds: every file of HAProxy
// comes from a package that is listed, with its licence, and so do all modules.
func TestBill(t *testing.T) {
	t.Parallel()
	tools, err := toolset.Dir()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(tools, "haproxy-3.4")
	if _, err := os.Stat(filepath.Join(home, toolset.PackagesFile)); err != nil {
		t.Skip("HAProxy is not there: make tools")
	}
	files, err := closure(filepath.Join(home, "root"))
	if err != nil {
		t.Fatal(err)
	}
	packages, err := packagesOf(home, files)
	if err != nil {
		t.Fatal(err)
	}
	root, err := toolset.Root()
	if err != nil {
		t.Fatal(err)
	}
	built := t.TempDir()
	if err := os.MkdirAll(filepath.Join(built, "images", "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := compile(t.Context(), built, root, "./cmd/router", variant{arch: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	all := parts{programs: []string{program}, packages: packages, arch: "amd64"}
	bill, err := all.bill(cdx.Component{Name: "router"})
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(bill), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range *bom.Components {
		listed[c.Name] = c.Version != "" && c.PackageURL != ""
	}
	for _, name := range []string{"std", "github.com/openshift/api", "haproxy", "libc6", "zlib1g"} {
		if !listed[name] {
			t.Errorf("the bill does not list %s with its version", name)
		}
	}
	notices, err := all.notices(filepath.Join(home, "root"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"==== github.com/openshift/api", "==== haproxy", "==== libc6"} {
		if !bytes.Contains(notices, []byte(want)) {
			t.Errorf("the notices lack %q", want)
		}
	}
}
