package speaker

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/l2"
)

// announce hands the announcer all addresses that this node owns, and those
// that it leaves to another.
func (s *Speaker) announce() {
	claims := make(map[netip.Addr]l2.Claim, len(s.services))
	owns := make(owned, len(s.services))
	for name, v := range s.services {
		switch {
		case v.Announce && !v.waits:
			for _, addr := range v.addrs {
				claim := merge(claims, addr, v.Interfaces)
				claim.OwnerDiedAt = claims[addr].OwnerDiedAt
				s.takeovers.begin(addr, &claim)
				claims[addr] = claim
			}
			owns[name] = v
		case v.Reason == election.NotOwner || v.waits:
			// Another takes it over, or still has it; until that is seen, this
			// node goes on if it announced it before.
			for _, addr := range v.addrs {
				if _, shared := claims[addr]; !shared {
					claims[addr] = l2.Claim{Yield: true}
				}
			}
		}
	}
	s.opts.Announcer.Announce(claims)
	s.status.own(owns)
	s.bgp.announce()
	now := time.Now()
	s.decided.CompareAndSwap(nil, &now)
}

// merge is for Services that share an address: it is announced wherever one of
// them is.
func merge(claims map[netip.Addr]l2.Claim, addr netip.Addr, interfaces []string) l2.Claim {
	old, known := claims[addr]
	switch {
	case !known || old.Yield:
		return l2.Claim{Interfaces: interfaces}
	case old.Interfaces == nil || interfaces == nil:
		return l2.Claim{}
	}
	all := slices.Concat(old.Interfaces, interfaces)
	slices.Sort(all)
	return l2.Claim{Interfaces: slices.Compact(all)}
}

func compareNames(a, b string) int { return strings.Compare(a, b) }

// short cuts a message to what an event can hold.
func short(s string) string {
	const limit = 900
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
