package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const (
	// bundleType is the type of a bundle as an artifact of OCI, as cosign attaches it.
	bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"
	emptyType  = "application/vnd.oci.empty.v1+json"
)

// artifact is the manifest of something about an image (OCI 1.1).
type artifact struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     types.MediaType   `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        v1.Descriptor     `json:"config"`
	Layers        []v1.Descriptor   `json:"layers"`
	Subject       v1.Descriptor     `json:"subject"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// manifest is what a registry takes as one.
type manifest struct{ raw []byte }

func (m manifest) RawManifest() ([]byte, error) { return m.raw, nil }

func (m manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

func options(ctx context.Context) []remote.Option {
	return []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
}

// attach puts the attestations, and the bills of materials as they are, beside the images in the registry.
func (d dist) attach(ctx context.Context, out io.Writer) error {
	for _, one := range d.images {
		image, err := d.read(one)
		if err != nil {
			return err
		}
		repository, err := name.NewRepository(d.registry + "/" + one)
		if err != nil {
			return fmt.Errorf("name the image: %w", err)
		}
		if _, err := remote.Head(repository.Digest(image.index.Digest.String()), options(ctx)...); err != nil {
			return fmt.Errorf("the image %s of the folder is not in the registry (make release-push): %w", one, err)
		}
		for _, a := range image.attestations {
			if err := d.attachOne(ctx, repository, a); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "attached %d statements to %s@%s\n", len(image.attestations), repository, image.index.Digest)
	}
	return nil
}

// attachOne attaches an attestation, and the bill of materials that it is about.
func (d dist) attachOne(ctx context.Context, to name.Repository, a attestation) error {
	text, err := os.ReadFile(d.path(a.file))
	if err != nil {
		return fmt.Errorf("read an attestation (make release-sign): %w", err)
	}
	notes := map[string]string{"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": a.kind}
	if err := put(ctx, to, a.of, bundleType, text, notes); err != nil {
		return fmt.Errorf("attach %s: %w", a.file, err)
	}
	plain, found := map[string]string{kindSPDX: "application/spdx+json", kindCycloneDX: "application/vnd.cyclonedx+json"}[a.kind]
	if !found {
		return nil
	}
	if text, err = os.ReadFile(d.path(a.from)); err != nil {
		return fmt.Errorf("read a bill of materials: %w", err)
	}
	if err := put(ctx, to, a.of, plain, text, nil); err != nil {
		return fmt.Errorf("attach %s: %w", a.from, err)
	}
	return nil
}

// put uploads a document as an artifact about what a descriptor names.
func put(ctx context.Context, to name.Repository, about v1.Descriptor, kind string, text []byte, notes map[string]string) error {
	m := artifact{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: kind, Annotations: notes,
		Subject: v1.Descriptor{MediaType: about.MediaType, Digest: about.Digest, Size: about.Size},
	}
	for _, part := range []struct {
		kind string
		text []byte
		at   func(v1.Descriptor)
	}{
		{emptyType, []byte("{}"), func(at v1.Descriptor) { m.Config = at }},
		{kind, text, func(at v1.Descriptor) { m.Layers = []v1.Descriptor{at} }},
	} {
		layer := static.NewLayer(part.text, types.MediaType(part.kind))
		digest, err := layer.Digest()
		if err != nil {
			return fmt.Errorf("sum it: %w", err)
		}
		if err := remote.WriteLayer(to, layer, options(ctx)...); err != nil {
			return err //nolint:wrapcheck // it names the registry
		}
		part.at(v1.Descriptor{MediaType: types.MediaType(part.kind), Digest: digest, Size: int64(len(part.text))})
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write its manifest: %w", err)
	}
	return remote.Put(to.Digest("sha256:"+sumOf(raw)), manifest{raw}, options(ctx)...) //nolint:wrapcheck // it names the registry
}

// verifyImages checks the images that the registry has as the version: that they are those of the folder, with all their layers, and
// that they have all attestations.
func (d dist) verifyImages(ctx context.Context, t trust, out io.Writer) error {
	for _, one := range d.images {
		image, err := d.read(one)
		if err != nil {
			return err
		}
		tag, err := name.NewTag(d.registry + "/" + one + ":" + d.version)
		if err != nil {
			return fmt.Errorf("name the image: %w", err)
		}
		index, err := remote.Index(tag, options(ctx)...)
		if err != nil {
			return fmt.Errorf("read %s: %w", tag, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return fmt.Errorf("read %s: %w", tag, err)
		}
		if digest != image.index.Digest {
			return fmt.Errorf("%s is %s, and the release has %s", tag, digest, image.index.Digest)
		}
		if err := validate.Index(index); err != nil {
			return fmt.Errorf("%s is damaged: %w", tag, err)
		}
		for _, a := range image.attestations {
			if err := d.attestedIn(ctx, t, tag.Repository, a); err != nil {
				return fmt.Errorf("%s: %w", tag, err)
			}
		}
		fmt.Fprintf(out, "%s@%s: the image, its signature, provenance and bills of materials are good\n", tag, digest)
	}
	return nil
}

// attestedIn fails unless one of the artifacts about an image is the attestation. Others do not count, because anybody who may push may
// add some.
func (d dist) attestedIn(ctx context.Context, t trust, at name.Repository, want attestation) error {
	referrers, err := remote.Referrers(at.Digest(want.of.Digest.String()), options(ctx)...)
	if err != nil {
		return fmt.Errorf("list what is attested of it: %w", err)
	}
	list, err := referrers.IndexManifest()
	if err != nil {
		return fmt.Errorf("list what is attested of it: %w", err)
	}
	wrong := []error{fmt.Errorf("it has no attestation %s by the signer for %s", want.kind, want.of.Digest)}
	for _, m := range list.Manifests {
		text, found, err := fetch(ctx, at, m)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		said, err := t.attested(text, want.sum)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		if err = d.says(said, want); err == nil && want.kind == kindProvenance {
			err = said.judge(d.version)
		}
		if err == nil {
			return nil
		}
		if said.PredicateType == want.kind {
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// largest is how large a bundle may be.
const largest = 16 << 20

// fetch returns the bundle in an artifact, if it has one.
func fetch(ctx context.Context, from name.Repository, of v1.Descriptor) ([]byte, bool, error) {
	got, err := remote.Get(from.Digest(of.Digest.String()), options(ctx)...)
	if err != nil {
		return nil, false, fmt.Errorf("read what is attested: %w", err)
	}
	var m artifact
	if err := json.Unmarshal(got.Manifest, &m); err != nil {
		return nil, false, fmt.Errorf("read what is attested: %w", err)
	}
	at := slices.IndexFunc(m.Layers, func(l v1.Descriptor) bool { return l.MediaType == bundleType })
	if at < 0 {
		return nil, false, nil
	}
	layer, err := remote.Layer(from.Digest(m.Layers[at].Digest.String()), options(ctx)...)
	if err != nil {
		return nil, false, fmt.Errorf("read what is attested: %w", err)
	}
	content, err := layer.Compressed()
	if err != nil {
		return nil, false, fmt.Errorf("read what is attested: %w", err)
	}
	defer content.Close()
	text, err := io.ReadAll(io.LimitReader(content, largest))
	if err != nil {
		return nil, false, fmt.Errorf("read what is attested: %w", err)
	}
	return text, true, nil
}
