package archive

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

// Release is what images of one release have in common.
type Release struct {
	Root, Version string // folder of the source
	Arches        []string
	Time          time.Time // of the commit
}

// Layout writes an image of a release, for several architectures, as an archive of an OCI layout, which "skopeo copy --all
// oci-archive:FILE" and "ctr images import FILE" read. It returns the digest of the image's index, which is its digest in
// every registry, and the bills of materials for each architecture, which have the time of the release.
func Layout(ctx context.Context, b *toolset.Builder, r Release, name, file string) (v1.Hash, map[string]Bills, error) {
	at := slices.IndexFunc(images(), func(img image) bool { return img.name == name })
	if at < 0 {
		return v1.Hash{}, nil, fmt.Errorf("unknown image %q", name)
	}
	img := images()[at]
	bills := map[string]Bills{}
	index := v1.ImageIndex(empty.Index)
	for _, arch := range r.Arches {
		v := variant{arch: arch, version: r.Version}
		if img.haproxy {
			if err := b.HAProxyFor(ctx, arch); err != nil {
				return v1.Hash{}, nil, fmt.Errorf("HAProxy for %s: %w", arch, err)
			}
		}
		programs, err := img.programs(ctx, b.Dir(), r.Root, v)
		if err != nil {
			return v1.Hash{}, nil, fmt.Errorf("image %s for %s: %w", name, arch, err)
		}
		built, of, err := img.assemble(b.Dir(), programs, v)
		if err == nil {
			err = of.complete()
		}
		if err == nil {
			bills[arch], err = of.bills(img.component(v), r.Time)
		}
		if err != nil {
			return v1.Hash{}, nil, fmt.Errorf("image %s for %s: %w", name, arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: built, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	digest, err := index.Digest()
	if err != nil {
		return v1.Hash{}, nil, fmt.Errorf("compute the digest of %s: %w", name, err)
	}
	if err := writeLayout(index, r.Version, file); err != nil {
		return v1.Hash{}, nil, fmt.Errorf("write %s: %w", file, err)
	}
	return digest, bills, nil
}

// writeLayout packs a layout whose only entry is the index, named by the version.
func writeLayout(index v1.ImageIndex, version, file string) error {
	scratch, err := os.MkdirTemp("", "fairlead-layout-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	path, err := layout.Write(scratch, empty.Index)
	if err != nil {
		return fmt.Errorf("make a layout: %w", err)
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})); err != nil {
		return fmt.Errorf("fill the layout: %w", err)
	}
	out, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("make the archive: %w", err)
	}
	return errors.Join(packFolder(out, scratch), out.Close())
}

// packFolder writes the files of a folder, by name, without times and owners.
func packFolder(out io.Writer, folder string) error {
	w := newLayerWriter(out)
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		below, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			w.dir(filepath.ToSlash(below), 0o755)
			return nil
		}
		return w.stream(filepath.ToSlash(below), path)
	})
	return errors.Join(err, w.close())
}

// stream copies a file that may be too large for memory.
func (l *layerWriter) stream(name, source string) error {
	f, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("read a part: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read a part: %w", err)
	}
	l.header(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: info.Size()})
	if l.err == nil {
		_, l.err = io.Copy(l.tar, f)
	}
	return nil
}
