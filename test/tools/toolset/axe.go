package toolset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	axeVersion = "4.14.1"
	// axeSum is the SHA-512 of the package, as npm writes it.
	axeSum = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
	// axeBytes bounds the file.
	axeBytes = 32 << 20
	axeFile  = "axe/axe.min.js"
)

// Axe puts axe-core, which looks for what shuts people out of a page, into the tools folder: one file, of the package that
// the sum names. Tests of pages use it, and are skipped without it. It comes by npm, which knows the registry of the user.
func (b *Builder) Axe(ctx context.Context) error {
	return b.ensure(ctx, artefact{name: "axe", key: "axe-core " + axeVersion + " " + axeSum, outputs: []string{axeFile}, make: b.fetchAxe})
}

// AxePath returns the script. Its error names the next step.
func AxePath() (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, axeFile)
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("no axe-core: run `go run ./test/tools axe`")
	}
	return path, nil
}

func (b *Builder) fetchAxe(ctx context.Context) error {
	archive, err := b.axeArchive(ctx)
	if err != nil {
		return err
	}
	script, err := axeScript(archive)
	if err != nil {
		return err
	}
	path := filepath.Join(b.dir, axeFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make %s: %w", filepath.Dir(path), err)
	}
	if err := os.WriteFile(path, script, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	b.Progress("  axe-core %s", axeVersion)
	return nil
}

// axeArchive fetches the package.
func (b *Builder) axeArchive(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if _, err := exec.LookPath("npm"); err != nil {
		return nil, errors.New("npm, which fetches axe-core, is not installed: apt install npm")
	}
	folder, err := os.MkdirTemp(b.dir, "axe-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for axe-core: %w", err)
	}
	defer os.RemoveAll(folder)
	if _, err := b.run(ctx, command{dir: folder, args: []string{"npm", "pack", "--silent", "--ignore-scripts", "axe-core@" + axeVersion}}); err != nil {
		return nil, err
	}
	archive, err := os.ReadFile(filepath.Join(folder, "axe-core-"+axeVersion+".tgz"))
	if err != nil {
		return nil, fmt.Errorf("read axe-core: %w", err)
	}
	return archive, nil
}

// axeScript takes the script out of a package that has the sum.
func axeScript(archive []byte) ([]byte, error) {
	sum := sha512.Sum512(archive)
	if got := base64.StdEncoding.EncodeToString(sum[:]); got != axeSum {
		return nil, fmt.Errorf("axe-core %s is not the package that was pinned: its SHA-512 is %s, not %s; nothing was kept", axeVersion, got, axeSum)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("unpack axe-core: %w", err)
	}
	for files := tar.NewReader(unzipped); ; {
		head, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("unpack axe-core: %w", err)
		}
		if strings.TrimPrefix(head.Name, "package/") == filepath.Base(axeFile) {
			script, err := io.ReadAll(io.LimitReader(files, axeBytes))
			if err != nil {
				return nil, fmt.Errorf("unpack axe-core: %w", err)
			}
			return script, nil
		}
	}
}

// Browser puts what tests of pages need into the tools folder. Without it these tests are skipped, so what cannot be fetched
// is reported, and stops nothing.
func (b *Builder) Browser(ctx context.Context) error {
	for name, part := range map[string]func(context.Context) error{"chromium": b.Chromium, "axe-core": b.Axe} {
		if err := part(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			b.Progress("%s: NOT THERE, tests that need it are skipped: %v", name, err)
		}
	}
	return nil
}
