package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/fairlead/fairlead/router/convert"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/manifest"
	"github.com/fairlead/fairlead/router/model"
)

// TestConvertedApply: what kubectl fairlead convert makes of the manifests of its tests is
// taken by a real API server with the CRDs of the Gateway API.
func TestConvertedApply(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes an API server")
	}
	files, err := filepath.Glob(filepath.Join(root, "cmd", "kubectl-fairlead", "testdata", "convert*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	server := startServer(t)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, gateway := range []model.Object{{}, {Namespace: "infra", Name: "web"}} {
			out := converted(t, a, gateway)
			path := filepath.Join(t.TempDir(), "converted.yaml")
			if err := os.WriteFile(path, out, 0o600); err != nil {
				t.Fatal(err)
			}
			answer, err := server.Kubectl(t.Context(), "create", "--dry-run=server", "-f", path)
			if err != nil {
				t.Errorf("%s: %v\n%s", file, err, out)
			}
			if made, objects := strings.Count(answer, "created (server dry run)"), bytes.Count(out, []byte("\nkind: ")); err == nil && made != objects {
				t.Errorf("%s: %d of %d objects are created: %s", file, made, objects, answer)
			}
		}
	}
}

// converted returns what the manifests of an archive become.
func converted(t *testing.T, a *txtar.Archive, gateway model.Object) []byte {
	t.Helper()
	r := manifest.NewReader("demo")
	for _, f := range a.Files {
		if strings.HasSuffix(f.Name, ".yaml") {
			r.Read(f.Name, f.Data)
		}
	}
	s, err := explain.NewSnapshot(r.Objects(), explain.Options{Now: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Convert(explain.ConvertArgs{Options: convert.Options{Class: "fairlead", Gateway: gateway, Certificate: model.Object{Namespace: "infra", Name: "wildcard"}, Keys: true}})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := out.YAML(&text); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}
