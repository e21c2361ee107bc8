package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is the line below a table's head.
var rule = regexp.MustCompile(`^\|[-:| ]+\|$`)

// TestTablesAreWhole: no empty line splits a table, and each has a head: rows
// without one are shown as text.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	tables := 0
	for _, p := range pages(t) {
		heads, bad := tablesOf(prose(p.text))
		tables += heads
		for _, line := range bad {
			t.Errorf("%s:%d: this row belongs to no table: remove the empty line before it, or give it a head and a line |---|", p.path, line)
		}
	}
	if tables < 50 {
		t.Errorf("only %d tables found; has their form changed?", tables)
	}
}

// tablesOf returns how many tables a page has, and the lines at which rows
// begin that have no head.
func tablesOf(text string) (tables int, bad []int) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "|") || i > 0 && strings.HasPrefix(lines[i-1], "|") {
			continue
		}
		if i+1 == len(lines) || !rule.MatchString(lines[i+1]) {
			bad = append(bad, i+1)
			continue
		}
		tables++
	}
	return tables, bad
}

// TestSplitTableIsFound: what TestTablesAreWhole must complain about.
func TestSplitTableIsFound(t *testing.T) {
	t.Parallel()
	const whole = "| a | b |\n|---|:-:|\n| 1 | 2 |\n"
	if tables, bad := tablesOf("text\n\n" + whole + "\n" + whole); tables != 2 || bad != nil {
		t.Errorf("two tables: %d, bad lines %v", tables, bad)
	}
	if tables, bad := tablesOf(whole + "\n| 3 | 4 |\n| 5 | 6 |\n"); tables != 1 || !slices.Equal(bad, []int{5}) {
		t.Errorf("a split table: %d, bad lines %v, want line 5", tables, bad)
	}
}
