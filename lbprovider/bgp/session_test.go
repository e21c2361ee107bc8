package bgp

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// routes reads "1 2!": prefixes 198.18.0.1/32 and 198.18.0.2/32, the second one
// with another localPref.
func routes(text string) (out []Route) {
	for f := range strings.FieldsSeq(text) {
		r := Route{Prefix: netip.MustParsePrefix("198.18.0." + strings.TrimSuffix(f, "!") + "/32")}
		if strings.HasSuffix(f, "!") {
			r.LocalPref = 7
		}
		out = append(out, r)
	}
	return out
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, now, gone, changed string }{
		{"", "", "", ""},
		{"", "1 2", "", "1 2"},
		{"1 2", "", "1 2", ""},
		{"1 2 3", "1 2 3", "", ""},
		{"1 2 3", "2", "1 3", ""},
		{"2", "1 2 3", "", "1 3"},
		{"1 3 5", "2 3! 6", "1 5", "2 3! 6"},
	} {
		gone, changed := Differences(routes(tt.old), routes(tt.now))
		if fmt.Sprint(gone, changed) != fmt.Sprint(routes(tt.gone), routes(tt.changed)) {
			t.Errorf("%q to %q: gone %v, changed %v", tt.old, tt.now, gone, changed)
		}
	}
}
