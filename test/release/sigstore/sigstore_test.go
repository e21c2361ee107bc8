package main

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/verify"
)

const version = "v1.2.3"

// made is a small release, signed with a throw-away key.
type made struct {
	dist
	key   ed25519.PrivateKey
	index v1.ImageIndex
}

// released makes a release in a folder, with one image for two architectures.
func released(t *testing.T, registry string) made {
	t.Helper()
	m := made{dist: dist{folder: t.TempDir(), version: version, registry: registry, images: []string{"operator"}}}
	var err error
	if _, m.key, err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	m.index = empty.Index
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := random.Image(256, 2)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		config.OS, config.Architecture = "linux", arch
		if image, err = mutate.ConfigFile(image, config); err != nil {
			t.Fatal(err)
		}
		m.index = mutate.AppendManifests(m.index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
		begin := "operator-image_" + version + "_linux_" + arch
		m.write(t, begin+".spdx.json", `{"spdxVersion": "SPDX-2.3", "name": "`+arch+`"}`)
		m.write(t, begin+".cdx.json", `{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "serialNumber": "`+arch+`"}`)
	}
	m.archive(t)
	m.write(t, "install.yaml", "kind: Namespace\n")
	m.state(t)
	m.signAgain(t)
	return m
}

func (m made) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(m.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// archive writes the image as an archive of an OCI layout.
func (m made) archive(t *testing.T) {
	t.Helper()
	scratch := t.TempDir()
	path, err := layout.Write(scratch, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendIndex(m.index); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	if err := w.AddFS(os.DirFS(scratch)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m.write(t, "operator-image_"+version+".oci.tar", packed.String())
}

// state writes the sums and the provenance.
func (m made) state(t *testing.T) {
	t.Helper()
	digest, err := m.index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	subjects := []subject{{Name: m.registry + "/operator", Digest: map[string]string{"sha256": digest.Hex}}}
	names, err := m.files()
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	add := func(name string) {
		content, err := os.ReadFile(m.path(name))
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, subject{Name: name, Digest: map[string]string{"sha256": sumOf(content)}})
		fmt.Fprintf(&list, "%s  %s\n", sumOf(content), name)
	}
	for _, name := range names {
		if name != "SHA256SUMS" && name != "provenance.json" {
			add(name)
		}
	}
	m.write(t, "SHA256SUMS", list.String())
	add("SHA256SUMS")
	predicate := `{"buildDefinition": {"externalParameters": {"version": "v1.2.3"}, "resolvedDependencies": [
		{"uri": "git+https://github.com/fairlead/fairlead@refs/tags/v1.2.3", "digest": {"gitCommit": "abab"}}]}}`
	text, err := json.Marshal(statement{Type: inToto, PredicateType: kindProvenance, Subject: subjects, Predicate: []byte(predicate)})
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "provenance.json", string(text))
}

func (m made) signAgain(t *testing.T) {
	t.Helper()
	if err := m.sign(keySigner{m.key}, io.Discard); err != nil {
		t.Fatal(err)
	}
}

func (m made) trust(t *testing.T) trust {
	t.Helper()
	trusted, err := trustKey(m.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return trusted
}

// TestFiles: a release that was signed is good; what was changed, left out, added or signed by another key is refused.
func TestFiles(t *testing.T) {
	t.Parallel()
	spdx := "operator-image_v1.2.3_linux_arm64.spdx"
	for name, c := range map[string]struct {
		change func(*testing.T, made)
		want   string
	}{
		"good":                   {func(*testing.T, made) {}, ""},
		"changed file":           {func(t *testing.T, m made) { m.write(t, "install.yaml", "kind: Nemespace\n") }, "install.yaml: its sum is"},
		"added file":             {func(t *testing.T, m made) { m.write(t, "other.yaml", "") }, "other.yaml: the provenance does not name it"},
		"removed file":           {func(t *testing.T, m made) { m.remove(t, "install.yaml") }, "install.yaml: the provenance names it"},
		"removed bundle":         {func(t *testing.T, m made) { m.remove(t, "install.yaml.sigstore.json") }, "install.yaml: read its bundle"},
		"bundle of another file": {func(t *testing.T, m made) { m.copy(t, "SHA256SUMS.sigstore.json", "install.yaml.sigstore.json") }, "install.yaml: the signature is not valid"},
		"changed sums":           {func(t *testing.T, m made) { m.write(t, "SHA256SUMS", "") }, "provenance.sigstore.json: the signature is not valid"},
		"no provenance":          {func(t *testing.T, m made) { m.remove(t, "provenance.sigstore.json") }, "read the provenance"},
		"other statement": {func(t *testing.T, m made) {
			m.copy(t, spdx+".attestation.sigstore.json", "operator-image_v1.2.3.signature.sigstore.json")
		}, "the signature is not valid"},
		"no attestation": {func(t *testing.T, m made) { m.remove(t, spdx+".attestation.sigstore.json") }, "read an attestation"},
		"bill of another form": {func(t *testing.T, m made) {
			m.copy(t, "operator-image_v1.2.3_linux_arm64.cdx.attestation.sigstore.json", spdx+".attestation.sigstore.json")
		}, "it is a \"https://cyclonedx.org/bom\""},
		"another key": {func(t *testing.T, m made) {
			_, m.key, _ = ed25519.GenerateKey(rand.Reader)
			m.signAgain(t)
		}, "the signature is not valid"},
		"another version": {func(t *testing.T, m made) {
			text, err := os.ReadFile(m.path("provenance.json"))
			if err != nil {
				t.Fatal(err)
			}
			m.write(t, "provenance.json", strings.ReplaceAll(string(text), `"version":"v1.2.3"`, `"version":"v1.2.4"`))
			m.signAgain(t)
		}, `the provenance is of version "v1.2.4"`},
		"no commit": {func(t *testing.T, m made) {
			text, err := os.ReadFile(m.path("provenance.json"))
			if err != nil {
				t.Fatal(err)
			}
			m.write(t, "provenance.json", strings.ReplaceAll(string(text), "abab", ""))
			m.signAgain(t)
		}, "names no commit"},
		"removed image": {func(t *testing.T, m made) { m.remove(t, "operator-image_v1.2.3.oci.tar") }, "the folder"},
		"image of another release": {func(t *testing.T, m made) {
			other := released(t, m.registry)
			m.index = other.index
			m.archive(t)
		}, "the image of operator: its digest is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := released(t, "r.test/f")
			trusted := m.trust(t)
			c.change(t, m)
			err := m.find()
			if err == nil {
				err = m.verify(trusted, io.Discard)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func (m made) remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(m.path(name)); err != nil {
		t.Fatal(err)
	}
}

func (m made) copy(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(m.path(from))
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, to, string(text))
}

// TestImages: an image in a registry is good with its attestations, with and without the interface of OCI 1.1 for them. A changed
// layer, another image at the tag, and a missing or foreign attestation are refused.
func TestImages(t *testing.T) {
	t.Parallel()
	for _, referrers := range []bool{true, false} {
		t.Run(fmt.Sprintf("referrers %t", referrers), func(t *testing.T) {
			t.Parallel()
			blobs := t.TempDir()
			server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers), registry.WithBlobHandler(registry.NewDiskBlobHandler(blobs))))
			t.Cleanup(server.Close)
			m := released(t, strings.TrimPrefix(server.URL, "http://")+"/f")
			verify := func(trusted trust, want string) {
				t.Helper()
				err := m.verifyImages(t.Context(), trusted, io.Discard)
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if err := m.attach(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "make release-push") {
				t.Errorf("attach to no image: %v", err)
			}
			m.push(t, m.index)
			verify(m.trust(t), "no attestation")
			if err := m.attach(t.Context(), io.Discard); err != nil {
				t.Fatal(err)
			}
			verify(m.trust(t), "")
			_, other, _ := ed25519.GenerateKey(rand.Reader)
			foreign, err := trustKey(other.Public())
			if err != nil {
				t.Fatal(err)
			}
			verify(foreign, "no attestation")

			another := released(t, m.registry)
			m.push(t, another.index)
			verify(m.trust(t), "and the release has")
			m.push(t, m.index)
			m.damage(t, blobs)
			verify(m.trust(t), "damaged")
		})
	}
}

// push gives the tag of the version to an image.
func (m made) push(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	tag, err := name.NewTag(m.registry + "/operator:" + version)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
}

// damage changes a layer in the registry's folder.
func (m made) damage(t *testing.T, blobs string) {
	t.Helper()
	list, err := m.index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := m.index.Image(list.Manifests[1].Digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(blobs, "sha256", digest.Hex)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestIdentity: of signatures with a certificate, only those of the workflow count that releases the version.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const (
		issuer   = "https://token.actions.githubusercontent.com"
		identity = project + "/.github/workflows/release.yml@refs/tags/" + version
	)
	authority, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := trustIdentity(authority, issuer, identity)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	content := []byte("kind: Namespace\n")
	for name, c := range map[string]struct {
		by               *ca.VirtualSigstore
		identity, issuer string
		content          string
		good             bool
	}{
		"good":              {authority, identity, issuer, string(content), true},
		"another branch":    {authority, project + "/.github/workflows/release.yml@refs/heads/main", issuer, string(content), false},
		"another version":   {authority, identity + "0", issuer, string(content), false},
		"another workflow":  {authority, project + "/.github/workflows/ci.yml@refs/tags/" + version, issuer, string(content), false},
		"another project":   {authority, "https://github.com/else/fairlead/.github/workflows/release.yml@refs/tags/" + version, issuer, string(content), false},
		"another issuer":    {authority, identity, "https://issuer.example.com", string(content), false},
		"another content":   {authority, identity, issuer, "kind: Secret\n", false},
		"another authority": {foreign, identity, issuer, string(content), false},
	} {
		entity, err := c.by.Sign(c.identity, c.issuer, []byte(c.content))
		if err != nil {
			t.Fatal(err)
		}
		if err := trusted.signedBy(entity, verify.WithArtifact(bytes.NewReader(content))); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHostile: what is no bundle, and archives that reach out of their folder, are refused.
func TestHostile(t *testing.T) {
	t.Parallel()
	m := released(t, "r.test/f")
	for _, text := range []string{"", "{}", "null", "[]", `{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"}`} {
		if _, err := m.trust(t).attested([]byte(text), sumOf(nil)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../out"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := unpack(&packed, filepath.Join(t.TempDir(), "in")); err == nil {
		t.Error("an archive writes out of its folder")
	}
}
