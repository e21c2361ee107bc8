package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// TestRelease: each image in the manifests of a release is named by a digest that
// the registry has.
func TestRelease(t *testing.T) {
	t.Parallel()
	kubectl, err := toolset.Path("kubectl")
	if err != nil {
		t.Skip(err)
	}
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	r := release{
		registry: strings.TrimPrefix(server.URL, "http://") + "/fairlead", images: t.TempDir(), manifests: "../../../config/default",
		to: filepath.Join(t.TempDir(), "release"),
	}
	for _, program := range programs() {
		image, err := random.Image(100, 1)
		if err != nil {
			t.Fatal(err)
		}
		tag, err := name.NewTag("fairlead.dev/" + program + ":dev")
		if err != nil {
			t.Fatal(err)
		}
		if err := tarball.WriteToFile(filepath.Join(r.images, program+".tar"), tag, image); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rendered []byte
	for _, folder := range []string{r.to, filepath.Join(r.to, "console")} {
		out, err := exec.CommandContext(t.Context(), kubectl, "kustomize", folder).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		rendered = append(rendered, out...)
	}
	seen := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)(?:image: |name: (?:ROUTER|CANARY)_IMAGE\n *value: )(.*)$`).FindAllStringSubmatch(string(rendered), -1) {
		reference, err := name.NewDigest(match[1])
		if err != nil {
			t.Errorf("%q is not named by digest: %v", match[1], err)
			continue
		}
		if _, err := remote.Head(reference, remote.WithContext(t.Context())); err != nil {
			t.Errorf("%s is not in the registry: %v", reference, err)
		}
		seen[filepath.Base(reference.Context().RepositoryStr())] = true
	}
	for _, program := range programs() {
		if !seen[program] {
			t.Errorf("no image of %s in the manifests", program)
		}
	}
	if left := regexp.MustCompile(`fairlead\.dev/[a-z]+:\S*`).FindAllString(string(rendered), -1); len(left) > 0 {
		t.Errorf("images without a digest: %q", left)
	}
}

// TestReleaseWithoutImages says what to do.
func TestReleaseWithoutImages(t *testing.T) {
	t.Parallel()
	r := release{registry: "registry.example.com/fairlead", images: t.TempDir(), to: filepath.Join(t.TempDir(), "release")}
	if err := r.publish(t.Context()); err == nil || !strings.Contains(err.Error(), "make images") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(r.to); err == nil {
		t.Error("manifests are written for images that are not there")
	}
}
