package main

import (
	"archive/tar"
	"bytes"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestImages: what the manifests name is what the registry has after the push, for both architectures.
func TestImages(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	r := release{
		root: root, to: t.TempDir(), version: "v1.2.3", registry: strings.TrimPrefix(server.URL, "http://") + "/f",
		images: []string{"pause"}, progress: io.Discard,
	}
	if err := r.makeImages(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.push(t.Context()); err != nil {
		t.Fatal(err)
	}
	flags := r.digestFlags()
	if len(flags) != 2 || flags[0] != "-digest" {
		t.Fatalf("the generators get %q", flags)
	}
	reference, err := name.NewDigest(r.registry + "/" + strings.Replace(flags[1], "=", "@", 1))
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) != 2 {
		t.Errorf("the registry has %+v: %v", manifest, err)
	}
	tag, err := name.NewTag(r.registry + "/pause:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if head, err := remote.Head(tag); err != nil || head.Digest.String() != reference.DigestStr() {
		t.Errorf("the tag of the version is %v: %v", head, err)
	}
	r.to = t.TempDir()
	if err := r.push(t.Context()); err == nil || !strings.Contains(err.Error(), "make release") {
		t.Errorf("without the files: %v", err)
	}
}

// TestUnpackLayout: no archive writes outside of its folder.
func TestUnpackLayout(t *testing.T) {
	t.Parallel()
	for _, header := range []*tar.Header{
		{Typeflag: tar.TypeReg, Name: "../out"}, {Typeflag: tar.TypeReg, Name: "/tmp/fairlead-out"}, {Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc"},
	} {
		var packed bytes.Buffer
		w := tar.NewWriter(&packed)
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "in")
		if err := os.Mkdir(to, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unpackLayout(&packed, to); err == nil {
			t.Errorf("%s is unpacked", header.Name)
		}
	}
}
