package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

const root = "../../.."

// files are the files of a release, written twice: once by each of two calls.
func files(t *testing.T, s settings) (folder string, texts map[string]string) {
	t.Helper()
	s.root = root
	var read [2]map[string]string
	for i := range read {
		folder = t.TempDir()
		if err := s.run(folder); err != nil {
			t.Fatal(err)
		}
		read[i] = map[string]string{}
		for _, name := range []string{"install.yaml", "install-compat.yaml", "install-kind.yaml", "kind-cluster.yaml", "console.yaml", "uninstall.yaml", "uninstall-crds.yaml"} {
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			read[i][name] = string(text)
		}
	}
	for name, text := range read[0] {
		if text != read[1][name] {
			t.Errorf("%s differs between two calls", name)
		}
	}
	return folder, read[0]
}

// names returns "KIND NAMESPACE/NAME" of each object, in the order of the file.
func names(t *testing.T, text string) []string {
	t.Helper()
	var all []string
	for _, doc := range strings.Split(text, "---\n")[1:] {
		var o metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		all = append(all, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	return all
}

// TestFiles: what is installed is what the two files for uninstalling name, and each
// image has the version or the digest that was given.
func TestFiles(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0a", 32)
	_, texts := files(t, settings{version: "v1.2.3", registry: "r.test:5000/f", digests: map[string]string{"router": digest, "console": digest}})
	installed := names(t, texts["install.yaml"])
	removed := slices.Concat(names(t, texts["uninstall.yaml"]), names(t, texts["uninstall-crds.yaml"]))
	compat := slices.DeleteFunc(slices.Clone(installed), func(o string) bool { return strings.HasPrefix(o, "MutatingAdmissionPolicy") })
	if len(compat) == len(installed) || !slices.Equal(compat, names(t, texts["install-compat.yaml"])) {
		t.Error("install-compat.yaml is not install.yaml without MutatingAdmissionPolicies")
	}
	for _, o := range names(t, texts["uninstall.yaml"]) {
		if strings.HasPrefix(o, "Namespace ") || strings.HasPrefix(o, "CustomResourceDefinition ") {
			t.Errorf("uninstall.yaml deletes %s, and with it objects of users", o)
		}
	}
	slices.Sort(installed)
	slices.Sort(removed)
	if !slices.Equal(installed, removed) {
		t.Errorf("installed are\n%q\nremoved are\n%q", installed, removed)
	}
	for _, image := range []string{"image: r.test:5000/f/operator:v1.2.3\n", "value: r.test:5000/f/router@" + digest + "\n", "value: r.test:5000/f/operator:v1.2.3\n", "image: r.test:5000/f/speaker:v1.2.3\n"} {
		if !strings.Contains(texts["install.yaml"], image) || !strings.Contains(texts["install-compat.yaml"], image) {
			t.Errorf("%q is not in the manifests", image)
		}
	}
	if console := texts["console.yaml"]; !strings.Contains(console, "image: r.test:5000/f/console@"+digest+"\n") || !strings.Contains(console, "Fairlead v1.2.3") {
		t.Errorf("the console has another image:\n%s", console)
	}
	if left := regexp.MustCompile(`fairlead\.dev/[a-z]+:\S+`).FindAllString(texts["install.yaml"]+texts["console.yaml"], -1); len(left) > 0 {
		t.Errorf("images of no release: %q", left)
	}
	for _, wrong := range []string{"", "router", "router=latest", "haproxy=" + digest} {
		if err := (&settings{digests: map[string]string{}}).digest(wrong); err == nil {
			t.Errorf("the digest %q is taken", wrong)
		}
	}
}

// TestKept: the policy names all kinds and namespaces of config/default.
func TestKept(t *testing.T) {
	t.Parallel()
	policy, err := os.ReadFile(filepath.Join(root, "config/kept/policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range regexp.MustCompile(`(?m)^ +"([a-z0-9.-]+)"[],]`).FindAllStringSubmatch(string(policy), -1) {
		got = append(got, m[1])
	}
	_, texts := files(t, settings{})
	for _, o := range names(t, texts["uninstall-crds.yaml"]) {
		_, name, _ := strings.Cut(o, "/")
		want = append(want, name)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config/default"))
	if err != nil {
		t.Fatal(err)
	}
	if all := built.Resources(); all[len(all)-2].GetName() != "fairlead-kept" {
		t.Error("the policy is not the last of config/default: \"kubectl delete -k\" would come to it before what it keeps")
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("kept are\n%q\nwant\n%q", got, want)
	}
}

const users = `apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: mine, namespace: default}
spec: {host: mine.example.com, to: {kind: Service, name: a}}
---
apiVersion: operator.openshift.io/v1
kind: IngressController
metadata: {name: mine, namespace: openshift-ingress-operator}
spec: {}
---
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: mine, namespace: metallb-system}
spec: {addresses: [198.18.9.0/24]}
`

// TestLife takes install.yaml through its life on a real API server: what users wrote goes
// only when that is asked for.
func TestLife(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := t.TempDir()
	server, err := cluster.StartAPIServer(ctx, dir)
	if err != nil {
		t.Skip(err)
	}
	defer server.Stop() //nolint:errcheck // its files go with dir
	folder, _ := files(t, settings{version: "v1.2.3", registry: "r.test/f"})
	kubectl := func(args ...string) (string, error) { return server.Kubectl(ctx, args...) }
	must := func(args ...string) string {
		t.Helper()
		out, err := kubectl(args...)
		if err != nil {
			t.Fatalf("kubectl %q: %v", args, err)
		}
		return out
	}
	objects := filepath.Join(dir, "objects.yaml")
	if err := os.WriteFile(objects, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := func(after, want string) {
		t.Helper()
		out, err := kubectl("get", "--ignore-not-found", "-f", objects, "-o", `jsonpath={range .items[*]}{.kind}{.metadata.deletionTimestamp} {end}`)
		if err != nil || strings.TrimSpace(out) != want {
			t.Errorf("after %s there is %q of what users wrote: %v", after, out, err)
		}
	}
	const all = "Route IngressController IPAddressPool"
	install := filepath.Join(folder, "install.yaml")
	documented(ctx, t, server, folder, "## Install")
	documented(ctx, t, server, folder, "## Upgrade and roll back")
	if domain := must("get", "deployment", "ingress-operator", "-n", "openshift-ingress-operator", "-o", `jsonpath={.spec.template.spec.containers[0].env[?(@.name=="DOMAIN")].value}`); domain != "apps.test" {
		t.Errorf("the domain is %q", domain)
	}
	must("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	patient := wait.Poll{Limit: 3 * time.Minute, Every: 100 * time.Millisecond}
	patient.For(t, "the API server takes what users write", func() error {
		_, err := kubectl("apply", "-f", objects)
		return err
	})
	patient.For(t, "the policy is in force", func() error {
		_, err := kubectl("delete", "--dry-run=server", "crd", "routes.route.openshift.io")
		if err == nil || !strings.Contains(err.Error(), "nothing of it was deleted") {
			return os.ErrNotExist
		}
		return nil
	})

	collection(ctx, t, server)
	kept("the deletion of a collection of kinds", all)
	// By mistake; what holds objects of users comes first, while the policy is there.
	out, err := kubectl("delete", "--wait=false", "-f", install)
	if err == nil || strings.Count(err.Error(), "nothing of it was deleted") != 21 {
		t.Errorf("the deletion of install.yaml says: %v: %s", err, out)
	}
	kept("the deletion of install.yaml", all)

	patient.For(t, "the second installation", func() error {
		_, err := kubectl("apply", "--server-side", "-f", install)
		return err
	})
	documented(ctx, t, server, folder, "## Uninstall")
	// IngressControllers go because the page deletes them by a command of their own, after it has saved them.
	kept("uninstalling", "Route IPAddressPool")
	if saved, err := os.ReadFile(filepath.Join(folder, "ingresscontrollers.yaml")); err != nil || !strings.Contains(string(saved), "name: mine") {
		t.Errorf("the copy of IngressControllers: %v: %s", err, saved)
	}
	if left := must("get", "deployments,daemonsets,clusterroles,validatingadmissionpolicies", "-A", "-o", "name"); strings.Contains(left, "fairlead") || strings.Contains(left, "ingress-operator") || strings.Contains(left, "speaker") {
		t.Errorf("these are left: %s", left)
	}

	// The policy is gone, but the API server may follow it for moments more.
	patient.For(t, "the policy is gone", func() error {
		_, err := kubectl("delete", "--dry-run=server", "crd", "routes.route.openshift.io")
		return err
	})
	documented(ctx, t, server, folder, "### Delete users' objects too")
	patient.Every = time.Second
	patient.For(t, "no kind is left", func() error {
		out, err := kubectl("get", "crd", "-o", "name")
		if err != nil || strings.TrimSpace(out) == "" {
			return err
		}
		// The API server looks for objects of a kind before it goes, and pauses ever longer, for minutes in the end, where
		// it could not: "storage is (re)initializing". A list makes it able to, a change has it try at once.
		for kind := range strings.FieldsSeq(out) {
			_, _ = kubectl("get", strings.TrimPrefix(kind, "customresourcedefinition.apiextensions.k8s.io/"), "-A")
			_, _ = kubectl("annotate", "--overwrite", kind, "test.fairlead.dev/again="+strconv.FormatInt(time.Now().UnixNano(), 10))
		}
		return fmt.Errorf("left: %s", out)
	})
}

// documented runs the first block of commands below a heading of docs/install.md, in the folder of a release.
func documented(ctx context.Context, t *testing.T, server *cluster.APIServer, folder, heading string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(page), "\n"+heading+"\n")
	_, below, fenced := strings.Cut(below, "```sh\n")
	block, _, ends := strings.Cut(below, "```\n")
	if !found || !fenced || !ends {
		t.Fatalf("docs/install.md has no commands below %q", heading)
	}
	binary, err := toolset.Path("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	// Without a controller of namespaces, their deletion begins and does not end.
	block = strings.ReplaceAll(block, "-f uninstall-crds.yaml", "--wait=false -f uninstall-crds.yaml")
	block = strings.ReplaceAll(block, "DOMAIN=apps.example.com", "DOMAIN=apps.test")
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", block)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "KUBECONFIG="+server.Kubeconfig(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", heading, err, block, out)
	}
}

// collection asks for the deletion of all kinds in one request.
func collection(ctx context.Context, t *testing.T, server *cluster.APIServer) {
	t.Helper()
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteAllOf(ctx, &apiextensionsv1.CustomResourceDefinition{}); err == nil || !strings.Contains(err.Error(), "fairlead-kept") {
		t.Errorf("the deletion of all kinds in one request says: %v", err)
	}
}
