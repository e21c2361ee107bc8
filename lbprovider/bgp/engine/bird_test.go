package engine_test

import (
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// TestDocumentedBIRD has BIRD with the example of docs/lb/bgp.md take what it is to
// take, and nothing else, and its kernel follow.
func TestDocumentedBIRD(t *testing.T) {
	n := newNetwork(t)
	page, err := os.ReadFile("../../../docs/lb/bgp.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?ms)^```bird\n(.*?)^```$").FindStringSubmatch(string(page))
	if example == nil {
		t.Fatal("docs/lb/bgp.md has no example for BIRD")
	}
	bird := n.bird("tor", strings.NewReplacer("192.168.77.0", "198.18.77.0", "192.168.10.0", "198.18.60.0", "192.168.10.1", "198.18.60.1").Replace(example[1]))
	s := n.speaker("")
	s.apply(bgp.Session{Peer: bgp.Peer{
		Name: "tor", MyASN: 64512, PeerASN: 64500, Address: netip.MustParseAddr("198.18.60.1"), RouterID: netip.MustParseAddr("198.18.60.2"), Password: "change-me",
	}, Routes: routes("198.18.77.5/32", "198.18.78.5/32")})
	n.up(s, "tor")
	n.until(func() error {
		return n.has(n.output("ip", "-n", n.prefix+"tor", "route", "show", "198.18.77.5"), "via 198.18.60.2 dev to-node")
	})
	out, err := bird.Command(t.Context(), "show route all")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.has(out, "BGP.as_path: 64512"); err != nil {
		t.Error(err)
	}
	if strings.Contains(out, "198.18.78.5") {
		t.Errorf("BIRD took a route that it should not: %s", out)
	}
}
