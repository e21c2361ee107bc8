package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestResults: of the output of a run, each test that ended is said at once, and what
// failed has the lines that it printed itself, though tests run in parallel.
func TestResults(t *testing.T) {
	var out bytes.Buffer
	r := newResults(&out)
	r.read(strings.NewReader(`=== RUN   TestConformance
    suite.go:1: Test Setup
=== RUN   TestConformance/A
=== RUN   TestConformance/B
    b.go:7: of B
=== NAME  TestConformance/A
        	Error:      	wrong
=== ENDED FAIL A
=== ENDED PASS B
=== RUN   TestConformance/C
=== ENDED SKIP C
--- FAIL: TestConformance (1.00s)
    --- FAIL: TestConformance/A (0.50s)
`))
	said := out.String()
	if !strings.Contains(said, "FAIL A (") || !strings.Contains(said, "PASS B (") || strings.Contains(said, " C ") {
		t.Errorf("printed while tests ran:\n%s", said)
	}
	out.Reset()
	r.print(true)
	for _, want := range []string{"\n  C\n", "\nFAIL A (", "Error:      \twrong\n", "\n1 passed, 1 failed, 1 not run,", "\nFAIL A\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "of B") {
		t.Errorf("the output of a test that passed is shown:\n%s", out.String())
	}
}

func TestImageNames(t *testing.T) {
	names, err := imageNames(fstest.MapFS{
		"base/manifests.yaml":  {Data: []byte("      - image: r.example/b:v1\n        image: \"r.example/a:v1\"\n")},
		"tests/x.yaml":         {Data: []byte("        image: r.example/b:v1\n")},
		"mesh/manifests.yaml":  {Data: []byte("        image: r.example/mesh:v1\n")},
		"tests/mesh/more.yaml": {Data: []byte("        image: r.example/mesh:v1\n")},
		"tests/x.go":           {Data: []byte("image: none\n")},
	})
	if diff := cmp.Diff([]string{"r.example/a:v1", "r.example/b:v1"}, names); diff != "" || err != nil {
		t.Errorf("images %v, %v", names, err)
	}
}

// TestSum: reloads are counted over all reasons, and one of them fails the run.
func TestSum(t *testing.T) {
	c := counts{}
	page := "# HELP fairlead_router_reloads_total …\nfairlead_router_reloads_total{reason=\"a b\"} 2\nfairlead_router_reloads_total{reason=\"c\"} 1\nother 7\n"
	if err := sum(strings.NewReader(page), map[string]*int{"fairlead_router_reloads_total": &c.reloads}); err != nil || c.reloads != 3 {
		t.Errorf("%d reloads, %v", c.reloads, err)
	}
	if c.since(counts{reloads: 3}).problem() != nil || c.since(counts{reloads: 2}).problem() == nil {
		t.Error("a reload during the run must be a problem, and one before must not")
	}
}
