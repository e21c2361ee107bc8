package main

import (
	"strings"
	"testing"
)

// TestDocsCommand: pages are listed, shown, and completed; what is not there is an exit code, not
// a page.
func TestDocsCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"docs":                    {"routes/tls  ", "checks/FL101  ", "exit 0"},
		"docs routes/tls":         {"TLS\n===\n", "exit 0"},
		"docs fl101":              {"FL101: A certificate has expired\n=====", "exit 0"},
		"docs tls":                {"2 pages end in \"tls\"", "gateway/tls  ", "routes/tls   ", "exit 1"},
		"docs HostAlreadyClaimed": {"routes/reasons: Reasons\n* `HostAlreadyClaimed`\n    severity: ", "exit 0"},
		"docs fairlead_build_info": {
			"monitoring/metrics: Reference of metrics\n* `fairlead_build_info`\n    type: gauge\n", "exit 0",
		},
		"docs no/such":       {"no page \"no/such\"", "exit 1"},
		"docs a b":           {"exit 2"},
		"docs --help":        {"kubectl fairlead docs HostAlreadyClaimed", "exit 0"},
		"docs '\x1b[31mred'": {"no page", "exit 1"},
	} {
		got := invoke(t, "kubectl fairlead "+line)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%q: no %q in:\n%.600s", line, part, got)
			}
		}
		if strings.Contains(got, "\x1b") {
			t.Errorf("%q: a terminal would obey", line)
		}
	}
	if got := complete(t, "docs", "routes/t"); !strings.Contains(got, "routes/tls\tTLS\n") || strings.Contains(got, "gateway") {
		t.Errorf("completion: %s", got)
	}
}
