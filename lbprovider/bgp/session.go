package bgp

import (
	"math"
	"net/netip"
	"time"
)

// Session is what one peer is told.
type Session struct {
	Peer   Peer
	Routes []Route
}

// The states of a session, in BGP's words (RFC 4271).
const (
	StateIdle        = "Idle"
	StateConnect     = "Connect"
	StateActive      = "Active"
	StateOpenSent    = "OpenSent"
	StateOpenConfirm = "OpenConfirm"
	StateEstablished = "Established"
)

// Status says how a session is.
type Status struct {
	// Peer is without its password.
	Peer Peer
	// Address is where the peer is, with the interface as zone if it is
	// link-local; not valid as long as that is not known.
	Address netip.Addr
	// State is one of the states above.
	State string
	// Since is when the session was established, or lost; zero if it never was.
	Since time.Time
	// Problem says in a sentence why the session is not up; empty if it is, or
	// if nothing is known yet.
	Problem string
	// Routes is how many prefixes the peer is told.
	Routes int
	// PeerASN is what the peer calls itself; 0 as long as it did not.
	PeerASN uint32
	// Failures is how often the process that holds the session ended although
	// it was not told to.
	Failures int
}

// Up says whether the session is established.
func (s Status) Up() bool { return s.State == StateEstablished }

// Counters are the messages of one session.
type Counters struct {
	OpensSent, OpensReceived, NotificationsSent uint64
	UpdatesSent, UpdatesReceived                uint64
	KeepalivesSent, KeepalivesReceived          uint64
	RefreshSent, TotalSent, TotalReceived       uint64
}

// Plus returns the sums, which never overflow.
func (c Counters) Plus(o Counters) Counters {
	return c.with(o, func(a, b uint64) uint64 {
		if a+b < a {
			return math.MaxUint64
		}
		return a + b
	})
}

// AtLeast returns the greater one of each.
func (c Counters) AtLeast(o Counters) Counters {
	return c.with(o, func(a, b uint64) uint64 { return max(a, b) })
}

func (c Counters) with(o Counters, join func(a, b uint64) uint64) Counters {
	return Counters{
		OpensSent: join(c.OpensSent, o.OpensSent), OpensReceived: join(c.OpensReceived, o.OpensReceived),
		NotificationsSent: join(c.NotificationsSent, o.NotificationsSent),
		UpdatesSent:       join(c.UpdatesSent, o.UpdatesSent), UpdatesReceived: join(c.UpdatesReceived, o.UpdatesReceived),
		KeepalivesSent: join(c.KeepalivesSent, o.KeepalivesSent), KeepalivesReceived: join(c.KeepalivesReceived, o.KeepalivesReceived),
		RefreshSent: join(c.RefreshSent, o.RefreshSent), TotalSent: join(c.TotalSent, o.TotalSent), TotalReceived: join(c.TotalReceived, o.TotalReceived),
	}
}

// Differences returns which of the old routes are gone, and which of the new
// ones are not among the old. Both lists are sorted by CompareRoutes.
func Differences(old, routes []Route) (gone, changed []Route) {
	for _, route := range routes {
		for len(old) > 0 && CompareRoutes(old[0], route) < 0 {
			gone, old = append(gone, old[0]), old[1:]
		}
		if len(old) == 0 || old[0].Prefix != route.Prefix {
			changed = append(changed, route)
			continue
		}
		if !old[0].Equal(route) {
			changed = append(changed, route)
		}
		old = old[1:]
	}
	return append(gone, old...), changed
}
