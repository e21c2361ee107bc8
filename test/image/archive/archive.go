// Package archive builds the container images of the project as archives that `ctr images import` and `docker load` take,
// without Docker: a static Go program on an empty file system, and for the router on the unpacked HAProxy.
package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// recipe changes when images must be built again though their programs are the same.
const recipe = "5"

// Prefix and Tag make an image's name: fairlead.dev/NAME:dev.
const (
	Prefix = "fairlead.dev/"
	Tag    = "dev"
)

// image is one image to build.
type image struct {
	name string
	pkg  string // of the program at /usr/bin/NAME
	// beside is what the program starts itself: packages of programs that lie
	// beside it and hold no capability.
	beside []string
	user   string // that runs it unless the pod says otherwise
	root   string // folder below the tools folder with HAProxy, which the image gets with its libraries; none if empty
	// caps are what the program holds for a user other than root.
	caps capabilities
}

func images() []image {
	const nobody = "65532:65532"
	return []image{
		{name: "pause", pkg: "./test/image/pause", user: nobody},
		{name: "demo", pkg: "./test/demoapp", user: nobody},
		{name: "operator", pkg: "./cmd/operator", user: nobody},
		{name: "router", pkg: "./cmd/router", user: nobody, beside: []string{"./cmd/router-firewall"}, root: "haproxy-3.4/root", caps: capabilities{permitted: 1 << netBindService}},
		{name: "speaker", pkg: "./cmd/speaker", beside: []string{"./cmd/speaker-bgp"}, user: nobody, caps: capabilities{permitted: 1 << netRaw, effective: true}},
	}
}

// Names lists the images in the order in which they are built.
func Names() []string {
	var names []string
	for _, img := range images() {
		names = append(names, img.name)
	}
	return names
}

// Build builds the named images, all if none is named, into .tools/images. An image that fails does not keep the others
// from being built.
func Build(ctx context.Context, b *toolset.Builder, only ...string) error {
	root, err := toolset.Root()
	if err != nil {
		return err
	}
	for _, want := range only {
		if !slices.Contains(Names(), want) {
			return fmt.Errorf("unknown image %q: %s", want, strings.Join(Names(), ", "))
		}
	}
	var failed []error
	for _, img := range images() {
		if len(only) > 0 && !slices.Contains(only, img.name) {
			continue
		}
		if err := img.build(ctx, b, root); err != nil {
			failed = append(failed, fmt.Errorf("build image %s: %w", img.name, err))
		}
	}
	return errors.Join(failed...)
}

func (img image) build(ctx context.Context, b *toolset.Builder, root string) error {
	var programs []string // the first is the image's own
	for _, pkg := range append([]string{img.pkg}, img.beside...) {
		program, err := compile(ctx, b.Dir(), root, pkg)
		if err != nil {
			return err
		}
		programs = append(programs, program)
	}
	file := filepath.Join(b.Dir(), "images", img.name+".tar")
	stamp := filepath.Join(b.Dir(), "stamps", "image-"+img.name)
	key, err := img.key(b.Dir(), programs)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(stamp); err == nil && string(old) == key {
		if _, err := os.Stat(file); err == nil {
			b.Progress("image %s: unchanged", img.name)
			return nil
		}
	}
	if err := img.write(b.Dir(), programs, file); err != nil {
		return err
	}
	if err := os.WriteFile(stamp, []byte(key), 0o644); err != nil {
		return fmt.Errorf("stamp: %w", err)
	}
	b.Progress("image %s: built", img.name)
	return nil
}

// compile builds the program; Go's cache makes that quick where nothing changed.
func compile(ctx context.Context, tools, root, pkg string) (string, error) {
	if _, err := os.Stat(filepath.Join(root, pkg)); err != nil {
		return "", fmt.Errorf("its program %s is not there", pkg)
	}
	target := filepath.Join(tools, "images", "bin", filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", target, pkg)
	cmd.Dir = root
	cmd.Env = slices.Concat(os.Environ(), toolset.CompilerEnv(), []string{"CGO_ENABLED=0", "GOOS=linux"})
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s: %w\n%s", pkg, err, out)
	}
	return target, nil
}

// key tells apart what the image would hold.
func (img image) key(tools string, programs []string) (string, error) {
	hash := sha256.New()
	for _, program := range programs {
		if err := digest(hash, program); err != nil {
			return "", err
		}
	}
	key := fmt.Sprintf("recipe %s user %s capabilities %v program %x", recipe, img.user, img.caps, hash.Sum(nil))
	if img.root != "" {
		version, err := os.ReadFile(filepath.Join(tools, filepath.Dir(img.root), "version"))
		if err != nil {
			return "", fmt.Errorf("HAProxy is not there yet, run `make tools`: %w", err)
		}
		key += " on " + strings.TrimSpace(string(version))
	}
	return key, nil
}

func digest(hash io.Writer, program string) error {
	f, err := os.Open(program)
	if err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(hash, f); err != nil {
		return fmt.Errorf("read the program: %w", err)
	}
	return nil
}

func (img image) write(tools string, programs []string, file string) error {
	var layers []v1.Layer
	var packages []toolset.Package
	if img.root != "" {
		files, err := closure(filepath.Join(tools, img.root), "usr/sbin/haproxy")
		if err != nil {
			return err
		}
		if packages, err = packagesOf(filepath.Join(tools, filepath.Dir(img.root)), files); err != nil {
			return err
		}
		layer, err := newLayer(func(l *layerWriter) { l.files(files) })
		if err != nil {
			return err
		}
		layers = append(layers, layer)
	}
	layer, err := img.top(filepath.Join(tools, img.root), programs, packages, file)
	if err != nil {
		return err
	}
	built, err := mutate.AppendLayers(empty.Image, append(layers, layer)...)
	if err != nil {
		return fmt.Errorf("assemble: %w", err)
	}
	config := &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/usr/bin/" + img.name}, User: img.user, WorkingDir: "/",
			Env: []string{"PATH=/usr/sbin:/usr/bin"},
		},
	}
	built, err = configure(built, config)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(Prefix + img.name + ":" + Tag)
	if err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if err := tarball.WriteToFile(file+".new", tag, built); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// top is the layer with the programs, and what tells of the image's parts. The
// bill of materials is also left beside the image's file.
func (img image) top(root string, programs []string, packages []toolset.Package, file string) (v1.Layer, error) {
	of := parts{programs: programs, packages: packages, arch: runtime.GOARCH}
	bill, err := of.bill(cdx.Component{Type: cdx.ComponentTypeContainer, Name: Prefix + img.name, Version: Tag})
	if err != nil {
		return nil, err
	}
	notices, err := of.notices(root)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(strings.TrimSuffix(file, ".tar")+".cdx.json", bill, 0o644); err != nil {
		return nil, fmt.Errorf("write the bill of materials: %w", err)
	}
	return newLayer(func(l *layerWriter) {
		l.base(img, programs)
		l.dir("usr/share", 0o755)
		l.dir("usr/share/doc", 0o755)
		l.file("usr/share/doc/"+img.name+".cdx.json", bill)
		l.file("usr/share/doc/"+img.name+".notices", notices)
	})
}

// configure sets the configuration and keeps what the layers wrote into it.
func configure(built v1.Image, config *v1.ConfigFile) (v1.Image, error) {
	old, err := built.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("assemble: %w", err)
	}
	config.RootFS, config.History = old.RootFS, old.History
	built, err = mutate.ConfigFile(built, config)
	if err != nil {
		return nil, fmt.Errorf("assemble: %w", err)
	}
	return built, nil
}

// newLayer packs what fill writes.
func newLayer(fill func(*layerWriter)) (v1.Layer, error) {
	var packed bytes.Buffer
	w := newLayerWriter(&packed)
	fill(w)
	if err := w.close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithCompressionLevel(gzip.BestSpeed), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("pack a layer: %w", err)
	}
	return layer, nil
}
