package engine

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/config"
)

const (
	// gracefulRestart is for how long a peer keeps routes of a speaker that
	// restarts, as FRR's default.
	gracefulRestart = 120 * time.Second
	// deferral is how long a speaker that restarts waits for the peer to finish
	// its own routes before it sends its; gobgp counts in whole seconds.
	deferral = 2 * time.Second
	// ttlMultihop is what a packet to a distant peer may travel.
	ttlMultihop = 255
)

// nextHops are the addresses that routes lead to, where the session's own
// address is of the other family. One that is not valid is unknown.
type nextHops struct {
	v4, v6 netip.Addr
}

func familyOf(p netip.Prefix) *api.Family {
	if p.Addr().Is4() {
		return &api.Family{Afi: api.Family_AFI_IP, Safi: api.Family_SAFI_UNICAST}
	}
	return &api.Family{Afi: api.Family_AFI_IP6, Safi: api.Family_SAFI_UNICAST}
}

// pathOf writes a route as gobgp wants it. An unspecified next hop stands for
// the session's local address.
func pathOf(r bgp.Route, hop netip.Addr, peer bgp.Peer) (*api.Path, error) {
	nlri, err := anypb.New(&api.IPAddressPrefix{Prefix: r.Prefix.Addr().String(), PrefixLen: uint32(r.Prefix.Bits())})
	if err != nil {
		return nil, fmt.Errorf("write prefix %s: %w", r.Prefix, err)
	}
	attrs := []proto.Message{&api.OriginAttribute{Origin: 0}}
	family := familyOf(r.Prefix)
	if r.Prefix.Addr().Is4() && hop.Is4() {
		attrs = append(attrs, &api.NextHopAttribute{NextHop: hop.String()})
	} else { // IPv6, or IPv4 by RFC 8950
		attrs = append(attrs, &api.MpReachNLRIAttribute{Family: family, NextHops: []string{hop.String()}, Nlris: []*anypb.Any{nlri}})
	}
	// To peers of the own AS the number is not told, and they would take it for a
	// loop.
	if r.Prepend != 0 && !peer.Internal() {
		attrs = append(attrs, &api.AsPathAttribute{Segments: []*api.AsSegment{{
			Type: api.AsSegment_AS_SEQUENCE, Numbers: slices.Repeat([]uint32{peer.OwnASN()}, int(r.Prepend)),
		}}})
	}
	if r.LocalPref != 0 {
		attrs = append(attrs, &api.LocalPrefAttribute{LocalPref: r.LocalPref})
	}
	attrs = append(attrs, communitiesOf(r.Communities)...)
	path := &api.Path{Family: family, Nlri: nlri}
	for _, a := range attrs {
		attr, err := anypb.New(a)
		if err != nil {
			return nil, fmt.Errorf("write attributes of %s: %w", r.Prefix, err)
		}
		path.Pattrs = append(path.Pattrs, attr)
	}
	return path, nil
}

func communitiesOf(all []config.Community) []proto.Message {
	var standard []uint32
	var large []*api.LargeCommunity
	for _, c := range all {
		if c.Large {
			large = append(large, &api.LargeCommunity{GlobalAdmin: c.A, LocalData1: c.B, LocalData2: c.C})
		} else {
			standard = append(standard, c.A<<16|c.B)
		}
	}
	var out []proto.Message
	if len(standard) > 0 {
		out = append(out, &api.CommunitiesAttribute{Communities: standard})
	}
	if len(large) > 0 {
		out = append(out, &api.LargeCommunitiesAttribute{Communities: large})
	}
	return out
}

// peerOf writes a peer as gobgp wants it. Restarting says that an earlier
// process held the session, whose routes the peer may still keep.
func peerOf(p bgp.Peer, address string, restarting bool) *api.Peer {
	retry := cmp.Or(p.ConnectTime, bgp.DefaultConnectTime)
	peer := &api.Peer{
		Conf: &api.PeerConf{
			NeighborAddress: address, PeerAsn: p.PeerASN, LocalAsn: p.LocalASN, AuthPassword: p.Password,
		},
		Timers: &api.Timers{Config: &api.TimersConfig{
			HoldTime: seconds(p.HoldTime), KeepaliveInterval: seconds(p.KeepaliveTime),
			// gobgp waits once to twice this long.
			ConnectRetry: max(1, seconds(retry)/2), IdleHoldTimeAfterReset: 1,
		}},
		Transport: &api.Transport{RemotePort: uint32(cmp.Or(p.Port, bgp.DefaultPort)), BindInterface: p.VRF},
	}
	if p.Source.IsValid() {
		peer.Transport.LocalAddress = p.Source.String()
	}
	if p.MultiHop {
		peer.EbgpMultihop = &api.EbgpMultihop{Enabled: true, MultihopTtl: ttlMultihop}
	}
	if p.GracefulRestart {
		peer.GracefulRestart = &api.GracefulRestart{
			Enabled: true, RestartTime: uint32(gracefulRestart.Seconds()), DeferralTime: uint32(deferral.Seconds()), LocalRestarting: restarting,
		}
	}
	for _, probe := range []netip.Prefix{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)} {
		if p.Carries(probe) {
			peer.AfiSafis = append(peer.AfiSafis, &api.AfiSafi{
				Config:            &api.AfiSafiConfig{Family: familyOf(probe), Enabled: true},
				MpGracefulRestart: &api.MpGracefulRestart{Config: &api.MpGracefulRestartConfig{Enabled: p.GracefulRestart}},
			})
		}
	}
	return peer
}

func seconds(d time.Duration) uint64 { return uint64(d / time.Second) }
