package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryReasonHasARemedy: `kubectl fairlead why` has something to say about
// each reason. Add a row to remedies.go for a new one.
func TestEveryReasonHasARemedy(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Reason" {
				return true
			}
			value, ok := spec.Values[0].(*ast.BasicLit)
			if !ok {
				return true
			}
			found++
			reason := Reason(strings.Trim(value.Value, `"`))
			if r, ok := RemedyOf(reason); !ok || r.Cause == "" {
				t.Errorf("%s: reason %s has no cause and remedy in remedies.go", name, reason)
			}
			return true
		})
	}
	if found < 40 {
		t.Errorf("only %d reasons found; has their form changed?", found)
	}
}
