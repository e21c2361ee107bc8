package model

import (
	"strings"
	"testing"
)

// TestTracingRecord: a record that asks for nothing but tracing begins with its own letter, so that
// rules for other policies are left out, and no field holds what ends one.
func TestTracingRecord(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*Policy{
		"O|||p10000":  {Tracing: Tracing{On: true, Trust: true, Parent: true, Sampled: 10_000}},
		"O|||t0":      {Tracing: Tracing{On: true, Trust: true}},
		"O|||n1":      {Tracing: Tracing{On: true, Parent: true, Sampled: 1}},
		"rO|||n1":     {Forwarded: ForwardedReplace, Tracing: Tracing{On: true, Sampled: 1}},
		"alO|||n1|5":  {Limits: Limits{Requests: 5}, Tracing: Tracing{On: true, Sampled: 1}},
		"aO|||n1||||": {Timeouts: Timeouts{Server: 1e9}, Tracing: Tracing{On: true, Sampled: 1}},
		"":            {Tracing: Tracing{Sampled: 5, Trust: true}},
	} {
		if got := p.Record(); got != want && (want != "aO|||n1||||" || !strings.HasPrefix(got, want)) {
			t.Errorf("%+v: %q, want %q", p.Tracing, got, want)
		}
	}
	if got := (&Policy{Tracing: Tracing{On: true, Sampled: 1}}).record(Cookie{Name: "c", Attributes: "; x"}); got != "O|c|; x|n1" {
		t.Error(got)
	}
}
