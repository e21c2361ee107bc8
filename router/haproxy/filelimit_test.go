package haproxy_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

// TestFileLimit: HAProxy starts where few files may be open, with all ports for Gateways and
// more health checks than there is room kept for. Each of both takes one file of those that
// it counts, and it refuses to start where they are too many.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	const most = 20_000
	address := netip.MustParseAddr("127.9.0.1") // with all ports free
	for _, bin := range []string{"haproxy", "haproxy-3.2", "haproxy-3.0"} {
		for _, checks := range []int{0, 12_000} {
			address = address.Next()
			listen := address
			t.Run(fmt.Sprintf("%s %d checks", bin, checks), func(t *testing.T) {
				t.Parallel()
				path, err := toolset.Path(bin)
				if err != nil {
					t.Skip(err)
				}
				caps, _, err := haproxy.Detect(t.Context(), path)
				if err != nil {
					t.Fatal(err)
				}
				limited := filepath.Join(t.TempDir(), "haproxy")
				if err := os.WriteFile(limited, fmt.Appendf(nil, "#!/bin/sh\nulimit -n %d && exec %s \"$@\"\n", most, path), 0o700); err != nil {
					t.Fatal(err)
				}
				st := everything(t)
				b := &plan.Backend{Profile: model.Profile{Balance: model.Random}.Name()}
				for i := range checks {
					b.Servers.Set(fmt.Sprint("s", i), &plan.Server{Address: netip.MustParseAddrPort("198.18.0.1:80"), Weight: 1, Options: model.ServerOptions{CheckInterval: "3600000ms"}})
				}
				st.Backends[roundBackend] = b
				want := render.MostConnections(most)
				connections, err := start(t, limited, caps, render.Settings{
					HTTPPort: 80, HTTPSPort: 443, Listen: listen, Files: most, MaxConn: want,
					HTTPSlots: render.Slots{First: 20000, Count: 256}, HTTPSSlots: render.Slots{First: 21000, Count: 128}, FallbackSlots: render.Slots{First: 21900, Count: 16},
					TLSSlots: render.Slots{First: 22000, Count: 64}, TCPSlots: render.Slots{First: 23000, Count: 128},
				}, st).ProcessLimits()
				if err != nil {
					t.Fatal(err)
				}
				// One whose TLS ends here counts twice.
				if checks == 0 && connections < 2*want {
					t.Errorf("HAProxy takes %d connections, want twice %d", connections, want)
				}
				t.Logf("%d connections", connections)
			})
		}
	}
}
