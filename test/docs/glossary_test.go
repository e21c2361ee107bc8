package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	term      = regexp.MustCompile(`(?m)^\| \*\*([^*|]+)\*\* \|.*\| ([^|]+) \|$`)
	cited     = regexp.MustCompile(`\[([0-9]+)\](?:[^(]|$)`)
	sourceRow = regexp.MustCompile(`(?m)^\| ([0-9]+) \| \[[^\]]+\]\(https://[^)]+\) \| [^|]+ \|$`)
)

// TestGlossary: the terms are in order, few enough to be read, and each leads to its page.
func TestGlossary(t *testing.T) {
	t.Parallel()
	const most = 80
	text, err := os.ReadFile(filepath.Join(root, "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range term.FindAllStringSubmatch(string(text), -1) {
		names = append(names, strings.ToLower(m[1]))
		if !link.MatchString(m[2]) {
			t.Errorf("%s leads to no page", m[1])
		}
	}
	if len(names) < 40 || len(names) > most || len(names) != strings.Count(string(text), "| **") {
		t.Errorf("%d terms, %d rows; at most %d", len(names), strings.Count(string(text), "| **"), most)
	}
	if !slices.IsSorted(names) {
		t.Errorf("not in order: %q", names)
	}
}

// TestComparison: what is said about other programs has a source, with its version or date.
func TestComparison(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "comparison.md"))
	if err != nil {
		t.Fatal(err)
	}
	statements, sources, _ := strings.Cut(string(text), "## Sources")
	known := map[string]bool{}
	for _, m := range sourceRow.FindAllStringSubmatch(sources, -1) {
		known[m[1]] = true
	}
	used := map[string]bool{}
	for _, m := range cited.FindAllStringSubmatch(statements, -1) {
		used[m[1]] = true
		if !known[m[1]] {
			t.Errorf("there is no source %s", m[1])
		}
	}
	if len(known) < 15 || len(known) != len(used) {
		t.Errorf("%d sources, of which %d are used", len(known), len(used))
	}
}
