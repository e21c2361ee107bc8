package engine_test

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// TestManyRoutes tells three routers 5,000 prefixes each, and takes half of them back.
func TestManyRoutes(t *testing.T) {
	const services, peers = 5000, 3
	n := newNetwork(t)
	config := "router bgp 64500\n bgp router-id 198.18.60.1\n no bgp ebgp-requires-policy\n"
	for i := range peers {
		n.run("ip", "-n", n.prefix+"node", "addr", "add", fmt.Sprintf("198.18.60.%d/24", 11+i), "dev", "eth0")
		config += fmt.Sprintf(" neighbor 198.18.60.%d remote-as 64512\n", 11+i)
	}
	frr := n.frr("tor", config)
	prefixes := make([]string, services)
	addr := netip.MustParseAddr("198.19.0.0")
	for i := range prefixes {
		prefixes[i], addr = addr.String()+"/32", addr.Next()
	}
	apply := func(s *speaker, prefixes []string) {
		var all []bgp.Session
		for i := range peers {
			all = append(all, scenario{number: 11 + i, routes: routes(prefixes...)}.session())
		}
		s.apply(all...)
	}
	has := func(want int) {
		t.Helper()
		words := fmt.Sprintf(" %d ", want)
		n.until(func() error {
			out, err := frr.Command(t.Context(), "show bgp ipv4 unicast summary")
			if err != nil {
				return err
			}
			if strings.Count(out, words) < peers {
				return fmt.Errorf("not %d prefixes from each of %d sessions:\n%s", want, peers, out)
			}
			return nil
		})
	}
	s := n.speaker("")
	start := time.Now()
	apply(s, prefixes)
	has(services)
	t.Logf("%d prefixes are with %d routers %v after the start", services, peers, time.Since(start).Round(10*time.Millisecond))
	start = time.Now()
	apply(s, prefixes[:services/2])
	has(services / 2)
	t.Logf("half of them are withdrawn after %v", time.Since(start).Round(10*time.Millisecond))
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM") {
			t.Log("the node's process had at most", strings.TrimSpace(strings.TrimPrefix(line, "VmHWM:")))
		}
	}
}
