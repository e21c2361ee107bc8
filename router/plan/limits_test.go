package plan

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/model"
)

// TestExemptKeys: the longest key that an address begins with has the digits of all
// limits that do not count it.
func TestExemptKeys(t *testing.T) {
	t.Parallel()
	list := func(texts ...string) (out []netip.Prefix) {
		for _, text := range texts {
			out = append(out, netip.MustParsePrefix(text))
		}
		return out
	}
	got := exemptOf(&model.Policy{
		Rates:      []model.RateLimit{{Exempt: list("10.0.0.0/8", "0.0.0.0/0")}, {}, {Exempt: list("10.1.0.0/16", "fd00::/8")}, {Exempt: list("10.1.2.3/32")}},
		Identified: []model.RateLimit{{Exempt: list("10.1.0.0/16")}, {Exempt: list("fd00::/8")}},
	})
	want := map[string]string{"8/": "1", "8/0A": "1", "8/0A01": "13a", "8/0A010203": "134a", "32/FD": "3b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
