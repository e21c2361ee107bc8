package manifest

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/api"
)

func TestReadPositions(t *testing.T) {
	t.Parallel()
	r := NewReader("team")
	r.Read("a.yaml", []byte("# head\n---\n\n# more\nkind: Service\napiVersion: v1\nmetadata: {name: one}\n--- # next\nkind: Service\napiVersion: v1\nmetadata: {name: two, namespace: own}\nspec: {prots: []}\n---\n"))
	o := r.Objects()
	for ref, at := range map[api.ObjectRef]string{
		{Kind: "Service", Namespace: "team", Name: "one"}: "a.yaml:5",
		{Kind: "Service", Namespace: "own", Name: "two"}:  "a.yaml:9",
	} {
		if o.Files[ref] != at {
			t.Errorf("%s is at %q, want %s", ref, o.Files[ref], at)
		}
	}
	if len(o.Problems) != 1 || o.Problems[0].Field != "spec.prots" || o.Problems[0].Reason != api.ReasonUnknownField {
		t.Errorf("problems %v", o.Problems)
	}
}

func TestReadProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"not YAML", "a: [", "did not find"},
		{"not an object", "- a\n- b\n", "not a Kubernetes object"},
		{"twice the same key", "kind: Route\nkind: Route\n", "already set"},
		{"wrong type", "kind: Route\napiVersion: route.openshift.io/v1\nmetadata: {name: a}\nspec: {host: 7}\n", "cannot unmarshal"},
		{"old version", "kind: Ingress\napiVersion: networking.k8s.io/v1beta1\nmetadata: {name: a}\n", "must be networking.k8s.io/v1"},
		{"nameless", "kind: Service\napiVersion: v1\n", "metadata.name is missing"},
		{"in a list", "kind: List\napiVersion: v1\nitems:\n- {kind: Route, apiVersion: route.openshift.io/v1, metadata: {name: a}, spec: {hosts: x}}\n", "unknown field"},
		{"of no interest", "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\nspec: {x: y}\n", ""},
		{"a kind of somebody else", "kind: Route\napiVersion: networking.istio.io/v1\nmetadata: {name: a}\n", ""},
		{"empty", "---\n# nothing\n---\n", ""},
	} {
		r := NewReader("")
		r.Read("f", []byte(tt.text))
		var all []string
		for _, p := range r.Objects().Problems {
			all = append(all, p.Message)
		}
		if got := strings.Join(all, "; "); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: problems %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzRead: no text breaks the reader.
func FuzzRead(f *testing.F) {
	f.Add([]byte("kind: Route\napiVersion: route.openshift.io/v1\nmetadata: {name: a}\nspec: {host: a.b, to: {name: c}}\n---\nkind: List\nitems: [{}]\n"))
	f.Add([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"stringData":{"a":"b"}}`))
	for _, s := range []string{"\\n", "\\t", "\\r", "\\x00", "\\f", "\n", "\x00"} {
		f.Add([]byte("kind: Route\nmetadata: {name: \"a" + s + "b\"}\nspec: {host: \"a" + s + "\", path: \"/" + s + "\"}\n"))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		r := NewReader("")
		r.Read("f", data)
		_ = r.Objects()
	})
}
