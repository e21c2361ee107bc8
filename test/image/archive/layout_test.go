package archive

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// machines are what programs for an architecture say in their headers.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// TestLayout: an image of a release is one index with an image for each architecture, with programs for it, and the
// same bytes each time.
func TestLayout(t *testing.T) {
	t.Parallel()
	root, err := toolset.Root()
	if err != nil {
		t.Fatal(err)
	}
	b, err := toolset.New(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var packed [2][]byte
	var digests [2]v1.Hash
	for i := range packed {
		file := filepath.Join(t.TempDir(), "pause.tar")
		digest, bills, err := Layout(t.Context(), b, Release{Root: root, Version: "v1.2.3", Arches: []string{"amd64", "arm64"}, Time: time.Unix(1_800_000_000, 0)}, "pause", file)
		if err != nil {
			t.Fatal(err)
		}
		if len(bills) != 2 || !bytes.Contains(bills["arm64"].CycloneDX, []byte(`"v1.2.3"`)) || !bytes.Contains(bills["arm64"].SPDX, []byte(`"v1.2.3"`)) {
			t.Errorf("bills of materials: %q", bills)
		}
		digests[i] = digest
		if packed[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if digests[0] != digests[1] || !bytes.Equal(packed[0], packed[1]) {
		t.Errorf("two builds differ: %s, %s", digests[0], digests[1])
	}
	index := readLayout(t, packed[0])
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != digests[0] || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("the layout has %+v, want %s", manifest.Manifests, digests[0])
	}
	inner, err := index.ImageIndex(digests[0])
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = inner.IndexManifest(); err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("the index: %v", err)
	}
	for _, m := range manifest.Manifests {
		image, err := inner.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != m.Platform.Architecture || config.Config.Labels["org.opencontainers.image.version"] != "v1.2.3" {
			t.Errorf("%s has the configuration %+v", m.Platform, config)
		}
		if got := machine(t, image, "usr/bin/pause"); got != machines[m.Platform.Architecture] {
			t.Errorf("the program for %s is for %s", m.Platform, got)
		}
	}
}

// readLayout unpacks an archive of a layout.
func readLayout(t *testing.T, packed []byte) v1.ImageIndex {
	t.Helper()
	folder := t.TempDir()
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, filepath.FromSlash(header.Name))
		if strings.HasSuffix(header.Name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if content, failed := io.ReadAll(r); failed == nil {
			err = os.WriteFile(path, content, 0o644)
		} else {
			err = failed
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// machine is what a program in an image is for.
func machine(t *testing.T, image v1.Image, name string) elf.Machine {
	t.Helper()
	flat := mutate.Extract(image)
	defer flat.Close()
	for r := tar.NewReader(flat); ; {
		header, err := r.Next()
		if err != nil {
			t.Fatalf("find %s: %v", name, err)
		}
		if header.Name != name {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		return f.Machine
	}
}

// TestForeignHAProxy: HAProxy for another architecture comes with its own loader and libraries, each from a package.
func TestForeignHAProxy(t *testing.T) {
	t.Parallel()
	tools, err := toolset.Dir()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for arch, want := range machines {
		root := variant{arch: arch}.root(tools)
		if _, err := os.Stat(root); err != nil {
			continue
		}
		seen++
		files, err := closure(root)
		if err != nil {
			t.Fatal(err)
		}
		packages, err := packagesOf(filepath.Dir(root), files)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) < 10 || len(packages) < 8 {
			t.Errorf("%s: %d files of %d packages", arch, len(files), len(packages))
		}
		for name, file := range files {
			f, err := elf.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			if f.Machine != want {
				t.Errorf("%s: %s is for %s", arch, name, f.Machine)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if seen < 2 {
		t.Skip("HAProxy of one architecture only: go run ./test/tools haproxy-arm64")
	}
}
