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
const recipe = "6"

// Prefix and Tag make an image's name: fairlead.dev/NAME:dev.
const (
	Prefix = "fairlead.dev/"
	Tag    = "dev"
)

// tags leave out of grpc the page with its traces, which no program shows: it may call any
// method by its name, so that the linker keeps all methods of all packages, a quarter of the
// program that holds a BGP session.
const tags = "grpcnotrace"

// image is one image to build.
type image struct {
	name string
	pkg  string // of the program at /usr/bin/NAME
	// beside is what the program starts itself: packages of programs that lie
	// beside it and hold no capability.
	beside []string
	user   string // that runs it unless the pod says otherwise
	// haproxy is there if the image gets HAProxy with its libraries.
	haproxy bool
	// caps are what the program holds for a user other than root.
	caps capabilities
}

func images() []image {
	const nobody = "65532:65532"
	return []image{
		{name: "pause", pkg: "./test/image/pause", user: nobody},
		{name: "demo", pkg: "./test/demoapp", user: nobody},
		{name: "operator", pkg: "./cmd/operator", user: nobody},
		{name: "console", pkg: "./cmd/console", user: nobody},
		{name: "router", pkg: "./cmd/router", user: nobody, beside: []string{"./cmd/router-firewall"}, haproxy: true, caps: capabilities{permitted: 1 << netBindService}},
		{name: "speaker", pkg: "./cmd/speaker", beside: []string{"./cmd/speaker-bgp"}, user: nobody, caps: capabilities{permitted: 1 << netRaw, effective: true}},
	}
}

// variant is for which machines, and as which version, an image is built.
type variant struct {
	arch    string // such as amd64
	version string // of a release; empty for development
}

// root is the folder with HAProxy, below that of the tools.
func (v variant) root(tools string) string { return filepath.Join(tools, toolset.HAProxyRoot(v.arch)) }

// tag is the tag of the image.
func (v variant) tag() string {
	if v.version == "" {
		return Tag
	}
	return v.version
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
	here := variant{arch: runtime.GOARCH}
	programs, err := img.programs(ctx, b.Dir(), root, here)
	if err != nil {
		return err
	}
	file := filepath.Join(b.Dir(), "images", img.name+".tar")
	stamp := filepath.Join(b.Dir(), "stamps", "image-"+img.name)
	key, err := img.key(b.Dir(), programs, here)
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

// programs compiles what the image holds; the first is its own.
func (img image) programs(ctx context.Context, tools, root string, v variant) ([]string, error) {
	var programs []string
	for _, pkg := range append([]string{img.pkg}, img.beside...) {
		program, err := compile(ctx, tools, root, pkg, v)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program)
	}
	return programs, nil
}

// compile builds the program; Go's cache makes that quick where nothing changed.
func compile(ctx context.Context, tools, root, pkg string, v variant) (string, error) {
	if _, err := os.Stat(filepath.Join(root, pkg)); err != nil {
		return "", fmt.Errorf("its program %s is not there", pkg)
	}
	target, flags := filepath.Join(tools, "images", "bin", filepath.Base(pkg)), "-s -w"
	if v.version != "" {
		target = filepath.Join(tools, "images", "release", v.arch, filepath.Base(pkg))
		flags += " -buildid= -X github.com/fairlead/fairlead/api/version.release=" + v.version
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", flags, "-o", target, pkg)
	cmd.Dir = root
	cmd.Env = slices.Concat(os.Environ(), toolset.CompilerEnv(), []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + v.arch})
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s: %w\n%s", pkg, err, out)
	}
	return target, nil
}

// key tells apart what the image would hold.
func (img image) key(tools string, programs []string, v variant) (string, error) {
	hash := sha256.New()
	for _, program := range programs {
		if err := digest(hash, program); err != nil {
			return "", err
		}
	}
	key := fmt.Sprintf("recipe %s user %s capabilities %v program %x", recipe, img.user, img.caps, hash.Sum(nil))
	if img.haproxy {
		version, err := os.ReadFile(filepath.Join(filepath.Dir(v.root(tools)), "version"))
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
	here := variant{arch: runtime.GOARCH}
	built, of, err := img.assemble(tools, programs, here)
	if err != nil {
		return err
	}
	bill, err := of.cycloneDX(img.component(here))
	if err != nil {
		return err
	}
	if err := os.WriteFile(strings.TrimSuffix(file, ".tar")+".cdx.json", bill, 0o644); err != nil {
		return fmt.Errorf("write the bill of materials: %w", err)
	}
	tag, err := name.NewTag(Prefix + img.name + ":" + here.tag())
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

// component is the image in its bills of materials.
func (img image) component(v variant) cdx.Component {
	return cdx.Component{Type: cdx.ComponentTypeContainer, Name: Prefix + img.name, Version: v.tag()}
}

// assemble makes the image, and says what it is made of.
func (img image) assemble(tools string, programs []string, v variant) (v1.Image, parts, error) {
	var layers []v1.Layer
	of := parts{programs: programs, arch: v.arch}
	if img.haproxy {
		files, err := closure(v.root(tools))
		if err != nil {
			return nil, parts{}, err
		}
		if of.packages, err = packagesOf(filepath.Dir(v.root(tools)), files); err != nil {
			return nil, parts{}, err
		}
		layer, err := newLayer(func(l *layerWriter) { l.files(files) })
		if err != nil {
			return nil, parts{}, err
		}
		layers = append(layers, layer)
	}
	bill, err := of.cycloneDX(img.component(v))
	if err != nil {
		return nil, parts{}, err
	}
	layer, err := img.top(of, v.root(tools), bill)
	if err != nil {
		return nil, parts{}, err
	}
	built, err := mutate.AppendLayers(empty.Image, append(layers, layer)...)
	if err != nil {
		return nil, parts{}, fmt.Errorf("assemble: %w", err)
	}
	built, err = configure(built, &v1.ConfigFile{
		OS: "linux", Architecture: v.arch, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{"/usr/bin/" + img.name}, User: img.user, WorkingDir: "/",
			Env: []string{"PATH=/usr/sbin:/usr/bin"}, Labels: img.labels(v),
		},
	})
	return built, of, err
}

// labels say what a release's image is; one of development has none, so that it depends on its content only.
func (img image) labels(v variant) map[string]string {
	if v.version == "" {
		return nil
	}
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": "fairlead " + img.name, prefix + "version": v.version, prefix + "licenses": "Apache-2.0",
		prefix + "source": "https://github.com/fairlead/fairlead", prefix + "documentation": "https://github.com/fairlead/fairlead/tree/" + v.version + "/docs",
	}
}

// top is the layer with the programs, and what lists the image's parts.
func (img image) top(of parts, root string, bill []byte) (v1.Layer, error) {
	notices, err := of.notices(root)
	if err != nil {
		return nil, err
	}
	return newLayer(func(l *layerWriter) {
		l.base(img, of.programs)
		l.status(of)
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
