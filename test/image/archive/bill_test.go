package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"

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
	bill, err := all.cycloneDX(cdx.Component{Name: "router"})
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
	for _, name := range []string{"stdlib", "github.com/openshift/api", "haproxy", "libc6", "zlib1g"} {
		if !listed[name] {
			t.Errorf("the bill does not list %s with its version", name)
		}
	}
	sameParts(t, bom, all)
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

// sameParts: the bill in the form of SPDX is valid, has the parts of the other form, and is the same each time.
func sameParts(t *testing.T, bom cdx.BOM, all parts) {
	t.Helper()
	at := time.Unix(1_800_000_000, 0)
	text, err := all.spdx(cdx.Component{Type: cdx.ComponentTypeContainer, Name: "fairlead.dev/router", Version: "v1.2.3"}, at)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := all.spdx(cdx.Component{Type: cdx.ComponentTypeContainer, Name: "fairlead.dev/router", Version: "v1.2.3"}, at); err != nil || !bytes.Equal(text, again) {
		t.Errorf("two calls differ: %v", err)
	}
	var doc v2_3.Document
	if err := spdxjson.ReadInto(bytes.NewReader(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.SPDXVersion != "SPDX-2.3" || doc.DataLicense != "CC0-1.0" || doc.CreationInfo.Created != "2027-01-15T08:00:00Z" || !strings.HasPrefix(doc.DocumentNamespace, "https://") {
		t.Errorf("the document is %s, %s, of %s, %s", doc.SPDXVersion, doc.DataLicense, doc.CreationInfo.Created, doc.DocumentNamespace)
	}
	var here, there []string
	ids := map[string]bool{}
	for _, p := range doc.Packages {
		if ids[string(p.PackageSPDXIdentifier)] {
			t.Errorf("the name %s is there twice", p.PackageSPDXIdentifier)
		}
		ids[string(p.PackageSPDXIdentifier)] = true
		for _, ref := range p.PackageExternalReferences {
			here = append(here, ref.Locator)
		}
	}
	for _, r := range doc.Relationships {
		if to := string(r.RefB.ElementRefID); !ids[to] {
			t.Errorf("a relationship to %q, which is not there", to)
		}
	}
	for _, c := range *bom.Components {
		there = append(there, c.PackageURL)
	}
	slices.Sort(here)
	slices.Sort(there)
	if len(here) < 30 || !slices.Equal(here, there) || len(doc.Packages) != len(here)+1 || len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("SPDX has %d parts and %d relationships, CycloneDX %d parts", len(here), len(doc.Relationships), len(there))
	}
}

// TestStatus: scanners find the packages of an image, and their sources, where dpkg would note them.
func TestStatus(t *testing.T) {
	t.Parallel()
	of := parts{arch: "arm64", packages: []toolset.Package{
		{Name: "haproxy", Version: "3.4.1-1", Source: "haproxy", SourceVersion: "3.4.1-1"},
		{Name: "libgcc-s1", Version: "16.2.0-4", Source: "gcc-16", SourceVersion: "16.2.0-4"},
		{Name: "libx1", Version: "1:2-3+b1", Source: "x", SourceVersion: "1:2-3"},
	}}
	layer, err := newLayer(func(l *layerWriter) { l.status(of) })
	if err != nil {
		t.Fatal(err)
	}
	packed, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	got := map[string]string{}
	for r := tar.NewReader(packed); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if name, found := strings.CutPrefix(header.Name, "var/lib/dpkg/status.d/"); found && name != "" {
			got[name] = string(text)
		}
	}
	const end = "Description: part of Fairlead's image\n"
	want := map[string]string{
		"haproxy":   "Package: haproxy\nStatus: install ok installed\nArchitecture: arm64\nVersion: 3.4.1-1\n" + end,
		"libgcc-s1": "Package: libgcc-s1\nStatus: install ok installed\nArchitecture: arm64\nSource: gcc-16\nVersion: 16.2.0-4\n" + end,
		"libx1":     "Package: libx1\nStatus: install ok installed\nArchitecture: arm64\nSource: x (1:2-3)\nVersion: 1:2-3+b1\n" + end,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := of.complete(); err != nil {
		t.Error(err)
	}
	of.packages[1].Source = ""
	if err := of.complete(); err == nil || !strings.Contains(err.Error(), "libgcc-s1") {
		t.Errorf("a package of an unknown source: %v", err)
	}
}
