package render_test

import (
	"testing"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// TestSlotTerms: what a line says is read again as it was written.
func TestSlotTerms(t *testing.T) {
	t.Parallel()
	l := render.Layout{Dir: "/x"}
	for text, terms := range map[string]plan.SlotTerms{
		"a.test !b.test": {Names: "a.test !b.test"},
		"[alpn h2] *":    {Names: "*", ALPN: "h2"},
		"[alpn h2,http/1.1 verify required ca-file /x/certs/c.ca] *": {Names: "*", ALPN: "h2,http/1.1", CA: "c"},
		"[verify optional ca-file /x/certs/c.ca] a.test":             {Names: "a.test", CA: "c", LetsAllIn: true},
	} {
		if got := render.SlotTermsText(l, terms); got != text {
			t.Errorf("%+v is written %q, want %q", terms, got, text)
		}
		if got := render.ReadSlotTerms(l, text); got != terms {
			t.Errorf("%q is read %+v, want %+v", text, got, terms)
		}
	}
	for _, foreign := range []string{"[alpn h2  verify none] a.test", "[verify required] a.test", "[", "[]", "[alpn ] a.test"} {
		if got := render.ReadSlotTerms(l, foreign); got != (plan.SlotTerms{Names: foreign}) {
			t.Errorf("%q is read %+v", foreign, got)
		}
	}
}
