package render_test

import (
	"testing"

	parser "github.com/haproxytech/config-parser/v5"
	"github.com/haproxytech/config-parser/v5/options"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// TestSkeletonParses reads the skeleton with HAProxy's own configuration
// library, so a slip in the template fails without a HAProxy at hand.
func TestSkeletonParses(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]plan.Capabilities{
		"3.0": {MaxPayload: 15000},
		"3.4": {DynamicBackends: true, AutoSNI: true, MaxPayload: 1 << 20},
	} {
		base, err := render.Skeleton(render.Settings{HTTPPort: 80, HTTPSPort: 443, MaxConn: 100, IPv6: true},
			render.Layout{Dir: "/var/lib/haproxy"}, caps)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parser.New(options.String(base.Text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for section, want := range map[parser.Section]int{parser.Frontends: 4, parser.Defaults: 1 + len(model.Profiles()), parser.Backends: 6} {
			got, err := p.SectionsGet(section)
			if err != nil || len(got) != want {
				t.Errorf("%s: %d sections %s (%v), want %d: %v", name, len(got), section, err, want, got)
			}
		}
		if d, err := p.Get(parser.Global, parser.GlobalSectionName, "description"); err != nil {
			t.Errorf("%s: no description %s: %v %v", name, base.Fingerprint, d, err)
		}
	}
}
