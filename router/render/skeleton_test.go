package render_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

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
		if err := render.Check(base.Text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheck: what no process may start without is missed, and so is a line that is
// none of HAProxy's.
func TestCheck(t *testing.T) {
	t.Parallel()
	base, err := render.Skeleton(render.Settings{HTTPPort: 80, HTTPSPort: 443}, render.Layout{Dir: "/d"}, plan.Capabilities{DynamicBackends: true, Lua: true, MaxPayload: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ old, now, want string }{
		"no runtime socket":       {"  stats socket ", "  # ", "no runtime socket"},
		"a frontend is gone":      {"frontend public_ssl from", "frontend other from", "no frontend public_ssl"},
		"other defaults":          {"frontend public from d_front", "frontend public from tcp_random_1m0s", "no frontend public from d_front"},
		"nothing listens":         {"  bind *:80\n", "", "public of the HAProxy configuration listens nowhere"},
		"a profile is gone":       {"defaults http_random\n", "defaults http_other\n", "no defaults http_random"},
		"a value with a line":     {"  tune.bufsize ", "  evil on\n  tune.bufsize ", `"evil on"`},
		"a line in a frontend":    {"  bind *:443", "  evil on\n  bind *:443", `frontend public_ssl of the HAProxy configuration has a line that is not understood: "evil on"`},
		"a line in some defaults": {"defaults http_random\n", "defaults http_random\n  evil on\n", `"evil on"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(base.Text, tt.old, tt.now, 1)
			if text == base.Text {
				t.Fatalf("the skeleton has no %q", tt.old)
			}
			if err := render.Check(text); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestListen: one address, all of them, and a port that no client reaches.
func TestListen(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings render.Settings
		want     []string
	}{
		"all":     {render.Settings{HTTPPort: 80, HTTPSPort: 443, IPv6: true}, []string{"*:80", ":::80 v6only", "*:443", ":::443 v6only"}},
		"one":     {render.Settings{HTTPPort: 80, HTTPSPort: 443, IPv6: true, Listen: netip.MustParseAddr("127.0.0.1")}, []string{"127.0.0.1:80", "127.0.0.1:443"}},
		"IPv6":    {render.Settings{HTTPPort: 80, HTTPSPort: 443, Listen: netip.MustParseAddr("::1")}, []string{"[::1]:80", "[::1]:443"}},
		"no port": {render.Settings{HTTPSPort: 443, Listen: netip.MustParseAddr("127.0.0.1")}, []string{"unix@/d/run/public.sock mode 600", "127.0.0.1:443"}},
	} {
		base, err := render.Skeleton(test.settings, render.Layout{Dir: "/d"}, plan.Capabilities{DynamicBackends: true, MaxPayload: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		_, frontends, _ := strings.Cut(base.Text, "\nfrontend public from")
		public, _, _ := strings.Cut(frontends, "\nfrontend terminate")
		for line := range strings.Lines(public) {
			if bind, ok := strings.CutPrefix(line, "  bind "); ok {
				got = append(got, strings.TrimSpace(bind))
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: listens on %q, want %q", name, got, test.want)
		}
	}
}
