package config

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/metallb/v1beta1"
	"github.com/fairlead/fairlead/api/metallb/v1beta2"
)

func addresses(texts ...string) (out []netip.Addr) {
	for _, s := range texts {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, s := range texts {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// controls are characters that end lines, fields and texts elsewhere.
var controls = []string{"\n", "\t", "\r", "\x00", "\f"}

// FuzzParseCommunity: what is accepted reads the same when it is written out.
func FuzzParseCommunity(f *testing.F) {
	for _, s := range []string{"1:2", "65535:65535", "65536:0", "large:1:2:3", "large:4294967295:0:0", "large:1:2", "a:b", ":", "large:", "+1:2", "1_0:2", "0x1:2"} {
		f.Add(s)
	}
	for _, c := range controls {
		f.Add("1:2" + c)
		f.Add("large:1:" + c + "2:3")
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCommunity(s)
		if err != nil {
			if c != (Community{}) {
				t.Fatalf("%q: an error and %v", s, c)
			}
			return
		}
		if strings.ContainsAny(s, "+_x ") {
			t.Fatalf("%q was taken for %v", s, c)
		}
		if again, err := ParseCommunity(c.String()); err != nil || again != c {
			t.Fatalf("%q: %v, written out %v: %v", s, c, again, err)
		}
	})
}

// FuzzParse gives whole configurations. Whatever is in them, the pools that
// come out do not overlap, every address of theirs was in the input, and a
// second pass says the same.
func FuzzParse(f *testing.F) {
	f.Add("198.18.0.0/24,198.18.1.0/24", "198.18.0.9-198.18.0.10", "a", "In", "b", "1:2,far", "far", "1:x", int32(24), int32(64))
	f.Add("fd00::/64", "fd00::/120,::/0", "", "Exists", "", "large:1:2:3", "", "", int32(-1), int32(129))
	for _, c := range controls {
		f.Add("198.18.0.0/24"+c, c+"198.18.1.0/24", "a"+c, "In", "b"+c, "1:2"+c+",far", "far"+c, "1:"+c+"2", int32(24), int32(64))
	}
	f.Fuzz(func(t *testing.T, one, two, key, operator, value, communities, alias, aliasValue string, length, length6 int32) {
		selector := []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: key, Operator: metav1.LabelSelectorOperator(operator), Values: strings.Split(value, ",")},
		}}}
		res := Resources{
			ProviderNamespace: ns, Namespaces: []Namespace{{Name: "x", Labels: map[string]string{key: value}}},
			Pools: []v1beta1.IPAddressPool{
				pool("one", 1, nil, strings.Split(one, ",")...),
				pool("two", 2, func(p *v1beta1.IPAddressPool) {
					p.Spec.AllocateTo = &v1beta1.ServiceAllocation{NamespaceSelectors: selector, ServiceSelectors: selector}
				}, strings.Split(two, ",")...),
			},
			L2Advertisements: []v1beta1.L2Advertisement{l2ad("l2", v1beta1.L2AdvertisementSpec{NodeSelectors: selector})},
			BGPAdvertisements: []v1beta1.BGPAdvertisement{{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "bgp"}, Spec: v1beta1.BGPAdvertisementSpec{
				Communities: strings.Split(communities, ","), AggregationLength: &length, AggregationLengthV6: &length6, IPAddressPoolSelectors: selector,
			}}},
			Communities: []v1beta1.Community{{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "c"}, Spec: v1beta1.CommunitySpec{
				Communities: []v1beta1.CommunityAlias{{Name: alias, Value: aliasValue}},
			}}},
		}
		cfg, findings := Parse(res, nil)
		var all []Range
		for _, p := range cfg.Pools {
			if p.Name == "two" && (p.Allocation == nil || !p.Allocation.ByNamespace) {
				t.Fatal("a restricted pool is open to everybody")
			}
			for _, r := range p.Ranges {
				for _, o := range all {
					if o.Overlaps(r) {
						t.Fatalf("%v and %v overlap", o, r)
					}
				}
				all = append(all, r)
			}
			for _, ad := range p.BGP {
				for _, r := range p.Ranges {
					if prefix, announced := ad.Prefix(r.From); announced && prefix.Bits() < r.shortest() {
						t.Fatalf("%v announces more than %v", prefix, r)
					}
				}
			}
		}
		if _, again := Parse(res, cfg); len(again) != len(findings) {
			t.Fatalf("findings %v, then %v", texts(findings), texts(again))
		}
	})
}

// FuzzPeer: whatever a BGPPeer holds, one that is used has what a session needs.
func FuzzPeer(f *testing.F) {
	f.Add(uint32(1), uint32(2), "198.18.0.1", "", "", "", "", "", int64(90e9), int64(30e9), int64(5e9), true)
	f.Add(uint32(0), uint32(0), "fe80::1%eth0", "eth0", "internal", "fd00::1", "fd00::2", "x", int64(-1), int64(1), int64(1), false)
	for _, c := range controls {
		f.Add(uint32(1), uint32(2), "198.18.0.1"+c, "eth0"+c, "internal"+c, c+"198.18.0.2", "198.18.0.3"+c, "pass"+c+"word", int64(90e9), int64(30e9), int64(5e9), false)
	}
	f.Fuzz(func(t *testing.T, mine, theirs uint32, address, device, dynamic, source, id, password string, hold, keepalive, connect int64, multihop bool) {
		res := Resources{ProviderNamespace: ns, BGPPeers: []v1beta2.BGPPeer{{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"},
			Spec: v1beta2.BGPPeerSpec{
				MyASN: mine, ASN: theirs, Address: address, Interface: device, DynamicASN: v1beta2.DynamicASN(dynamic), SrcAddress: source, RouterID: id,
				Password: password, EBGPMultiHop: multihop, HoldTime: span(hold), KeepaliveTime: span(keepalive), ConnectTime: span(connect),
			},
		}}}
		cfg, _ := Parse(res, nil)
		for _, p := range cfg.Peers {
			switch {
			case p.MyASN == 0, p.PeerASN == 0 && p.DynamicASN == "", p.Address.IsValid() == (p.Interface != ""), p.Address.Zone() != "",
				p.Hold != 0 && (p.Hold < 3*time.Second || p.Keepalive <= 0 || p.Keepalive > p.Hold), p.Hold == 0 && p.Keepalive != 0,
				p.Connect < 0, p.EBGPMultiHop && p.IBGP(), p.Port == 0, p.Interface != "" && (p.Source.IsValid() || p.EBGPMultiHop),
				len(p.Password) > 80, p.Address.IsUnspecified(), p.Address.IsMulticast():
				t.Fatalf("a session cannot be made of %+v", p)
			}
		}
	})
}

// span is a duration, or none for 1.
func span(n int64) *metav1.Duration {
	if n == 1 {
		return nil
	}
	return &metav1.Duration{Duration: time.Duration(n)}
}

// FuzzProfile: whatever a BFDProfile holds, one that is used can be kept by a
// session, and one that cannot is told.
func FuzzProfile(f *testing.F) {
	f.Add(uint32(300), uint32(300), uint32(3), uint32(50), uint32(254), true, false)
	f.Add(uint32(0), uint32(9), uint32(1), uint32(0), uint32(255), false, true)
	f.Add(uint32(60001), uint32(1<<31), uint32(258), uint32(1), uint32(256), false, false)
	f.Fuzz(func(t *testing.T, receive, transmit, multiplier, echo, ttl uint32, echoMode, passive bool) {
		res := Resources{
			ProviderNamespace: ns,
			BFDProfiles: []v1beta1.BFDProfile{{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"}, Spec: v1beta1.BFDProfileSpec{
				ReceiveInterval: &receive, TransmitInterval: &transmit, DetectMultiplier: &multiplier, EchoInterval: &echo, MinimumTTL: &ttl,
				EchoMode: &echoMode, PassiveMode: &passive,
			}}},
			BGPPeers: []v1beta2.BGPPeer{{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: v1beta2.BGPPeerSpec{
				MyASN: 1, ASN: 2, Address: "198.18.0.1", BFDProfile: "b",
			}}},
		}
		cfg, findings := Parse(res, nil)
		if len(cfg.Peers) != 1 {
			t.Fatalf("the peer of a bad profile is lost: %v", findings)
		}
		b := cfg.Peers[0].BFD
		if (b == nil) != Invalid(findings) {
			t.Fatalf("profile %+v, findings %v", b, findings)
		}
		if b == nil {
			return
		}
		for _, interval := range []time.Duration{b.Receive, b.Transmit} {
			if interval < 10*time.Millisecond || interval > time.Minute {
				t.Fatalf("an interval of %v", interval)
			}
		}
		if uint32(b.Multiplier) != multiplier || b.Multiplier < 2 || uint32(b.MinimumTTL) != ttl || b.MinimumTTL == 0 || b.MinimumTTL == 255 || b.Passive != passive {
			t.Fatalf("%+v of multiplier %d, TTL %d, passive %v", b, multiplier, ttl, passive)
		}
		for reason, want := range map[api.Reason]bool{
			api.ReasonIgnoredField: echoMode, api.ReasonFastDetection: min(b.Receive, b.Transmit)*time.Duration(b.Multiplier) < safeDetection,
		} {
			if want != slices.ContainsFunc(findings, func(f api.Finding) bool { return f.Reason == reason }) {
				t.Fatalf("%+v with echo mode %v, findings %v", b, echoMode, findings)
			}
		}
	})
}
