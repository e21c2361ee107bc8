package api

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fence matches a fenced block: its info string and its text.
var fence = regexp.MustCompile("(?ms)^```([a-z ]*)\n(.*?)^```$")

// TestRouteExamples applies the examples of the page about this API, as those
// of all pages are in test/docs. Blocks marked "yaml"
// must be accepted. Blocks marked "yaml refused" must be refused with the
// text of the "text" block after them. Nothing is stored.
func TestRouteExamples(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	policiesInForce(t, c)
	demo := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), demo)); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/routes/api.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages (%v)", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := fence.FindAllStringSubmatch(string(text), -1)
		for i, b := range blocks {
			if !strings.HasPrefix(b[1], "yaml") {
				continue
			}
			want := ""
			if strings.HasSuffix(b[1], " refused") {
				if i+1 == len(blocks) || blocks[i+1][1] != "text" {
					t.Fatalf("%s: no text after this:\n%s", page, b[2])
				}
				want = blocks[i+1][2]
			}
			checkExample(t, page, b[2], strings.TrimSpace(want))
		}
	}
}

func checkExample(t *testing.T, page, manifest, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "example.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := server.Kubectl(t.Context(), "create", "--dry-run=server", "-f", file)
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v\n%s", page, err, manifest)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want a refusal with %q\n%s", page, err, want, manifest)
	}
}

// kindsOf counts the objects of a kustomization by kind.
func kindsOf(t *testing.T, dir string) map[string]int {
	t.Helper()
	out, err := server.Kubectl(t.Context(), "kustomize", dir)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.SplitSeq(out, "\n") {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			count[kind]++
		}
	}
	return count
}

// TestWithoutMutatingPolicies: the variant for old clusters can be built, and
// lacks nothing else.
func TestWithoutMutatingPolicies(t *testing.T) {
	t.Parallel()
	newClient(t)
	all, without := kindsOf(t, "../../config/default"), kindsOf(t, "../../config/without-mutating-policies")
	for kind, n := range all {
		want := n
		if strings.HasPrefix(kind, "MutatingAdmissionPolicy") {
			want = 0
		}
		if without[kind] != want {
			t.Errorf("%s: %d, want %d", kind, without[kind], want)
		}
	}
}

// TestUninstall: what the documentation has users delete is all that was installed but what
// holds their objects.
func TestUninstall(t *testing.T) {
	t.Parallel()
	newClient(t)
	all, removed := kindsOf(t, "../../config/default"), kindsOf(t, "../../config/uninstall")
	for kind, n := range all {
		want := n
		if kind == "CustomResourceDefinition" || kind == "Namespace" {
			want = 0
		}
		if removed[kind] != want {
			t.Errorf("%s: %d are removed, want %d", kind, removed[kind], want)
		}
	}
	out, err := server.Kubectl(t.Context(), "delete", "--dry-run=server", "-k", "../../config/uninstall")
	if err != nil || strings.Contains(out, "customresourcedefinition") || strings.Contains(out, "namespace \"") || !strings.Contains(out, `deployment.apps "ingress-operator" deleted`) {
		t.Errorf("%v: %s", err, out)
	}
}
