package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

const root = "../../.."

// helms are the programs of Helm 3 and Helm 4.
var helms = []string{"helm", "helm4"}

// both runs a test with each version of Helm.
func both(t *testing.T, test func(t *testing.T, program string)) {
	t.Parallel()
	for _, program := range helms {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			test(t, program)
		})
	}
}

// chart makes the chart, and returns its folder and how to run a version of Helm.
func chart(t *testing.T, program string) (folder string, helm func(args ...string) (string, error)) {
	t.Helper()
	binary, err := toolset.Path(program)
	if err != nil {
		t.Skip(err)
	}
	folder = filepath.Join(t.TempDir(), "fairlead")
	if err := run(root, folder, images{}); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return folder, func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
		out, err := cmd.Output()
		if exit, failed := errors.AsType[*exec.ExitError](err); failed {
			err = errors.New(string(exit.Stderr))
		}
		return string(out), err
	}
}

// apiServer starts an API server that ends with the test, and returns the folder with its files, too.
func apiServer(t *testing.T) (server *cluster.APIServer, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir = t.TempDir()
	server, err := cluster.StartAPIServer(ctx, dir)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = server.Stop() }) // its files go with dir
	return server, dir
}

// objects reads documents by what names them.
func objects(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(strings.TrimPrefix(doc, "---\n")+"\n"), &u.Object); err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		if len(u.Object) == 0 {
			continue
		}
		name := u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		all[name] = u
	}
	return all
}

// TestChartIsKustomize: with its default values the chart is config/default, object by
// object, but for the annotation by which Helm keeps kinds and namespaces.
func TestChartIsKustomize(t *testing.T) { both(t, isKustomize) }

func isKustomize(t *testing.T, program string) {
	folder, helm := chart(t, program)
	out, err := helm("template", "fairlead", folder, "--kube-version", "1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "config/default"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	want, got := objects(t, string(text)), objects(t, out)
	for name, o := range got {
		if o.GetAnnotations()["helm.sh/hook"] == "test" { // helm test makes it
			delete(got, name)
			continue
		}
		kept := o.GetAnnotations()["helm.sh/resource-policy"] == "keep"
		if holds := o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace"; kept != holds {
			t.Errorf("%s: kept by Helm: %t", name, kept)
		}
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy")
		if len(o.GetAnnotations()) == 0 {
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
		}
		if want[name] == nil {
			t.Errorf("%s is not in config/default", name)
			continue
		}
		if d := cmp.Diff(want[name].Object, o.Object); d != "" {
			t.Errorf("%s differs (-config +chart):\n%s", name, d)
		}
	}
	for name := range want {
		if got[name] == nil {
			t.Errorf("%s is not in the chart", name)
		}
	}
}

// TestValues: each value does what values.yaml says, and what the schema does not know is
// refused.
func TestValues(t *testing.T) { both(t, values) }

func values(t *testing.T, program string) {
	folder, helm := chart(t, program)
	if out, err := helm("lint", "--strict", folder); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	digest := "sha256:" + strings.Repeat("0a", 32)
	for _, test := range []struct {
		args []string
		// has are texts of the objects, lacks those that are not there.
		has, lacks []string
	}{
		{[]string{"--set", "domain=apps.test"}, []string{`value: "apps.test"`}, []string{"apps.example.com"}},
		{[]string{"--set", "image.registry=r.test:5000/f,image.tag=v1"}, []string{`image: "r.test:5000/f/operator:v1"`, `value: "r.test:5000/f/router:v1"`, `image: "r.test:5000/f/speaker:v1"`}, []string{"fairlead.dev/operator:"}},
		{[]string{"--set", "image.digests.router=" + digest}, []string{`value: "fairlead.dev/router@` + digest + `"`, `image: "fairlead.dev/operator:dev"`}, nil},
		{[]string{"--set", "image.pullPolicy=Always,image.pullSecrets[0].name=mine"}, []string{"imagePullPolicy: Always", "imagePullSecrets:", "- name: mine", "kind: ServiceAccount\nimagePullSecrets:\n  - name: mine"}, []string{"IfNotPresent"}},
		{[]string{"--set", "crds.install=false"}, []string{"kind: Deployment"}, []string{"kind: CustomResourceDefinition"}},
		{[]string{"--set", "policies.mutating=false"}, []string{"kind: ValidatingAdmissionPolicy"}, []string{"kind: MutatingAdmissionPolicy"}},
		{[]string{"--set", "networkPolicies.enabled=false"}, nil, []string{"kind: NetworkPolicy"}},
		{[]string{"--set", "operator.replicas=3,operator.priorityClassName=high,operator.extraArgs[0]=--cloud=aws"}, []string{"replicas: 3", "priorityClassName: high", `- "--cloud=aws"`}, nil},
		{[]string{"--set", "canary.enabled=false"}, []string{"name: CANARY_IMAGE\n          value: \"\""}, nil},
		{nil, []string{`- "--host=canary-openshift-ingress-canary.apps.example.com"`}, nil},
		{[]string{"--set", "canary.enabled=false"}, []string{"--address=$(ROUTER_INTERNAL_DEFAULT_SERVICE_HOST)"}, []string{"--host="}},
		{[]string{"--set", "canary.interval=5m"}, []string{`value: "5m"`}, nil},
		{[]string{"--set", "speaker.enabled=false"}, []string{"kind: Deployment"}, []string{"kind: DaemonSet"}},
		{[]string{"--set", "speaker.priorityClassName=high,speaker.extraArgs[0]=--l2-isolation=announce"}, []string{"- --l2-isolation=announce", "priorityClassName: high"}, nil},
		{[]string{"--set", "networkPolicies.enabled=false,console.enabled=true"}, []string{"kind: Ingress", `host: "console.apps.example.com"`, `image: "fairlead.dev/console:dev"`, "ingressClassName: openshift-default", "type: kubernetes.io/tls", "kind: NetworkPolicy"}, []string{"apiVersion: route.openshift.io/v1"}},
		{[]string{"--set", "console.enabled=true,console.host=c.test,console.ingressClassName=openshift-inside,console.certificate.create=false,image.digests.console=" + digest}, []string{`host: "c.test"`, "openshift-inside", `console@` + digest + `"`}, []string{"type: kubernetes.io/tls"}},
		{nil, nil, []string{"fairlead-console"}},
		{[]string{"--set", "monitoring.enabled=true"}, []string{"kind: PrometheusRule", "kind: PodMonitor", `grafana_dashboard: "1"`, "IngressController {{ $labels.name }} has no ready router", `"legendFormat": "{{code}}"`}, nil},
		{[]string{"--kube-version", "1.30.0"}, nil, []string{"kind: MutatingAdmissionPolicy"}},
		{[]string{"--kube-version", "1.30.0", "--set", "policies.mutating=true"}, []string{"kind: MutatingAdmissionPolicy"}, nil},
	} {
		args := test.args
		if !slices.Contains(args, "--kube-version") {
			args = append(args, "--kube-version", "1.36.3")
		}
		out, err := helm(append([]string{"template", "fairlead", folder}, args...)...)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		objects(t, out)
		for _, text := range test.has {
			if !strings.Contains(out, text) {
				t.Errorf("%q: %q is not there", args, text)
			}
		}
		for _, text := range test.lacks {
			if strings.Contains(out, text) {
				t.Errorf("%q: %q is there", args, text)
			}
		}
	}
	for set, want := range map[string]string{
		"domian=a.test": "domian", "domain=Apps.test": "domain", "operator.replicas=0": "replicas", "operator.replica=1": "replica",
		"console.host=c_test": "host", "console.certificate=true": "certificate", "image.digests.router=latest": "digests", "policies.mutating=maybe": "mutating", "operator.extraArgs[0]=cloud": "extraArgs", "image.tag=a b": "tag",
	} {
		if _, err := helm("template", "fairlead", folder, "--set", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want a refusal that names %s", set, err, want)
		}
	}
}

// TestReleaseImages: the chart of a release installs the images of the release, by digest.
func TestReleaseImages(t *testing.T) {
	t.Parallel()
	folder, helm := chart(t, "helm4")
	digests := map[string]string{}
	for i, program := range []string{"operator", "router", "speaker"} {
		digests[program] = "sha256:" + strings.Repeat(string(rune('a'+i)), 64)
	}
	if err := (images{version: "v1.2.3", registry: "r.test/f", digests: digests}).set(folder); err != nil {
		t.Fatal(err)
	}
	out, err := helm("template", "fairlead", folder, "--kube-version", "1.36.3")
	if err != nil {
		t.Fatal(err)
	}
	for program, digest := range digests {
		if !strings.Contains(out, `"r.test/f/`+program+"@"+digest+`"`) {
			t.Errorf("the image of %s is not that of the release", program)
		}
	}
	if err := (images{version: "v1.2.3"}).set(t.TempDir()); err == nil {
		t.Error("a folder without a chart gets a version")
	}
}

// TestInstall takes the chart through its life on a real API server: what users wrote
// outlives it.
func TestInstall(t *testing.T) { both(t, install) }

func install(t *testing.T, program string) {
	folder, helm := chart(t, program)
	server, dir := apiServer(t)
	on := func(args ...string) {
		t.Helper()
		if out, err := helm(append(args, "--kubeconfig", server.Kubeconfig())...); err != nil {
			t.Fatalf("helm %q: %v: %s", args, err, out)
		}
	}
	kubectl := func(args ...string) string {
		t.Helper()
		out, err := server.Kubectl(t.Context(), args...)
		if err != nil {
			t.Fatalf("kubectl %q: %v", args, err)
		}
		return strings.TrimSpace(out)
	}
	replicas := func(want string) {
		t.Helper()
		if got := kubectl("get", "deployment", "ingress-operator", "-n", "openshift-ingress-operator", "-o", "jsonpath={.spec.replicas}"); got != want {
			t.Errorf("%s operators, want %s", got, want)
		}
	}
	on("install", "fairlead", folder)
	replicas("2")
	kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
	file := filepath.Join(dir, "objects.yaml")
	const users = "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: mine, namespace: metallb-system}\nspec: {addresses: [198.18.9.0/24]}\n---\n" +
		"apiVersion: fairlead.dev/v1alpha1\nkind: RoutePolicy\nmetadata: {name: mine, namespace: default}\nspec: {access: {allow: [10.0.0.0/8]}}\n"
	if err := os.WriteFile(file, []byte(users), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl("apply", "-f", file)
	on("upgrade", "fairlead", folder, "--set", "operator.replicas=3")
	replicas("3")
	on("rollback", "fairlead", "1")
	replicas("2")
	on("uninstall", "fairlead")
	if got := kubectl("get", "deployments,daemonsets,validatingadmissionpolicies", "-A", "-o", "name"); strings.Contains(got, "ingress-operator") || strings.Contains(got, "speaker") {
		t.Errorf("these are left: %s", got)
	}
	if got := kubectl("get", "-f", file, "-o", "name"); !strings.Contains(got, "ipaddresspool.metallb.io/mine") || !strings.Contains(got, "routepolicy.fairlead.dev/mine") {
		t.Errorf("of what users wrote there is %s", got)
	}
	on("install", "fairlead", folder)
	replicas("2")
}
