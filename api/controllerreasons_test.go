package api

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOperatorReasonsAreDocumented: a user who meets a reason finds its cause and remedy.
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
	for _, name := range []string{"controllerreasons.go", "ingressreasons.go"} {
		reasons, _ := readReasons(t, name)
		if len(reasons) == 0 {
			t.Errorf("%s has no reasons", name)
		}
		for _, reason := range reasons {
			if !strings.Contains(docs.String(), "`"+string(reason)+"`") {
				t.Errorf("reason %s is missing in docs/operator", reason)
			}
		}
	}
}
