package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOperatorReasonsAreDocumented: whoever meets a reason finds its cause and remedy.
func TestOperatorReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/operator/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	var docs strings.Builder
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		docs.Write(text)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "operatorreasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if reason := strings.Trim(l.Value, `"`); !strings.Contains(docs.String(), "`"+reason+"`") {
				t.Errorf("reason %s is missing in docs/operator", reason)
			}
		}
		return true
	})
}
