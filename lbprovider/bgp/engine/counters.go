package engine

import (
	"context"
	"sync/atomic"

	api "github.com/osrg/gobgp/v3/api"

	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// counters adds up what the servers of a session count.
type counters struct {
	now  atomic.Pointer[running]
	past atomic.Pointer[bgp.Counters]
}

// readCounters returns the session's bgp.Counters.
func (s *session) readCounters() bgp.Counters {
	c := bgp.Counters{}
	if past := s.counters.past.Load(); past != nil {
		c = *past
	}
	if r := s.counters.now.Load(); r != nil {
		c = c.Plus(r.readCounters())
	}
	return c
}

func (r *running) readCounters() bgp.Counters {
	var c bgp.Counters
	err := r.server.ListPeer(context.Background(), &api.ListPeerRequest{}, func(p *api.Peer) {
		sent, received := p.GetState().GetMessages().GetSent(), p.GetState().GetMessages().GetReceived()
		c = bgp.Counters{
			OpensSent: sent.GetOpen(), OpensReceived: received.GetOpen(), NotificationsSent: sent.GetNotification(),
			UpdatesSent: sent.GetUpdate(), UpdatesReceived: received.GetUpdate(),
			KeepalivesSent: sent.GetKeepalive(), KeepalivesReceived: received.GetKeepalive(),
			RefreshSent: sent.GetRefresh(), TotalSent: sent.GetTotal(), TotalReceived: received.GetTotal(),
		}
	})
	if err != nil {
		return bgp.Counters{}
	}
	return c
}
