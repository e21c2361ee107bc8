package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// sources are the files of the repository, as far as Git knows them or would.
func sources(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("no Git, or no clone: %v", err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
}

// TestNoKeys: what a test or a user has made while trying the documentation does not get into the source: keys
// and certificates are in folders for test data only.
func TestNoKeys(t *testing.T) {
	t.Parallel()
	for _, name := range sources(t) {
		switch filepath.Ext(name) {
		case ".key", ".pem", ".crt", ".p12", ".pfx", ".jks":
			if !strings.Contains(name, "/testdata/") {
				t.Errorf("%s: remove it", name)
			}
		}
	}
}

// clone copies the source of the repository into a folder.
func clone(t *testing.T, to string) {
	t.Helper()
	for _, name := range sources(t) {
		content, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(to, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// contents are the files of a folder by name.
func contents(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// unpack writes an archive into a folder, and returns the names in it.
func unpack(t *testing.T, packed []byte, to string) []string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zip); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || header.Uid != 0 || header.Uname != "" {
			t.Fatalf("%s: %v, owner %d %q", header.Name, err, header.Uid, header.Uname)
		}
		file := filepath.Join(to, filepath.FromSlash(header.Name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, os.FileMode(header.Mode))); err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

// TestRelease makes a release twice, from two folders, and uses it as a user would. Of the targets it has those of this
// machine; the others differ by variables of the compiler only.
func TestRelease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compiles programs")
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var made [2]map[string][]byte
	var r release
	for i, name := range []string{"a", "another/folder"} {
		r = release{
			root: filepath.Join(t.TempDir(), name), to: filepath.Join(t.TempDir(), "dist"), version: "v1.2.3", registry: "r.test/f", download: "https://d.test",
			time: time.Unix(1_800_000_000, 0), commit: strings.Repeat("ab", 20), key: key, progress: io.Discard,
			targets: []target{{"fairlead", runtime.GOOS, runtime.GOARCH}, {plugin, runtime.GOOS, runtime.GOARCH}},
		}
		clone(t, r.root)
		if err := r.make(t.Context()); err != nil {
			t.Fatal(err)
		}
		made[i] = contents(t, r.to)
	}
	files := made[1]
	if a, b := slices.Sorted(maps.Keys(made[0])), slices.Sorted(maps.Keys(files)); !slices.Equal(a, b) {
		t.Fatalf("two builds made\n%q\n%q", a, b)
	}
	for name, content := range files {
		if !bytes.Equal(content, made[0][name]) {
			t.Errorf("%s differs between two folders", name)
		}
	}
	for _, target := range r.targets {
		t.Run(target.program, func(t *testing.T) { archived(t, r, target, files) })
	}
	t.Run("chart", func(t *testing.T) { packedChart(t, files["fairlead-1.2.3.tgz"]) })
	t.Run("krew", func(t *testing.T) { krewManifest(t, files) })
	t.Run("provenance", func(t *testing.T) { provenanceOf(t, r, files) })
	t.Run("check", func(t *testing.T) { checked(t, r) })
	if !bytes.Contains(files["install.yaml"], []byte("image: r.test/f/operator:v1.2.3\n")) {
		t.Error("install.yaml does not name the images of the version")
	}
	if err := r.make(t.Context()); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second release in the same folder: %v", err)
	}
}

// archived unpacks a program, asks for its version and reads its papers.
func archived(t *testing.T, r release, target target, files map[string][]byte) {
	folder := t.TempDir()
	names := unpack(t, files[r.name(target)+".tar.gz"], folder)
	if want := []string{"LICENSE", target.program + ".notices", target.binary()}; !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(folder, target.binary()), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "v1.2.3 go") {
		t.Errorf("it says: %v: %s", err, out)
	}
	notices, err := os.ReadFile(filepath.Join(folder, target.program+".notices"))
	if err != nil || !bytes.Contains(notices, []byte("==== github.com/openshift/api")) {
		t.Errorf("the licences: %v", err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(files[r.name(target)+".cdx.json"]), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if of := bom.Metadata.Component; of.Name != target.program || of.Version != "v1.2.3" || len(*bom.Components) < 10 {
		t.Errorf("the bill of materials is of %s %s, with %d parts", of.Name, of.Version, len(*bom.Components))
	}
}

// packedChart reads the chart's own files.
func packedChart(t *testing.T, packed []byte) {
	folder := t.TempDir()
	unpack(t, packed, folder)
	for file, want := range map[string]string{"Chart.yaml": "version: 1.2.3\nappVersion: v1.2.3\n", "values.yaml": "  registry: r.test/f\n", "templates/crds.yaml": "routes.route.openshift.io", "values.schema.json": "registry"} {
		text, err := os.ReadFile(filepath.Join(folder, "fairlead", file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %q in it", file, err, want)
		}
	}
}

// krewManifest follows the manifest as krew does: the archive of this machine has the sum, and the program that is named.
func krewManifest(t *testing.T, files map[string][]byte) {
	var manifest krewPlugin
	if err := yaml.UnmarshalStrict(files["fairlead.yaml"], &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" || manifest.Metadata["name"] != "fairlead" || manifest.Spec.Version != "v1.2.3" ||
		len(manifest.Spec.ShortDescription) > 50 || len(manifest.Spec.Platforms) != 1 {
		t.Errorf("the manifest is %+v", manifest)
	}
	for _, p := range manifest.Spec.Platforms {
		file, found := strings.CutPrefix(p.URI, "https://d.test/v1.2.3/")
		if !found || p.SHA256 != fmt.Sprintf("%x", sha256.Sum256(files[file])) {
			t.Errorf("%s has another sum than %s", p.URI, p.SHA256)
			continue
		}
		if names := unpack(t, files[file], t.TempDir()); !slices.Contains(names, p.Bin) || !slices.Contains(names, "LICENSE") {
			t.Errorf("%s has %q, want LICENSE and %s", file, names, p.Bin)
		}
	}
	for _, target := range targets() {
		if (target.os == "windows") != strings.HasSuffix(target.binary(), ".exe") {
			t.Errorf("%s is named %s", target, target.binary())
		}
	}
}

// checked runs the commands of docs/install.md that check a release, on a good one and on one that was changed.
func checked(t *testing.T, r release) {
	for _, tool := range []string{"openssl", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, below, _ := strings.Cut(string(page), "\n## Check a release\n")
	_, below, _ = strings.Cut(below, "```sh\n")
	block, _, found := strings.Cut(below, "```\n")
	if !found {
		t.Fatal("docs/install.md has no commands that check a release")
	}
	check := func() (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-eu", "-c", block)
		cmd.Dir = r.to
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil || !strings.Contains(out, "Signature Verified Successfully") || !strings.Contains(out, "install.yaml: OK") {
		t.Errorf("a good release: %v: %s", err, out)
	}
	for _, file := range []string{"install.yaml", "SHA256SUMS", "SHA256SUMS.sig"} {
		path := filepath.Join(r.to, file)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := bytes.Clone(good)
		bad[10] ^= 1
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := check(); err == nil {
			t.Errorf("%s was changed, and the check says: %s", file, out)
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReadKey: what is not one Ed25519 key is refused, without showing it.
func TestReadKey(t *testing.T) {
	t.Parallel()
	encode := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readKey([]byte(encode(key) + "\n")); err != nil || !got.Equal(key) {
		t.Errorf("a good key: %v", err)
	}
	for name, text := range map[string]string{
		"empty": " ", "text": "secret", "RSA": encode(other), "two": encode(key) + encode(key),
		"another block": strings.ReplaceAll(encode(key), "PRIVATE", "PUBLIC"), "cut": "-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----\n",
	} {
		if _, err := readKey([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "MC4C") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVersions: a release is named as SemVer and tags of images allow.
func TestVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"v1.2.3": true, "v0.1.0-rc.1": true, "v10.20.30-alpha-1": true,
		"": false, "1.2.3": false, "v1.2": false, "v01.2.3": false, "v1.2.3+build": false, "v1.2.3-": false, "v1.2.3 -X=y": false, "v1.2.3\n": false,
	} {
		if versionForm.MatchString(text) != want {
			t.Errorf("%q: taken %t, want %t", text, !want, want)
		}
	}
}

// TestTargets: each program is built for each kind of machine once, and names of files say which.
func TestTargets(t *testing.T) {
	t.Parallel()
	r := release{version: "v1.2.3"}
	seen := map[string]bool{}
	form := regexp.MustCompile(`^(fairlead|kubectl-fairlead)_v1\.2\.3_(linux|darwin|windows)_(amd64|arm64)$`)
	for _, target := range targets() {
		name := r.name(target)
		if seen[name] || !form.MatchString(name) {
			t.Errorf("the name %s is there twice, or of another form", name)
		}
		seen[name] = true
	}
	if len(seen) != 8 {
		t.Errorf("%d targets, want 8", len(seen))
	}
}
