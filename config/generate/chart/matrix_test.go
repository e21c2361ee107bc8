package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/full"
)

// valueSets are values that users combine.
func valueSets() []string {
	return []string{
		"domain=apps.example.com",
		"image.registry=registry.test:5000/fairlead,image.tag=v1.2.3",
		"image.digests.operator=sha256:" + strings.Repeat("0a", 32) + ",image.digests.router=sha256:" + strings.Repeat("0b", 32),
		"image.pullPolicy=Always,image.pullSecrets[0].name=mine,image.pullSecrets[1].name=other",
		"policies.mutating=true",
		"policies.mutating=false,networkPolicies.enabled=false",
		"monitoring.enabled=true",
		"operator.replicas=1,operator.priorityClassName=high",
		"operator.extraArgs[0]=--cloud=aws,operator.extraArgs[1]=--dns=route53,speaker.enabled=false",
		"canary.enabled=false,console.enabled=true,console.host=console.test",
		"canary.interval=5m,speaker.priorityClassName=high,speaker.extraArgs[0]=--l2-isolation=announce",
		"crds.install=false,speaker.enabled=false,canary.enabled=false,networkPolicies.enabled=false,policies.mutating=false",
	}
}

// TestMatrix: for each version of Kubernetes that is served and each set of values, a real API server decodes strictly, and
// admits, what Helm writes. What is the same for several versions it is asked about once.
func TestMatrix(t *testing.T) {
	t.Parallel()
	folder, helm := chart(t, "helm4")
	server, dir := apiServer(t)
	file := filepath.Join(dir, "objects.yaml")
	apply := func(text string, args ...string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := server.Kubectl(t.Context(), append([]string{"apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", file}, args...)...); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	template := func(version, values string) map[string]*unstructured.Unstructured {
		t.Helper()
		out, err := helm("template", "fairlead", folder, "--kube-version", version, "--set", values)
		if err != nil {
			t.Fatalf("%s, %s: %v", version, values, err)
		}
		return objects(t, out)
	}
	kinds := func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "Namespace"
	}
	// The kinds and namespaces that the rest needs are there, as after an installation.
	first := template("1.36.3", "console.enabled=true")
	apply(written(t, first, kinds))
	if out, err := server.Kubectl(t.Context(), "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	asked := map[string]bool{}
	for _, values := range valueSets() {
		for _, minor := range full.Or([]int{30, 31, 32, 33, 34, 35, 36}, []int{30, 35, 36}) {
			all := template(fmt.Sprintf("1.%d.0", minor), values)
			text := written(t, all, func(o *unstructured.Unstructured) bool {
				return !kinds(o) && !strings.HasSuffix(o.GroupVersionKind().Group, "monitoring.coreos.com") // of another project
			})
			if len(all) < 20 || text == "" {
				t.Fatalf("1.%d, %s: %d objects", minor, values, len(all))
			}
			if !asked[text] {
				asked[text] = true
				apply(text, "--dry-run=server")
			}
		}
	}
	t.Logf("%d different outputs", len(asked))
}

// written are the objects that are meant, in an order of their own, as YAML.
func written(t *testing.T, all map[string]*unstructured.Unstructured, meant func(*unstructured.Unstructured) bool) string {
	t.Helper()
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !meant(all[name]) {
			continue
		}
		text, err := yaml.Marshal(all[name].Object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}
