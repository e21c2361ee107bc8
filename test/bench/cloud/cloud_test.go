package main

import (
	"os"
	"strings"
	"testing"
)

// TestBudgets: nothing costs more calls than it may, and docs/cloud/aws.md says
// what it costs.
func TestBudgets(t *testing.T) {
	rows, err := measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table(rows))
	for _, r := range rows {
		if !r.Met {
			t.Errorf("%s: %s, allowed are %s", r.What, r.Seen, r.Limit)
		}
	}
	page, err := os.ReadFile("../../../docs/cloud/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), table(rows)) {
		t.Errorf("docs/cloud/aws.md has another table; this is what is called:\n%s", table(rows))
	}
}
