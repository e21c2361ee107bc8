// Command install writes the manifests of a release as single files, made of config/default and its variants:
//
//	install.yaml           all of Fairlead
//	install-compat.yaml    the same without MutatingAdmissionPolicies, for Kubernetes before 1.36
//	install-kind.yaml      the same for a cluster of kind, with an IngressController on the ports of its node
//	kind-cluster.yaml      the cluster that it is for
//	console.yaml           the console for users of the cluster, which install.yaml is without
//	uninstall.yaml         names all objects of them that hold nothing of users
//	uninstall-crds.yaml    names the kinds and namespaces, with which users' objects go
//
//	go run ./config/generate/install -version v1.2.3 -registry registry.example.com/fairlead dist
//
// Images have the version as their tag, or the digest that -digest gives.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

func main() {
	s := settings{digests: map[string]string{}}
	flag.StringVar(&s.root, "root", ".", "`folder` of the repository")
	flag.StringVar(&s.version, "version", "", "`version`, such as v1.2.3, which is the tag of images without a digest; default: dev")
	flag.StringVar(&s.registry, "registry", "fairlead.dev", "`registry` with path: the images are REGISTRY/operator, REGISTRY/router, REGISTRY/speaker and REGISTRY/console")
	flag.Func("digest", "`PROGRAM=sha256:…` of the image of a program, in place of the tag; may be repeated", s.digest)
	flag.Parse()
	if s.version != "" {
		s.version = "v" + strings.TrimPrefix(s.version, "v")
	}
	err := errors.New("give one folder for the files, such as dist")
	switch {
	case s.version != "" && !tagForm.MatchString(s.version):
		err = fmt.Errorf("the version %q is not of the form v1.2.3", s.version)
	case flag.NArg() == 1:
		err = s.run(flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "install:", err)
		os.Exit(1)
	}
}

// tagForm is what images can have as a tag.
var tagForm = regexp.MustCompile(`^v[0-9A-Za-z][0-9A-Za-z.-]{0,126}$`)

// settings are what the files of a release depend on.
type settings struct {
	root, version, registry string
	// digests by the programs' names.
	digests map[string]string
}

// programs are the images that the manifests of all of Fairlead name, and consoles those of the console.
func programs() []string { return []string{"operator", "router", "speaker"} }
func consoles() []string { return []string{"console"} }

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (s *settings) digest(text string) error {
	program, digest, _ := strings.Cut(text, "=")
	known := slices.Concat(programs(), consoles())
	if !slices.Contains(known, program) || !digestForm.MatchString(digest) {
		return fmt.Errorf("want PROGRAM=sha256:…, with one of the programs %s", strings.Join(known, ", "))
	}
	s.digests[program] = digest
	return nil
}

// run writes the files into a folder.
func (s *settings) run(to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	all, err := s.build("config/default")
	if err != nil {
		return err
	}
	compat, err := s.build("config/without-mutating-policies")
	if err != nil {
		return err
	}
	kind, err := s.build("config/kind")
	if err != nil {
		return err
	}
	removed, err := s.build("config/uninstall")
	if err != nil {
		return err
	}
	console, err := s.build("config/console")
	if err != nil {
		return err
	}
	version := s.version
	if version == "" {
		version = "dev"
	}
	for name, file := range map[string]struct {
		head  string
		write func([]*resource.Resource) ([]byte, error)
		from  []*resource.Resource
	}{
		"install.yaml":        {installHead, s.whole, all},
		"install-compat.yaml": {compatHead, s.whole, compat},
		"install-kind.yaml":   {kindHead, s.whole, kind},
		"console.yaml":        {consoleHead, s.console, console},
		"uninstall.yaml":      {uninstallHead, named, removed},
		"uninstall-crds.yaml": {kindsHead, named, slices.DeleteFunc(slices.Clone(all), func(r *resource.Resource) bool { return !holds(r) })},
	} {
		text, err := file.write(file.from)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		head := strings.ReplaceAll(file.head, "VERSION", version)
		if err := os.WriteFile(filepath.Join(to, name), append([]byte(head), text...), 0o644); err != nil {
			return fmt.Errorf("write a manifest: %w", err)
		}
	}
	cluster, err := os.ReadFile(filepath.Join(s.root, "config/kind/cluster.yaml"))
	if err != nil {
		return fmt.Errorf("read the cluster of kind: %w", err)
	}
	if err := os.WriteFile(filepath.Join(to, "kind-cluster.yaml"), bytes.ReplaceAll(cluster, []byte("config/kind/cluster.yaml"), []byte("kind-cluster.yaml")), 0o644); err != nil {
		return fmt.Errorf("write the cluster of kind: %w", err)
	}
	return nil
}

const (
	installHead = `# Fairlead VERSION, for Kubernetes 1.36 and later: kubectl apply --server-side -f install.yaml
# Set DOMAIN of the Deployment ingress-operator before the first installation. To remove it: uninstall.yaml
`
	compatHead = `# Fairlead VERSION, for Kubernetes 1.30 to 1.35: kubectl apply --server-side -f install-compat.yaml
# Set DOMAIN of the Deployment ingress-operator before the first installation. To remove it: uninstall.yaml
`
	kindHead = `# Fairlead VERSION, for a cluster of kind that was made with kind-cluster.yaml. The last object is taken once its kind is:
#
#   until kubectl apply --server-side -f install-kind.yaml; do sleep 2; done
`
	consoleHead = `# The console of Fairlead VERSION, beside install.yaml: kubectl apply --server-side -f console.yaml
# It waits for its serving certificate, the Secret fairlead-console-tls. To remove it: kubectl delete -f console.yaml
`
	uninstallHead = `# Removes Fairlead VERSION, and keeps Routes, policies, IngressControllers, address pools, their kinds and namespaces:
#
#   kubectl annotate namespace openshift-ingress-operator fairlead.dev/create-default=false
#   kubectl delete ingresscontrollers --all -n openshift-ingress-operator   # first, while the operator runs
#   kubectl delete --ignore-not-found -f uninstall.yaml
`
	kindsHead = `# DELETES ALL Routes, RoutePolicies, ClusterRoutePolicies, IngressControllers, DNSRecords, address pools and
# advertisements of the cluster, and all Secrets and ConfigMaps of these namespaces. After uninstall.yaml only, since
# the API server refuses it before:
#
#   kubectl delete -f uninstall-crds.yaml
`
)

// build returns the objects of a kustomization: first what the others are in, then in the order of the files. So a
// deletion comes to what the policy fairlead-kept keeps before it comes to the policy.
func (s *settings) build(folder string) ([]*resource.Resource, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(s.root, folder))
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	all := built.Resources()
	slices.SortStableFunc(all, func(a, b *resource.Resource) int { return rank(a) - rank(b) })
	return all, nil
}

func rank(r *resource.Resource) int {
	order := []string{"Namespace", "CustomResourceDefinition"}
	if at := slices.Index(order, r.GetKind()); at >= 0 {
		return at
	}
	if r.GetKind() == "IngressController" {
		return len(order) + 1
	}
	return len(order)
}

// holds says whether objects of users go with the object.
func holds(r *resource.Resource) bool { return rank(r) < 2 }

// imageForm is how config names images.
var imageForm = regexp.MustCompile(`fairlead\.dev/([a-z-]+):dev\b`)

// whole writes all of Fairlead, and console the console.
func (s *settings) whole(all []*resource.Resource) ([]byte, error) { return s.write(all, programs()) }

func (s *settings) console(all []*resource.Resource) ([]byte, error) { return s.write(all, consoles()) }

// write writes objects with the images of the release, which are those of some programs.
func (s *settings) write(all []*resource.Resource, programs []string) ([]byte, error) {
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, r := range all {
		text, err := r.AsYAML()
		if err != nil {
			return nil, fmt.Errorf("write %s %s: %w", r.GetKind(), r.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(imageForm.ReplaceAllFunc(text, func(name []byte) []byte {
			program := string(imageForm.FindSubmatch(name)[1])
			seen[program] = true
			return []byte(s.image(program))
		}))
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, programs) {
		return nil, fmt.Errorf("the manifests name the images of %q, want those of %q", got, programs)
	}
	return out.Bytes(), nil
}

func (s *settings) image(program string) string {
	image := s.registry + "/" + program
	if digest := s.digests[program]; digest != "" {
		return image + "@" + digest
	}
	if s.version == "" {
		return image + ":dev"
	}
	return image + ":" + s.version
}

// named writes what names objects, which is all that a deletion reads.
func named(all []*resource.Resource) ([]byte, error) {
	var out bytes.Buffer
	for _, r := range all {
		metadata := map[string]string{"name": r.GetName()}
		if r.GetNamespace() != "" {
			metadata["namespace"] = r.GetNamespace()
		}
		text, err := yaml.Marshal(map[string]any{"apiVersion": r.GetApiVersion(), "kind": r.GetKind(), "metadata": metadata})
		if err != nil {
			return nil, fmt.Errorf("name %s %s: %w", r.GetKind(), r.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}
