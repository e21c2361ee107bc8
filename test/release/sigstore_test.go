package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/fairlead/fairlead/test/full"
)

// TestSigstore: what this program makes is what test/release/sigstore signs, attaches and verifies, by the commands of the pages, and its
// own tests pass. It is a module of its own, which takes a minute to compile.
func TestSigstore(t *testing.T) {
	t.Parallel()
	full.Only(t, "the workflow ci runs it for each change (make test-signatures)")
	module := filepath.Join(root, "test/release/sigstore")
	run := func(folder string, env []string, command ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(module, nil, "go", "test", "."); err != nil {
		t.Errorf("its own tests: %v: %s", err, out)
	}
	r, secret := smallRelease(t)
	env := []string{
		"FAIRLEAD_SIGNING_KEY=" + secret, "VERSION=1.2.3", "REGISTRY=" + r.registry, "DIST=" + r.to, "KEY=" + filepath.Join(r.to, "release.pub"),
	}
	for _, command := range []string{"sign", "attach"} {
		if out, err := run(module, env, "go", "run", ".", command, "-version", r.version, "-registry", r.registry, r.to); err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	for _, page := range []string{"SECURITY.md", "docs/operator/verify.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		block := blockWith(string(text), "test/release/sigstore")
		if block == "" {
			t.Errorf("%s has no commands that verify a release", page)
			continue
		}
		if out, err := run(root, env, "bash", "-eu", "-c", block); err != nil || strings.Count(out, "are good") != 2 {
			t.Errorf("the commands of %s: %v: %s", page, err, out)
		}
	}
	file := filepath.Join(r.to, "install.yaml")
	if err := os.WriteFile(file, []byte("kind: Secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := run(module, env, "go", "run", ".", "verify", "-version", r.version, "-registry", r.registry, "-key", filepath.Join(r.to, "release.pub"), r.to)
	if err == nil || !strings.Contains(out, "install.yaml: its sum is") {
		t.Errorf("a changed file: %v: %s", err, out)
	}
}

// smallRelease makes a release with the smallest image, in a folder and in a registry.
func smallRelease(t *testing.T) (release, string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	r := release{
		root: root, to: t.TempDir(), version: "v1.2.3", registry: strings.TrimPrefix(server.URL, "http://") + "/f", images: []string{"pause"},
		time: time.Unix(1_800_000_000, 0), commit: strings.Repeat("ab", 20), key: key, progress: io.Discard,
	}
	for _, step := range []func() error{
		func() error { return r.makeImages(t.Context()) },
		func() error { return r.file("install.yaml", []byte("kind: Namespace\n")) },
		func() error {
			sums, err := r.sums()
			if err != nil {
				return err
			}
			if err := r.provenance(sums); err != nil {
				return err
			}
			return r.sign(sums)
		},
		func() error { return r.push(t.Context()) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return r, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// blockWith returns the first block of commands of a page that has some text.
func blockWith(page, text string) string {
	for part := range strings.SplitSeq(page, "```sh\n") {
		if block, _, found := strings.Cut(part, "```"); found && strings.Contains(block, text) {
			return block
		}
	}
	return ""
}
