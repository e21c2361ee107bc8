package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// release is one version to make.
type release struct {
	root, version, registry, download string
	to                                string // folder of the files
	time                              time.Time
	targets                           []target
	images                            []string // to build for both architectures
	digests                           []string // IMAGE=DIGEST, once they are built
	commit                            string   // of the source; empty: not known, or changed
	builder                           builder
	key                               ed25519.PrivateKey // none: no signature
	progress                          io.Writer
}

// make makes all files. The folder must be empty or absent, so that nothing of another version is summed and signed.
func (r *release) make(ctx context.Context) error {
	if entries, err := os.ReadDir(r.to); err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty", r.to)
	}
	if err := os.MkdirAll(r.to, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	scratch, err := os.MkdirTemp("", "fairlead-release-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	for _, t := range r.targets {
		fmt.Fprintln(r.progress, "program", t)
		if err := r.program(ctx, scratch, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.makeImages(ctx); err != nil {
		return err
	}
	fmt.Fprintln(r.progress, "manifests and chart")
	if err := r.manifests(ctx); err != nil {
		return err
	}
	if err := r.chart(ctx, filepath.Join(scratch, "fairlead")); err != nil {
		return err
	}
	if err := r.krew(); err != nil {
		return err
	}
	if err := r.homebrew(); err != nil {
		return err
	}
	sums, err := r.sums()
	if err != nil {
		return err
	}
	if err := r.provenance(sums); err != nil {
		return err
	}
	if r.key == nil {
		fmt.Fprintf(r.progress, "no signature: %s has no key\n", signingKey)
		return nil
	}
	return r.sign(sums)
}

// manifests writes install.yaml and its like.
func (r *release) manifests(ctx context.Context) error {
	to, err := filepath.Abs(r.to)
	if err != nil {
		return fmt.Errorf("find the folder: %w", err)
	}
	return r.run(ctx, "./config/generate/install", append(r.digestFlags(), "-version", r.version, "-registry", r.registry, to)...)
}

// chart packs the Helm chart.
func (r *release) chart(ctx context.Context, scratch string) error {
	if err := r.run(ctx, "./config/generate/chart", append(r.digestFlags(), "-version", r.version, "-registry", r.registry, scratch)...); err != nil {
		return err
	}
	name := "fairlead-" + strings.TrimPrefix(r.version, "v") + ".tgz"
	return r.pack(name, func(w *packer) error {
		return filepath.WalkDir(scratch, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			below, err := filepath.Rel(filepath.Dir(scratch), path)
			if err != nil {
				return err
			}
			return w.copy(filepath.ToSlash(below), path, 0o644)
		})
	})
}

// run runs a generator of the repository.
func (r *release) run(ctx context.Context, pkg string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"run", pkg}, args)...)
	cmd.Dir = r.root
	cmd.Env = slices.Concat(os.Environ(), toolset.CompilerEnv(), []string{"CGO_ENABLED=0"})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// file writes a file of the release.
func (r *release) file(name string, content []byte) error {
	path := filepath.Join(r.to, name)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is written twice", name)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
