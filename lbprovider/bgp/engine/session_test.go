package engine_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/test/bgprouter"
)

// torConfig is a router of AS 64500 with one neighbour per scenario: the node
// has an address for each.
const torConfig = `
router bgp 64500
 bgp router-id 198.18.60.1
 no bgp default ipv4-unicast
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor 198.18.60.11 remote-as 64512
 neighbor 198.18.60.11 password secret-of-11
 neighbor 198.18.60.12 remote-as 64500
 neighbor fd00:60::13 remote-as 64512
 neighbor fd00:60::13 password secret-of-13
 neighbor 198.18.60.14 remote-as 64512
 neighbor fd00:60::15 remote-as 64512
 neighbor 198.18.60.16 remote-as 4200000016
 neighbor 198.18.60.17 remote-as 64500
 neighbor 198.18.60.18 remote-as 64500
 neighbor 198.18.60.19 remote-as 64512
 neighbor 198.18.60.19 password secret-of-19
 neighbor 198.18.60.20 remote-as 64512
 neighbor 198.18.60.21 remote-as 64599
 neighbor 198.18.60.22 remote-as 64512
 address-family ipv4 unicast
  network 198.18.99.0/24
  neighbor 198.18.60.11 activate
  neighbor 198.18.60.12 activate
  neighbor 198.18.60.14 activate
  neighbor fd00:60::15 activate
  neighbor 198.18.60.16 activate
  neighbor 198.18.60.17 activate
  neighbor 198.18.60.18 activate
  neighbor 198.18.60.19 activate
  neighbor 198.18.60.20 activate
  neighbor 198.18.60.21 activate
  neighbor 198.18.60.22 activate
 exit-address-family
 address-family ipv6 unicast
  neighbor fd00:60::13 activate
  neighbor 198.18.60.14 activate
  neighbor fd00:60::15 activate
`

// scenario is one session with tor, from the node's address that ends in
// number.
type scenario struct {
	name   string
	number int
	peer   func(*bgp.Peer)
	routes []bgp.Route
	// routes as tor has them, by prefix; for a session that comes up.
	want map[string]string
	// words of the problem; for one that does not.
	problem string
}

// routes are different for every scenario: 198.18.NUMBER.1/32 and fd00:NUMBER::1/128.
func scenarios() []scenario {
	v6 := func(number int) func(*bgp.Peer) {
		return func(p *bgp.Peer) {
			p.Address, p.Source = netip.MustParseAddr("fd00:60::1"), netip.MustParseAddr(fmt.Sprintf("fd00:60::%d", number))
		}
	}
	marked := routes("198.18.11.1/32", "198.18.11.64/28")
	marked[0].Communities = communities()
	marked[0].LocalPref = 300 // not for another AS
	longer := routes("198.18.16.1/32", "198.18.16.2/32")
	longer[0].Prepend = 3
	preferred := routes("198.18.12.1/32", "198.18.12.2/32")
	preferred[0].LocalPref, preferred[0].Prepend = 300, 2 // which is not for the own AS
	return []scenario{
		{name: "eBGP with password, communities and aggregate", number: 11, peer: func(p *bgp.Peer) { p.Password = "secret-of-11" }, routes: marked, want: map[string]string{
			"198.18.11.1/32": "via 198.18.60.11; path 64512; 64512:100 64512:200 4200000000:1:2", "198.18.11.64/28": "via 198.18.60.11; path 64512",
		}},
		{name: "iBGP with local preference", number: 12, peer: func(p *bgp.Peer) { p.MyASN = 64500 }, routes: preferred, want: map[string]string{
			"198.18.12.1/32": "via 198.18.60.12; path Local; pref 300", "198.18.12.2/32": "via 198.18.60.12; path Local; pref 100",
		}},
		{name: "IPv6 with password", number: 13, peer: func(p *bgp.Peer) {
			v6(13)(p)
			p.Password = "secret-of-13"
		}, routes: routes("fd00:13::1/128"), want: map[string]string{"fd00:13::1/128": "via fd00:60::13; path 64512"}},
		{name: "both families over IPv4", number: 14, peer: func(p *bgp.Peer) { p.DualStack = true }, routes: routes("198.18.14.1/32", "fd00:14::1/128"), want: map[string]string{
			"198.18.14.1/32": "via 198.18.60.14; path 64512", "fd00:14::1/128": "via fd00:60::2; path 64512",
		}},
		{name: "both families over IPv6", number: 15, peer: func(p *bgp.Peer) {
			v6(15)(p)
			p.DualStack = true
		}, routes: routes("198.18.15.1/32", "fd00:15::1/128"), want: map[string]string{
			"198.18.15.1/32": "via 198.18.60.2; path 64512", "fd00:15::1/128": "via fd00:60::15; path 64512",
		}},
		{name: "another AS for this peer", number: 16, peer: func(p *bgp.Peer) { p.LocalASN = 4200000016 }, routes: longer, want: map[string]string{
			"198.18.16.1/32": "via 198.18.60.16; path 4200000016 4200000016 4200000016 4200000016", "198.18.16.2/32": "via 198.18.60.16; path 4200000016",
		}},
		{name: "AS learned, internal", number: 17, peer: func(p *bgp.Peer) { p.MyASN, p.PeerASN, p.Dynamic = 64500, 0, "internal" }, routes: routes("198.18.17.1/32"), want: map[string]string{
			"198.18.17.1/32": "via 198.18.60.17; path Local; pref 100",
		}},
		{
			name: "AS learned, but not external", number: 18, peer: func(p *bgp.Peer) { p.MyASN, p.PeerASN, p.Dynamic = 64500, 0, "external" },
			problem: "the peer's AS is 64500, which is not external to 64500",
		},
		{name: "wrong password", number: 19, peer: func(p *bgp.Peer) { p.Password = "another" }, problem: "the password differs"},
		{name: "wrong AS of the peer", number: 20, peer: func(p *bgp.Peer) { p.PeerASN = 64999 }, problem: "the peer's AS is not 64999"},
		{name: "wrong AS of ours", number: 21, problem: "it expects another AS than 64512"},
		{name: "timers", number: 22, peer: func(p *bgp.Peer) { p.HoldTime, p.KeepaliveTime = 9*time.Second, 2*time.Second }, routes: routes("198.18.22.1/32"), want: map[string]string{
			"198.18.22.1/32": "via 198.18.60.22; path 64512",
		}},
		{name: "not a neighbour there", number: 23, problem: "it does not know this address as a neighbour"},
		{name: "source address of nobody", number: 24, peer: func(p *bgp.Peer) { p.Source = netip.MustParseAddr("198.18.60.240") }, problem: "this node does not have the source address 198.18.60.240"},
		{name: "nothing listens", number: 25, peer: func(p *bgp.Peer) { p.Port = 1179 }, problem: "198.18.60.1:1179 refuses the connection"},
		{name: "nobody is there", number: 26, peer: func(p *bgp.Peer) { p.Address = netip.MustParseAddr("198.18.60.99") }, problem: "there is no way to 198.18.60.99:179"},
		{name: "no such VRF", number: 27, peer: func(p *bgp.Peer) { p.VRF = "red" }, problem: `this node has no device "red"`},
	}
}

func communities() []config.Community {
	return []config.Community{{A: 64512, B: 100}, {A: 64512, B: 200}, {Large: true, A: 4200000000, B: 1, C: 2}}
}

func (sc scenario) session() bgp.Session {
	p := bgp.Peer{
		Name: fmt.Sprint("p", sc.number), MyASN: 64512, PeerASN: 64500, Address: netip.MustParseAddr("198.18.60.1"),
		Source:   netip.MustParseAddr(fmt.Sprintf("198.18.60.%d", sc.number)),
		RouterID: netip.MustParseAddr(fmt.Sprintf("198.18.60.%d", sc.number)), ConnectTime: 2 * time.Second,
	}
	if sc.peer != nil {
		sc.peer(&p)
	}
	return bgp.Session{Peer: p, Routes: sc.routes}
}

func TestSessionsWithFRR(t *testing.T) {
	n := newNetwork(t)
	frr := n.frr("tor", torConfig)
	s := n.speaker("")
	var all []bgp.Session
	for _, sc := range scenarios() {
		n.run("ip", "-n", n.prefix+"node", "addr", "add", fmt.Sprintf("198.18.60.%d/24", sc.number), "dev", "eth0")
		n.run("ip", "-n", n.prefix+"node", "addr", "add", fmt.Sprintf("fd00:60::%d/64", sc.number), "dev", "eth0", "nodad", "preferred_lft", "0")
		all = append(all, sc.session())
	}
	s.apply(all...)
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			n := n.in(t)
			if sc.problem != "" {
				n.problem(s, fmt.Sprint("p", sc.number), sc.problem)
				return
			}
			n.up(s, fmt.Sprint("p", sc.number))
			for prefix, want := range sc.want {
				n.route(frr, prefix, want)
			}
		})
	}
	t.Run("timers are negotiated", func(t *testing.T) {
		n.in(t).seen(frr, "show bgp neighbors 198.18.60.22 json", `"bgpTimerHoldTimeMsecs":9000`)
	})
	t.Run("routes of the peer change nothing", func(t *testing.T) {
		n.in(t).seen(frr, "show bgp ipv4 unicast neighbors 198.18.60.11 advertised-routes json", "198.18.99.0/24")
		if out := n.in(t).output("ip", "-n", n.prefix+"node", "route", "show", "198.18.99.0/24"); out != "" {
			t.Errorf("the node's kernel learned %s", out)
		}
	})
	t.Run("a change touches its session only", func(t *testing.T) { changes(n.in(t), s, frr, all) })
	t.Run("a session that is suspended is no session", func(t *testing.T) {
		n := n.in(t)
		s.suspend("p11", "BFD lost the peer")
		n.route(frr, "198.18.11.1/32", "")
		n.problem(s, "p11", "BFD lost the peer")
		s.suspend("p11", "")
		n.up(s, "p11")
	})
	t.Run("metrics", func(t *testing.T) { measured(n.in(t), s) })
	t.Run("the end withdraws everything", func(t *testing.T) {
		n := n.in(t)
		s.stop(n)
		n.until(func() error {
			got, err := n.prefixes(frr, "ipv4")
			if err == nil && !slices.Equal(got, []string{"198.18.99.0/24"}) {
				err = fmt.Errorf("tor still has %v", got)
			}
			return err
		})
	})
}

// measured looks at the metrics. Most of the sessions are with one address of the
// router, and so share their labels: a scrape must not fail for that.
func measured(n *network, s *speaker) {
	n.metrics(s, func(all map[string]float64) error {
		var wrong []error
		for name, least := range map[string]float64{
			"opens_sent": 10, "opens_received": 10, "updates_total": 10, "updates_total_received": 1, "keepalives_sent": 10, "keepalives_received": 10,
			"notifications_sent": 1, "total_sent": 30, "total_received": 30, "announced_prefixes_total": 8, "pending_prefixes_total": 0, "route_refresh_sent": 0,
		} {
			if got, told := all["metallb_bgp_"+name+" 198.18.60.1:179 "]; !told || got < least {
				wrong = append(wrong, fmt.Errorf("%s is %v (%v), want %v at least", name, got, told, least))
			}
		}
		// Some of those with the router's first address cannot come up.
		for labels, want := range map[string]float64{"198.18.60.1:179 ": 0, "[fd00:60::1]:179 ": 1, "198.18.60.1:1179 ": 0, "198.18.60.1:179 red": 0} {
			if got, told := all["metallb_bgp_session_up "+labels]; !told || got != want {
				wrong = append(wrong, fmt.Errorf("session_up of %q is %v (%v), want %v", labels, got, told, want))
			}
		}
		return errors.Join(wrong...)
	})
}

// changes edits routes and parameters of sessions that are up.
func changes(n *network, s *speaker, frr *bgprouter.Router, all []bgp.Session) {
	n.t.Helper()
	before := map[string]bgp.Status{}
	for _, name := range []string{"p11", "p12", "p13"} {
		before[name] = n.up(s, name)
	}
	// New routes of the first, another password of the third that is wrong.
	all[0].Routes = append(routes("198.18.11.1/32"), routes("198.18.11.2/32")...)
	all[2].Peer.Password = "another"
	s.apply(all...)
	n.route(frr, "198.18.11.2/32", "via 198.18.60.11; path 64512")
	n.route(frr, "198.18.11.1/32", "via 198.18.60.11; path 64512")
	n.route(frr, "198.18.11.64/28", "")
	n.route(frr, "fd00:13::1/128", "")
	n.problem(s, "p13", "the password differs")
	for _, name := range []string{"p11", "p12"} {
		if after := n.up(s, name); !after.Since.Equal(before[name].Since) {
			n.t.Errorf("session %s is new since %v", name, after.Since)
		}
	}
	all[2].Peer.Password = "secret-of-13"
	s.apply(all...)
	n.route(frr, "fd00:13::1/128", "via fd00:60::13; path 64512")
	out := n.output("vtysh", "--vty_socket", frr.Dir(), "-c", "show bgp neighbors 198.18.60.11 json")
	if !strings.Contains(out, `"connectionsDropped":0`) {
		n.t.Errorf("the first session was dropped:\n%s", out)
	}
}
