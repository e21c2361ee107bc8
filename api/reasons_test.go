package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// readReasons returns the reasons that a file declares, by the name of the
// constant, and the names of those that its tables have a row for.
func readReasons(t *testing.T, file string) (declared map[string]Reason, rows map[string]bool) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared, rows = map[string]Reason{}, map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			id, typed := n.Type.(*ast.Ident)
			if !typed || id.Name != "Reason" || len(n.Values) != 1 {
				return true
			}
			if value, ok := n.Values[0].(*ast.BasicLit); ok {
				declared[n.Names[0].Name] = Reason(strings.Trim(value.Value, `"`))
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && strings.HasPrefix(key.Name, "Reason") {
				rows[key.Name] = true
			}
		}
		return true
	})
	return declared, rows
}

// TestEveryReasonHasARow: a reason and its row, with cause and remedy, are in the
// same file, and the row is what the command line tools and the reference read.
func TestEveryReasonHasARow(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]Reason{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		declared, rows := readReasons(t, name)
		maps.Copy(all, declared)
		for constant, reason := range declared {
			if r, ok := RemedyOf(reason); !rows[constant] || !ok || r.Cause == "" {
				t.Errorf("%s: %s has no row with its cause in this file", name, constant)
			}
		}
		for constant := range rows {
			if _, ok := declared[constant]; !ok {
				t.Errorf("%s: the row of %s belongs into the file that declares it", name, constant)
			}
		}
	}
	findings := 0
	for _, reason := range all {
		if r, _ := RemedyOf(reason); r.Severity != "" {
			findings++
		}
	}
	if findings < 40 {
		t.Errorf("only %d reasons of findings have a severity", findings)
	}
	if len(all) < 40 {
		t.Errorf("only %d reasons found; has their form changed?", len(all))
	}
}
