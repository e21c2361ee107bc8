package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/sigstore/sigstore-go/pkg/sign"
)

// bundleEnd is what the name of a bundle ends in.
const bundleEnd = ".sigstore.json"

// dist is a release in a folder.
type dist struct {
	folder, version, registry string
	images                    []string
}

func (d dist) path(name string) string { return filepath.Join(d.folder, name) }

// files are the names of what is signed: all but bundles, and the key with its plain signature.
func (d dist) files() ([]string, error) {
	entries, err := os.ReadDir(d.folder)
	if err != nil {
		return nil, fmt.Errorf("list the files of the release: %w", err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), bundleEnd) && !slices.Contains([]string{"release.pub", "SHA256SUMS.sig"}, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// find finds the images of the folder. That one is missing is noticed by the provenance, which names all.
func (d *dist) find() error {
	names, err := d.files()
	if err != nil {
		return err
	}
	d.images = nil
	for _, name := range names {
		if image, found := strings.CutSuffix(name, "-image_"+d.version+".oci.tar"); found {
			d.images = append(d.images, image)
		}
	}
	if len(d.images) == 0 {
		return fmt.Errorf("the folder %s has no image of %s (make release)", d.folder, d.version)
	}
	return nil
}

// attestation is one statement about an image, or about what the image is for one architecture.
type attestation struct {
	file string // of its bundle
	kind string
	name string // of what it is about
	sum  string
	from string // file with the predicate; empty: none
	of   v1.Descriptor
}

// image is an image in the folder.
type image struct {
	name         string
	index        v1.Descriptor
	attestations []attestation
}

// read reads the archive of an image as far as to know what is to be attested of it.
func (d dist) read(name string) (image, error) {
	index, err := readArchive(d.path(name + "-image_" + d.version + ".oci.tar"))
	if err != nil {
		return image{}, fmt.Errorf("read the image of %s: %w", name, err)
	}
	made := image{name: name, index: index.outer}
	begin, repository := name+"-image_"+d.version, d.registry+"/"+name
	made.attestations = []attestation{
		{file: begin + ".signature" + bundleEnd, kind: kindSignature, name: repository, sum: index.outer.Digest.Hex, of: index.outer},
		{file: "provenance" + bundleEnd, kind: kindProvenance, name: repository, sum: index.outer.Digest.Hex, from: "provenance.json", of: index.outer},
	}
	for _, of := range index.inner {
		platform := fmt.Sprintf("%s_%s_%s", begin, of.Platform.OS, of.Platform.Architecture)
		for end, kind := range map[string]string{".spdx": kindSPDX, ".cdx": kindCycloneDX} {
			made.attestations = append(made.attestations, attestation{
				file: platform + end + ".attestation" + bundleEnd, kind: kind, name: repository, sum: of.Digest.Hex, from: platform + end + ".json", of: of,
			})
		}
	}
	slices.SortFunc(made.attestations, func(a, b attestation) int { return strings.Compare(a.file, b.file) })
	return made, nil
}

// manifests are the descriptors of an image's index, and of the images in it.
type manifests struct {
	outer v1.Descriptor
	inner []v1.Descriptor
}

// readArchive reads the manifests of an OCI layout in an archive.
func readArchive(file string) (manifests, error) {
	f, err := os.Open(file)
	if err != nil {
		return manifests{}, fmt.Errorf("open it: %w", err)
	}
	defer f.Close()
	scratch, err := os.MkdirTemp("", "fairlead-layout-")
	if err != nil {
		return manifests{}, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	if err := unpack(f, scratch); err != nil {
		return manifests{}, fmt.Errorf("unpack it: %w", err)
	}
	outer, err := layout.ImageIndexFromPath(scratch)
	if err != nil {
		return manifests{}, fmt.Errorf("read its layout: %w", err)
	}
	list, err := outer.IndexManifest()
	if err != nil {
		return manifests{}, fmt.Errorf("read its layout: %w", err)
	}
	if len(list.Manifests) != 1 {
		return manifests{}, fmt.Errorf("its layout has %d entries, want one", len(list.Manifests))
	}
	index, err := outer.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		return manifests{}, fmt.Errorf("read its index: %w", err)
	}
	inner, err := index.IndexManifest()
	if err != nil {
		return manifests{}, fmt.Errorf("read its index: %w", err)
	}
	for _, m := range inner.Manifests {
		if m.Platform == nil {
			return manifests{}, errors.New("its index has an image for no architecture")
		}
	}
	return manifests{outer: list.Manifests[0], inner: inner.Manifests}, nil
}

// unpack writes the files of an archive below a folder, and nowhere else.
func unpack(packed io.Reader, to string) error {
	for t := tar.NewReader(packed); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err //nolint:wrapcheck // the caller says what for
		}
		name := strings.TrimSuffix(header.Name, "/")
		if !filepath.IsLocal(name) || header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeDir {
			return fmt.Errorf("%q is no file of a layout", header.Name)
		}
		path := filepath.Join(to, name)
		if header.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err //nolint:wrapcheck // the caller says what for
			}
			continue
		}
		f, err := os.Create(path)
		if err != nil {
			return err //nolint:wrapcheck // the caller says what for
		}
		_, err = io.Copy(f, t)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// signing is a file with a bundle to be, and what it signs.
type signing struct {
	bundle  string
	content sign.Content
}

// sign writes a bundle beside each file, and the attestations of each image.
func (d dist) sign(s signer, out io.Writer) error {
	files, err := d.signings()
	if err != nil {
		return err
	}
	attestations, err := d.attestations()
	if err != nil {
		return err
	}
	all := slices.Concat(files, attestations)
	for _, one := range all {
		text, err := s.bundle(one.content)
		if err != nil {
			return fmt.Errorf("%s: %w", one.bundle, err)
		}
		if err := os.WriteFile(d.path(one.bundle), text, 0o644); err != nil {
			return fmt.Errorf("write a bundle: %w", err)
		}
	}
	fmt.Fprintf(out, "signed %d files and statements\n", len(all))
	return nil
}

// signings are those of the files; that of the provenance has its statement, for all files and images.
func (d dist) signings() ([]signing, error) {
	names, err := d.files()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, "provenance.json") {
		return nil, errors.New("the folder has no provenance.json (make release)")
	}
	var all []signing
	for _, name := range names {
		content, err := os.ReadFile(d.path(name))
		if err != nil {
			return nil, fmt.Errorf("read a file of the release: %w", err)
		}
		if name == "provenance.json" {
			all = append(all, signing{"provenance" + bundleEnd, &sign.DSSEData{Data: content, PayloadType: inTotoPayload}})
		} else {
			all = append(all, signing{name + bundleEnd, &sign.PlainData{Data: content}})
		}
	}
	return all, nil
}

// attestations are the statements about single images.
func (d dist) attestations() ([]signing, error) {
	var all []signing
	for _, name := range d.images {
		image, err := d.read(name)
		if err != nil {
			return nil, err
		}
		for _, a := range image.attestations {
			if a.kind == kindProvenance {
				continue
			}
			text, err := d.statement(a)
			if err != nil {
				return nil, err
			}
			all = append(all, signing{a.file, &sign.DSSEData{Data: text, PayloadType: inTotoPayload}})
		}
	}
	return all, nil
}

// statement is what an attestation says.
func (d dist) statement(a attestation) ([]byte, error) {
	predicate := []byte("{}")
	if a.from != "" {
		var err error
		if predicate, err = os.ReadFile(d.path(a.from)); err != nil {
			return nil, fmt.Errorf("read a bill of materials: %w", err)
		}
	}
	return state(a.name, a.sum, a.kind, predicate)
}

// sumOf is the sum of a file's content.
func sumOf(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
