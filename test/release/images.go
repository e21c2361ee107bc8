package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fairlead/fairlead/test/image/archive"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// makeImages builds the images, for all architectures each, and notes their digests.
func (r *release) makeImages(ctx context.Context) error {
	b, err := toolset.New(r.progress)
	if err != nil {
		return err
	}
	for _, image := range r.images {
		fmt.Fprintln(r.progress, "image", image)
		of := archive.Release{Root: r.root, Version: r.version, Arches: []string{"amd64", "arm64"}, Time: r.time}
		digest, bills, err := archive.Layout(ctx, b, of, image, filepath.Join(r.to, r.imageFile(image)))
		if err != nil {
			return err
		}
		r.digests = append(r.digests, image+"="+digest.String())
		for arch, bill := range bills {
			if err := r.bills(fmt.Sprintf("%s-image_%s_linux_%s", image, r.version, arch), bill); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) imageFile(image string) string { return image + "-image_" + r.version + ".oci.tar" }

// digestFlags are the arguments by which a generator names images by digest.
func (r *release) digestFlags() []string {
	var flags []string
	for _, digest := range r.digests {
		flags = append(flags, "-digest", digest)
	}
	return flags
}

// push puts the images of a release, as they are in its folder, into the registry. It logs in with what "docker login" or
// "podman login" left.
func (r *release) push(ctx context.Context) error {
	for _, image := range r.images {
		if err := r.pushImage(ctx, image); err != nil {
			return fmt.Errorf("push the image of %s: %w", image, err)
		}
	}
	return nil
}

func (r *release) pushImage(ctx context.Context, image string) error {
	scratch, err := os.MkdirTemp("", "fairlead-push-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	file, err := os.Open(filepath.Join(r.to, r.imageFile(image)))
	if err != nil {
		return fmt.Errorf("read it (make release): %w", err)
	}
	defer file.Close()
	if err := unpackLayout(file, scratch); err != nil {
		return err
	}
	outer, err := layout.ImageIndexFromPath(scratch)
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	if len(manifest.Manifests) != 1 {
		return fmt.Errorf("read it: the layout has %d entries, want 1", len(manifest.Manifests))
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	tag, err := name.NewTag(r.registry + "/" + image + ":" + r.version)
	if err != nil {
		return fmt.Errorf("name it: %w", err)
	}
	if err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return err //nolint:wrapcheck // it names the registry
	}
	fmt.Fprintf(r.progress, "pushed %s@%s\n", tag, manifest.Manifests[0].Digest)
	return nil
}

// unpackLayout writes the files of an archive below a folder, and nowhere else.
func unpackLayout(packed io.Reader, to string) error {
	for t := tar.NewReader(packed); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack it: %w", err)
		}
		path := strings.TrimSuffix(header.Name, "/")
		if !filepath.IsLocal(path) || !slices.Contains([]byte{tar.TypeReg, tar.TypeDir}, header.Typeflag) {
			return fmt.Errorf("unpack it: %q is no file of a layout", header.Name)
		}
		path = filepath.Join(to, path)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = writeFile(path, t)
		}
		if err != nil {
			return fmt.Errorf("unpack it: %w", err)
		}
	}
}

func writeFile(path string, content io.Reader) error {
	f, err := os.Create(path)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what for
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
