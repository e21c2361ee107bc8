package preflight_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	"golang.org/x/tools/txtar"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/preflight"
	"github.com/fairlead/fairlead/config"
)

var update = flag.Bool("update", false, "write what is shown into testdata and docs")

// given is what facts.yaml of a case says beside its objects.
type given struct {
	Kubernetes    string                      `json:"kubernetes"`
	PolicyKinds   []string                    `json:"policyKinds"`
	KindNames     []string                    `json:"kindNames"`
	RouteAPI      string                      `json:"routeAPI"`
	OtherMetalLB  []string                    `json:"otherMetalLB"`
	ReadyServices []string                    `json:"readyServices"`
	Gaps          map[preflight.Source]string `json:"gaps"`
	// Installed is true if the cluster has the kinds of this version, DeniedAll if the user has no right.
	Installed, DeniedAll bool
}

// TestGolden judges the clusters of testdata/*.txtar: cluster.yaml has objects, facts.yaml
// what is beside them, and want is what is shown.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := preflight.Judge(facts(t, a))
			var text bytes.Buffer
			if err := r.Text(&text); err != nil {
				t.Fatal(err)
			}
			for i := range a.Files {
				got := text.Bytes()
				switch a.Files[i].Name {
				default:
					continue
				case "want.json":
					got = indented(t, r)
				case "want":
				}
				if d := cmp.Diff(string(a.Files[i].Data), string(got)); d != "" && !*update {
					t.Errorf("(-want +got):\n%s", d)
				}
				a.Files[i].Data = got
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if bytes.ContainsAny(text.Bytes(), "\x1b\r\t") {
				t.Error("a terminal would obey it")
			}
			pages(t, r)
		})
	}
}

func indented(t *testing.T, r *preflight.Report) []byte {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// pages: what is wrong has something to do and a page that is there.
func pages(t *testing.T, r *preflight.Report) {
	t.Helper()
	for _, c := range r.Checks {
		wrong := c.State == check.Fail || c.State == check.Warn
		if wrong != (c.Remedy != "") || wrong != (c.Page != "") || c.Summary == "" {
			t.Errorf("%+v", c)
		}
		if c.Page == "" {
			continue
		}
		file, anchor, _ := strings.Cut(c.Page, "#")
		page, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Error(err)
		}
		if anchor != "" && !strings.Contains(strings.ToLower(string(page)), "## "+strings.ReplaceAll(anchor, "-", " ")+"\n") {
			t.Errorf("%s has no heading %s", file, anchor)
		}
	}
}

func facts(t *testing.T, a *txtar.Archive) *preflight.Facts {
	t.Helper()
	f := &preflight.Facts{Kinds: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	var err error
	if f.Wanted, err = config.Kinds(); err != nil {
		t.Fatal(err)
	}
	var g given
	for _, file := range a.Files {
		switch file.Name {
		case "facts.yaml":
			if err := yaml.UnmarshalStrict(file.Data, &g); err != nil {
				t.Fatal(err)
			}
		case "cluster.yaml":
			for text := range strings.SplitSeq(string(file.Data), "\n---\n") {
				add(t, f, []byte(text))
			}
		}
	}
	f.Kubernetes, f.PolicyKinds, f.RouteAPI, f.OtherMetalLB, f.ReadyServices, f.Gaps = g.Kubernetes, g.PolicyKinds, g.RouteAPI, g.OtherMetalLB, g.ReadyServices, g.Gaps
	f.KindNames = g.KindNames
	if g.Installed {
		for i := range f.Wanted {
			if f.Kinds[f.Wanted[i].Name] == nil {
				f.Kinds[f.Wanted[i].Name] = f.Wanted[i].DeepCopy()
			}
		}
	}
	if g.DeniedAll {
		f.Denied = preflight.RightsNeeded()
	}
	return f
}

// add reads one object.
func add(t *testing.T, f *preflight.Facts, text []byte) {
	t.Helper()
	var head struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct{ ControllerName string }
	}
	decode := func(into any) {
		if err := yaml.Unmarshal(text, into); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
	}
	decode(&head)
	switch head.Kind {
	case "CustomResourceDefinition":
		k := &apiextensionsv1.CustomResourceDefinition{}
		decode(k)
		f.Kinds[k.Name] = k
	case "Namespace":
		f.Namespaces = append(f.Namespaces, corev1.Namespace{})
		decode(&f.Namespaces[len(f.Namespaces)-1])
	case "Pod":
		f.Pods = append(f.Pods, corev1.Pod{})
		decode(&f.Pods[len(f.Pods)-1])
	case "Service":
		f.Services = append(f.Services, corev1.Service{})
		decode(&f.Services[len(f.Services)-1])
	case "Deployment":
		f.Deployments = append(f.Deployments, appsv1.Deployment{})
		decode(&f.Deployments[len(f.Deployments)-1])
	case "DaemonSet":
		f.DaemonSets = append(f.DaemonSets, appsv1.DaemonSet{})
		decode(&f.DaemonSets[len(f.DaemonSets)-1])
	case "IngressClass":
		f.Classes = append(f.Classes, networkingv1.IngressClass{})
		decode(&f.Classes[len(f.Classes)-1])
	case "IngressController":
		f.Controllers = append(f.Controllers, operatorv1.IngressController{})
		decode(&f.Controllers[len(f.Controllers)-1])
	case "GatewayClass":
		f.GatewayClasses = append(f.GatewayClasses, preflight.GatewayClass{Name: head.Metadata.Name, Controller: head.Spec.ControllerName})
	case "ValidatingWebhookConfiguration":
		var c admissionv1.ValidatingWebhookConfiguration
		decode(&c)
		for _, w := range c.Webhooks {
			f.Webhooks = append(f.Webhooks, preflight.Webhook{Configuration: "validatingwebhookconfiguration/" + c.Name, ValidatingWebhook: w})
		}
	default:
		t.Fatalf("kind %q", head.Kind)
	}
}

// TestRights: what RightsNeeded lists is what the manifests consist of.
func TestRights(t *testing.T) {
	t.Parallel()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../../config/default")
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]bool{}, map[string]bool{}
	for _, r := range built.Resources() {
		resource := strings.ToLower(r.GetKind()) + "s"
		if stem, ok := strings.CutSuffix(resource, "ys"); ok {
			resource = stem + "ies"
		}
		for _, verb := range []string{"create", "patch"} {
			want[fmt.Sprint(r.GetGvk().Group, " ", resource, " ", verb, " ", r.GetNamespace())] = true
		}
	}
	for _, r := range preflight.RightsNeeded() {
		if r.Verb == "create" || r.Verb == "patch" {
			got[fmt.Sprint(r.Group, " ", r.Resource, " ", r.Verb, " ", r.Namespace)] = true
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-manifests +RightsNeeded):\n%s", d)
	}
}

// TestDecide has the rows of the table of who owns a kind.
func TestDecide(t *testing.T) {
	t.Parallel()
	wanted, err := config.Kinds()
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) *apiextensionsv1.CustomResourceDefinition {
		i := slices.IndexFunc(wanted, func(k apiextensionsv1.CustomResourceDefinition) bool { return k.Name == name })
		return wanted[i].DeepCopy()
	}
	const pools, peers, routes = "ipaddresspools.metallb.io", "bgppeers.metallb.io", "routes.route.openshift.io"
	spec := func(k *apiextensionsv1.CustomResourceDefinition) map[string]apiextensionsv1.JSONSchemaProps {
		return k.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	}
	for name, tt := range map[string]struct {
		kind      string
		here      func(*apiextensionsv1.CustomResourceDefinition)
		absent    bool
		openShift bool
		then      preflight.Then
		why       string
		lost      []string
		gained    []string
	}{
		"nothing":          {kind: routes, absent: true, then: preflight.Install},
		"OpenShift's API":  {kind: routes, absent: true, openShift: true, then: preflight.Leave, why: "OpenShift owns it"},
		"OpenShift's kind": {kind: routes, openShift: true, then: preflight.Leave, why: "OpenShift owns it"},
		"MetalLB's, there": {kind: pools, openShift: true, then: preflight.Keep},
		"the same":         {kind: routes, then: preflight.Keep},
		"an older one":     {kind: pools, here: func(k *apiextensionsv1.CustomResourceDefinition) { delete(spec(k), "avoidBuggyIPs") }, then: preflight.Upgrade, gained: []string{"spec.avoidBuggyIPs"}},
		"a newer one": {kind: pools, here: func(k *apiextensionsv1.CustomResourceDefinition) {
			spec(k)["mood"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
		}, then: preflight.Leave, why: "Fairlead's would drop what it has: spec.mood", lost: []string{"spec.mood"}},
		"another version": {kind: peers, here: func(k *apiextensionsv1.CustomResourceDefinition) {
			k.Spec.Versions[0].Name = "v1beta9"
			k.Status.StoredVersions = []string{"v1beta9"}
		}, then: preflight.Leave, why: "objects are stored in version v1beta9, which Fairlead's has not"},
		"it is deleted": {kind: routes, here: func(k *apiextensionsv1.CustomResourceDefinition) { k.DeletionTimestamp = &metav1.Time{} }, then: preflight.Wait, why: "it is being deleted, with all its objects"},
		"names are refused": {kind: routes, here: func(k *apiextensionsv1.CustomResourceDefinition) {
			k.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse, Message: "in use"}}
		}, then: preflight.Wait, why: "the API server does not accept its names: in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			here := of(tt.kind)
			if tt.here != nil {
				tt.here(here)
			}
			if tt.absent {
				here = nil
			}
			d := preflight.Decide(of(tt.kind), here, tt.openShift)
			if d.Then != tt.then || d.Why != tt.why {
				t.Errorf("%+v", d)
			}
			if tt.lost != nil && !slices.Equal(d.Lost, tt.lost) || tt.gained != nil && !slices.Equal(d.Gained, tt.gained) {
				t.Errorf("lost %q, gained %q", d.Lost, d.Gained)
			}
		})
	}
}

// TestSchema holds the form for programs: scripts read it. A field that vanishes or changes
// its type needs a new number in Schema.
func TestSchema(t *testing.T) {
	t.Parallel()
	var got []string
	for _, form := range []any{preflight.Report{}, preflight.Check{}, preflight.Decision{}} {
		for f := range reflect.TypeOf(form).Fields() {
			got = append(got, fmt.Sprintf("%s %s", f.Tag.Get("json"), f.Type))
		}
	}
	want := []string{
		"schema string", "verdict preflight.Verdict", "kubernetes string", "partial bool", "notes []string", "checks []preflight.Check", "kinds []preflight.Decision",
		"id string", "state check.State", "summary string", "remedy string", "page string",
		"kind string", "owner string", "here string", "then preflight.Then", "lost []string", "gained []string", "why string",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestDocs: the examples of docs/preflight.md are those of testdata.
func TestDocs(t *testing.T) {
	t.Parallel()
	const file = "../../docs/preflight.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := txtar.ParseFile("testdata/metallb.txtar")
	if err != nil {
		t.Fatal(err)
	}
	r := preflight.Judge(facts(t, a))
	var text bytes.Buffer
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	fresh := replaced(t, string(page), "```console\n$ kubectl fairlead preflight\n", text.String())
	// One check and one kind are enough.
	r.Checks = slices.DeleteFunc(r.Checks, func(c preflight.Check) bool { return c.ID != "address-provider" })
	r.Kinds = slices.DeleteFunc(r.Kinds, func(d preflight.Decision) bool { return d.Kind != "ipaddresspools.metallb.io" })
	fresh = replaced(t, fresh, "```json\n", string(indented(t, r)))
	if *update {
		if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(page), fresh); d != "" && !*update {
		t.Errorf("(-docs +now):\n%s", d)
	}
}

// replaced replaces the content of the first block that begins so.
func replaced(t *testing.T, page, begin, content string) string {
	t.Helper()
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, "```")
	if !ok || !ended {
		t.Fatalf("no block %q", begin)
	}
	return before + begin + content + "```" + after
}
