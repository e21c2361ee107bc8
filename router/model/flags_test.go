package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestFlagsDiffer: rules look for letters in one field of the record, so no two flags
// or modes may have the same one.
func TestFlagsDiffer(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "policy.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			name := constant.Names[0].Name
			if !strings.HasPrefix(name, "Flag") && !strings.HasPrefix(name, "Mode") {
				continue
			}
			letter := constant.Values[0].(*ast.BasicLit).Value
			if other := owner[letter]; other != "" || len(letter) != 3 {
				t.Errorf("%s is %s, which %q has; want a letter of its own", name, letter, other)
			}
			owner[letter] = name
		}
	}
	if len(owner) < 20 {
		t.Errorf("found %d flags and modes", len(owner))
	}
}
