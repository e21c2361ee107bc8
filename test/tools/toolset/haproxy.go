package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// haproxyRecipe changes when the way of unpacking changes, so that old results are not used again.
const haproxyRecipe = "3"

const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// source is a Debian suite that may offer HAProxy, with the suites its dependencies come from.
type source struct {
	suite  string
	suites []string
}

// haproxyWant is one HAProxy line to have in the tools folder.
type haproxyWant struct {
	program string // in .tools/bin
	folder  string // in .tools
	atLeast string // Debian version, inclusive
	below   string // Debian version, exclusive; empty for no limit
	sources []source
	// optional ones may be gone from the archive: their tests are skipped.
	optional bool
	arch     string // another one than this machine's, for images: nothing of it is run
}

// haproxyWants lists the newest line (3.4 LTS or later), 3.0 LTS, on which the router must fall back to reloads, and 3.2 LTS.
// The names keep "3.4" even where a later one was found: they are paths that tests rely on.
func haproxyWants() []haproxyWant {
	return []haproxyWant{
		{
			program: "haproxy", folder: "haproxy-3.4", atLeast: "3.4", sources: []source{
				{suite: "experimental", suites: []string{"sid", "experimental"}},
				{suite: "sid", suites: []string{"sid"}},
				{suite: "trixie-backports", suites: []string{"trixie", "trixie-backports"}},
			},
		},
		{
			program: "haproxy-3.0", folder: "haproxy-3.0", atLeast: "3.0", below: "3.1", sources: []source{
				{suite: "trixie", suites: []string{"trixie"}},
				{suite: "bookworm-backports", suites: []string{"bookworm", "bookworm-backports"}},
			},
		},
		{
			program: "haproxy-3.2", folder: "haproxy-3.2", atLeast: "3.2", below: "3.3", optional: true, sources: []source{
				{suite: "sid", suites: []string{"sid"}},
				{suite: "trixie-backports", suites: []string{"trixie", "trixie-backports"}},
			},
		},
	}
}

// HAProxy puts HAProxy ≥ 3.4, 3.0 and 3.2 into the tools folder. Where no suite offers ≥ 3.4 any more, 3.0 stands in for it.
func (b *Builder) HAProxy(ctx context.Context) error {
	return b.haproxies(ctx, haproxyWants())
}

// NewestHAProxy does the same for HAProxy ≥ 3.4 alone.
func (b *Builder) NewestHAProxy(ctx context.Context) error {
	return b.haproxies(ctx, haproxyWants()[:1])
}

// HAProxyRoot returns the folder below the tools folder with the unpacked HAProxy ≥ 3.4 of an architecture (amd64, arm64).
func HAProxyRoot(arch string) string {
	if arch == runtime.GOARCH {
		return haproxyWants()[0].folder + "/root"
	}
	return haproxyWants()[0].folder + "-" + arch + "/root"
}

// HAProxyFor puts HAProxy ≥ 3.4 of an architecture below the tools folder, for images.
func (b *Builder) HAProxyFor(ctx context.Context, arch string) error {
	want := haproxyWants()[0]
	if arch == runtime.GOARCH {
		return b.haproxies(ctx, []haproxyWant{want})
	}
	want.arch, want.folder = arch, filepath.Dir(HAProxyRoot(arch))
	return b.ensure(ctx, artefact{
		name: want.folder, key: "recipe " + haproxyRecipe, outputs: []string{want.folder + "/root/usr/sbin/haproxy"},
		make: func(ctx context.Context) error { return b.unpackHAProxy(ctx, want) },
	})
}

func (b *Builder) haproxies(ctx context.Context, chosen []haproxyWant) error {
	wants := haproxyWants()
	for _, want := range chosen {
		fallback := want
		fallback.atLeast, fallback.below, fallback.sources = "3.0", "3.1", wants[1].sources
		err := b.ensure(ctx, artefact{
			name: want.folder,
			// The patched program holds the folder's absolute path.
			key:     strings.Join([]string{"recipe", haproxyRecipe, "at", b.dir}, " "),
			outputs: []string{"bin/" + want.program, want.folder + "/root/usr/sbin/haproxy"},
			make: func(ctx context.Context) error {
				err := b.unpackHAProxy(ctx, want)
				if err == nil || want.below != "" {
					return err
				}
				b.Progress("%s: %v", want.folder, err)
				b.Progress("%s: falling back to HAProxy 3.0: route changes will reload", want.folder)
				return b.unpackHAProxy(ctx, fallback)
			},
		})
		if err != nil && want.optional {
			b.Progress("%s: %v; its tests are skipped", want.folder, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// candidate is a version of HAProxy that a source offers.
type candidate struct {
	version string
	apt     privateAPT
}

func (b *Builder) unpackHAProxy(ctx context.Context, want haproxyWant) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("HAProxy comes from Debian packages and this machine has no apt-get; put a haproxy binary at " +
			filepath.Join(b.dir, "bin", want.program) + " yourself")
	}
	if err := b.Packages(ctx, hostPackages("haproxy")); err != nil {
		return err
	}
	var problems []error
	for _, src := range want.sources { // in order of preference
		found, err := b.candidates(ctx, want, src)
		if err != nil {
			problems = append(problems, err)
		}
		for _, c := range found {
			err := b.unpackVersion(ctx, want, c)
			if err == nil {
				return nil
			}
			problems = append(problems, err)
		}
	}
	return fmt.Errorf("no Debian suite gave HAProxy from %s on: %w", want.atLeast, errors.Join(problems...))
}

// candidates returns the versions of the source that fit, newest first.
func (b *Builder) candidates(ctx context.Context, want haproxyWant, src source) ([]candidate, error) {
	apt := privateAPT{builder: b, home: filepath.Join(b.dir, "apt", src.suite+want.arch), suites: src.suites, arch: want.arch}
	if err := apt.update(ctx); err != nil {
		return nil, err
	}
	versions, err := apt.versions(ctx, "haproxy")
	if err != nil {
		return nil, err
	}
	var found []candidate
	for _, v := range versions {
		if !older(v, want.atLeast) && (want.below == "" || older(v, want.below)) {
			found = append(found, candidate{version: v, apt: apt})
		}
	}
	return found, nil
}

// older compares as Debian does, where 3.4~dev is before 3.4.
func older(a, b string) bool {
	return exec.Command("dpkg", "--compare-versions", a, "lt", b).Run() == nil
}

func (b *Builder) unpackVersion(ctx context.Context, want haproxyWant, c candidate) error {
	b.Progress("  %s: download HAProxy %s from Debian %s with its libraries", want.folder, c.version, strings.Join(c.apt.suites, " + "))
	packages, err := c.apt.download(ctx, "haproxy="+c.version)
	if err != nil {
		return err
	}
	home := filepath.Join(b.dir, want.folder)
	fresh := filepath.Join(home, "root.new")
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("clear %s: %w", fresh, err)
	}
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", fresh, err)
	}
	b.Progress("  %s: unpack %d packages", want.folder, len(packages))
	for _, file := range packages {
		if _, err := b.run(ctx, command{args: []string{"dpkg", "-x", file, fresh}}); err != nil {
			return err
		}
	}
	contents, err := b.contents(ctx, packages)
	if err != nil {
		return err
	}
	if err := trimRoot(fresh); err != nil {
		return err
	}
	root := filepath.Join(home, "root")
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("replace %s: %w", root, err)
	}
	if err := os.Rename(fresh, root); err != nil {
		return fmt.Errorf("replace %s: %w", root, err)
	}
	if err := os.WriteFile(filepath.Join(home, PackagesFile), contents, 0o644); err != nil {
		return fmt.Errorf("note the packages: %w", err)
	}
	if err := os.WriteFile(filepath.Join(home, "version"), []byte(c.version+"\n"), 0o644); err != nil {
		return fmt.Errorf("note the version: %w", err)
	}
	if want.arch != "" {
		return nil
	}
	return b.patchHAProxy(ctx, want, root)
}

// PackagesFile stands beside an unpacked HAProxy: a JSON list of Package.
const PackagesFile = "packages.json"

// Package is a Debian package that HAProxy was unpacked with.
type Package struct {
	Name, Version string
	// Source and SourceVersion are the package's source, by which Debian publishes vulnerabilities. Lists of older versions
	// of this program lack them.
	Source, SourceVersion string
	// Files are the regular files, by their paths below the root.
	Files []string
}

// contents lists packages as PackagesFile holds them.
func (b *Builder) contents(ctx context.Context, files []string) ([]byte, error) {
	var packages []Package
	for _, file := range files {
		out, err := b.run(ctx, command{args: []string{"dpkg-deb", "-W", "--showformat=${Package} ${Version} ${source:Package} ${source:Version}", file}})
		if err != nil {
			return nil, err
		}
		fields := strings.Fields(out)
		if len(fields) != 4 {
			return nil, fmt.Errorf("read %s: dpkg-deb says %q", file, out)
		}
		p := Package{Name: fields[0], Version: fields[1], Source: fields[2], SourceVersion: fields[3]}
		if out, err = b.run(ctx, command{args: []string{"dpkg-deb", "-c", file}}); err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			if _, path, ok := strings.Cut(strings.TrimSpace(line), " ./"); ok && strings.HasPrefix(line, "-") {
				p.Files = append(p.Files, path)
			}
		}
		packages = append(packages, p)
	}
	return json.Marshal(packages)
}

// keepCopyrights drops all documentation but the licences.
func keepCopyrights(doc string) error {
	return filepath.WalkDir(doc, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || entry.IsDir() || entry.Name() == "copyright" || entry.Type() == fs.ModeSymlink:
			return err // some packages share a folder by a link
		}
		return os.Remove(path)
	})
}

// trimRoot drops what a container or a test never reads and adds the links that Debian's base system would bring.
func trimRoot(root string) error {
	if err := keepCopyrights(filepath.Join(root, "usr/share/doc")); err != nil {
		return err
	}
	for _, dir := range []string{"usr/share/man", "usr/share/locale", "usr/share/info", "usr/share/lintian", "usr/lib/systemd", "usr/share/bash-completion", "usr/share/zsh"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			return fmt.Errorf("trim the HAProxy root: %w", err)
		}
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		link, target := filepath.Join(root, name), "usr/"+name
		if _, err := os.Stat(filepath.Join(root, target)); err != nil {
			continue
		}
		if _, err := os.Lstat(link); err == nil {
			continue // an older package that brings the folder itself
		}
		if err := os.Symlink(target, link); err != nil {
			return fmt.Errorf("link /%s in the HAProxy root: %w", name, err)
		}
	}
	return nil
}

// loader is the dynamic loader and the library folder of Debian's packages for this machine.
func loader() (interpreter, libraries string, err error) {
	switch runtime.GOARCH {
	case "amd64":
		return "lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu", nil
	case "arm64":
		return "lib/ld-linux-aarch64.so.1", "lib/aarch64-linux-gnu", nil
	default:
		return "", "", fmt.Errorf("HAProxy for %s: only amd64 and arm64 are known", runtime.GOARCH)
	}
}

// patchHAProxy puts a copy of HAProxy into .tools/bin. It is not started through ld.so, because the master re-executes
// itself on reload.
func (b *Builder) patchHAProxy(ctx context.Context, want haproxyWant, root string) error {
	version, err := b.patchProgram(ctx, root, "usr/sbin/haproxy", want.program, "-v")
	if err != nil {
		return err
	}
	b.Progress("  %s: %s", want.folder, version)
	return nil
}

// patchProgram puts a copy of a program of root into .tools/bin that finds its loader and libraries in root, and returns
// the first line of what it says about its version. It carries RPATH, not RUNPATH, because liblua pulls libm.
func (b *Builder) patchProgram(ctx context.Context, root, path, name, versionFlag string) (string, error) {
	interpreter, libraries, err := loader()
	if err != nil {
		return "", err
	}
	program := filepath.Join(b.dir, "bin", name)
	fresh := program + ".new"
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", name, err)
	}
	if err := os.WriteFile(fresh, content, 0o755); err != nil {
		return "", fmt.Errorf("copy %s: %w", name, err)
	}
	rpath := filepath.Join(root, "usr", libraries) + ":" + filepath.Join(root, libraries)
	loaderFile := filepath.Join(root, "usr", interpreter)
	if _, err := os.Stat(loaderFile); err != nil {
		loaderFile = filepath.Join(root, interpreter) // in suites before trixie
	}
	if _, err := b.run(ctx, command{args: []string{
		"patchelf", "--set-interpreter", loaderFile,
		"--force-rpath", "--set-rpath", rpath, fresh,
	}}); err != nil {
		return "", err
	}
	version, err := b.run(ctx, command{args: []string{fresh, versionFlag}})
	if err != nil {
		return "", err
	}
	if err := os.Rename(fresh, program); err != nil {
		return "", fmt.Errorf("install %s: %w", program, err)
	}
	first, _, _ := strings.Cut(version, "\n")
	return first, nil
}
