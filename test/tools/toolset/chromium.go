package toolset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// chromiumRecipe changes when the way of unpacking changes, so that old results are not used again.
const chromiumRecipe = "1"

// chromiumFolder is where the unpacked packages are, below the tools folder.
const chromiumFolder = "chromium"

// Chromium puts Debian's chromium-headless-shell with its libraries and one font into the tools folder; the machine's own
// packages stay as they are. Tests of pages use it, and are skipped without it.
func (b *Builder) Chromium(ctx context.Context) error {
	return b.ensure(ctx, artefact{
		name: chromiumFolder,
		// The patched program holds the folder's absolute path.
		key:     strings.Join([]string{"recipe", chromiumRecipe, "at", b.dir}, " "),
		outputs: []string{"bin/chromium-headless-shell"},
		make:    b.unpackChromium,
	})
}

func (b *Builder) unpackChromium(ctx context.Context) error {
	if err := b.Packages(ctx, hostPackages("haproxy")); err != nil {
		return err
	}
	var problems []error
	for _, suite := range []string{"trixie", "bookworm"} {
		apt := privateAPT{builder: b, home: filepath.Join(b.dir, "apt", "chromium-"+suite), suites: []string{suite}}
		err := apt.update(ctx)
		if err == nil {
			err = b.unpackChromiumFrom(ctx, apt)
		}
		if err == nil {
			return nil
		}
		problems = append(problems, err)
	}
	return fmt.Errorf("no Debian suite gave Chromium: %w", errors.Join(problems...))
}

func (b *Builder) unpackChromiumFrom(ctx context.Context, apt privateAPT) error {
	var packages []string
	for _, name := range []string{"chromium-headless-shell", "fonts-dejavu-core"} {
		files, err := apt.download(ctx, name)
		if err != nil {
			return err
		}
		packages = append(packages, files...)
	}
	root := filepath.Join(b.dir, chromiumFolder, "root")
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("clear %s: %w", root, err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", root, err)
	}
	b.Progress("  chromium: unpack %d packages", len(packages))
	for _, file := range packages {
		if _, err := b.run(ctx, command{args: []string{"dpkg", "-x", file, root}}); err != nil {
			return err
		}
	}
	if err := trimRoot(root); err != nil {
		return err
	}
	return b.patchChromium(ctx, root)
}

// chromiumScript starts the program with the libraries and the fonts of the folder. Children have them from the environment.
const chromiumScript = `#!/bin/sh
export LD_LIBRARY_PATH='%[1]s'
export FONTCONFIG_FILE='%[2]s/fonts.conf'
exec '%[2]s/usr/lib/chromium/chromium-headless-shell' "$@"
`

// chromiumFonts names the only font, so that pictures of pages are the same on all machines.
const chromiumFonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>%[1]s/usr/share/fonts</dir>
<cachedir>%[1]s/fontcache</cachedir>
<alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias>
</fontconfig>
`

// patchChromium has the program use the libraries and fonts of the folder.
func (b *Builder) patchChromium(ctx context.Context, root string) error {
	interpreter, libraries, err := loader()
	if err != nil {
		return err
	}
	loaderFile := filepath.Join(root, "usr", interpreter)
	if _, err := os.Stat(loaderFile); err != nil {
		loaderFile = filepath.Join(root, interpreter) // in suites before trixie
	}
	program := filepath.Join(root, "usr/lib/chromium/chromium-headless-shell")
	if _, err := b.run(ctx, command{args: []string{"patchelf", "--set-interpreter", loaderFile, program}}); err != nil {
		return err
	}
	folders := []string{filepath.Join(root, "usr", libraries), filepath.Join(root, libraries), filepath.Join(root, "usr", libraries, "pulseaudio"), filepath.Dir(program)}
	script := filepath.Join(b.dir, "bin", "chromium-headless-shell")
	for path, text := range map[string]string{
		filepath.Join(root, "fonts.conf"): fmt.Sprintf(chromiumFonts, root),
		script:                            fmt.Sprintf(chromiumScript, strings.Join(folders, ":"), root),
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	version, err := b.run(ctx, command{args: []string{script, "--version"}})
	if err != nil {
		return errors.Join(err, os.Remove(script))
	}
	b.Progress("  %s", strings.TrimSpace(version))
	return nil
}
