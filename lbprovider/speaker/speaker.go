// Package speaker joins the parts on a node: it reads Services, endpoints,
// nodes and configuration, and has each Protocol decide whether this node
// announces an address, and announce it.
//
//	request ─▶ Reconcile ─▶ Cluster: configuration, nodes, other speakers
//	                │ each Service
//	                ▼
//	           Protocol.Announce ─▶ log, events
//	           Protocol.Apply    ─▶ ARP and NDP (package l2), BGP (package bgp/process)
//	           Protocol.Report   ─▶ status objects
//
// Without the API server it goes on with the last state. Which speakers are
// reachable is known without the API server.
package speaker

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Announcer answers for addresses by ARP and NDP; l2.Announcer is one.
type Announcer interface {
	// Announce replaces the set of addresses.
	Announce(map[netip.Addr]l2.Claim)
	// Refresh announces all of them again.
	Refresh()
	// Last returns when each address was last announced unasked.
	Last(context.Context) map[netip.Addr]time.Time
}

// Peers knows the other speakers; liveness.Gossip is one.
type Peers interface {
	Snapshot() *liveness.Snapshot
	// SetPeers says at which addresses other speakers should be.
	SetPeers([]string)
	// SetAnswering sends them the Services whose pods on this node answer their probes.
	SetAnswering([]string)
}

// Options configure the speaker.
type Options struct {
	// NodeName is the node that the speaker is on.
	NodeName string
	// NodeAddress is where kube-proxy reports whether it delivers; empty: it is not asked.
	NodeAddress string
	// PodName is the speaker's own pod, which its status objects end with; empty: none.
	PodName string
	// Namespace is where pools, advertisements and the speakers' pods live.
	Namespace string
	Classes   service.Classes
	// IgnoreExcludeLabel lets nodes announce that have the label
	// node.kubernetes.io/exclude-from-external-load-balancers.
	IgnoreExcludeLabel bool
	// AnnounceIsolated lets a speaker go on that reaches neither the API server
	// nor half of the other speakers. By default it falls silent.
	AnnounceIsolated bool
	// Speakers selects the speakers' pods.
	Speakers  labels.Selector
	Announcer Announcer
	Peers     Peers
	// Routers announce by BGP; nil: there is no BGP. Detector is BFD for them; nil:
	// profiles have no effect.
	Routers    Routers
	Detector   Detector
	Registerer prometheus.Registerer
	Log        *slog.Logger
}

// serviceLister has the Services of type LoadBalancer; servicecache.Cache is one.
type serviceLister interface {
	// Service returns nil if there is none.
	Service(types.NamespacedName) *corev1.Service
	Has(types.NamespacedName) bool
	Names() []types.NamespacedName
}

// Speaker decides for one node. Reconcile runs in one goroutine.
type Speaker struct {
	opts     Options
	log      *slog.Logger
	events   record.EventRecorder
	requests requestQueue
	counters *reconcileCounters

	services serviceLister
	config   *configReader
	clusters *clusterReader
	backends *backendReader
	// protocols are asked in this order whether they announce a Service.
	protocols []Protocol
	// conflict is what the protocol by ARP and NDP does about a claim of another host.
	conflict func(l2.Conflict)

	// cluster belongs to Reconcile; nil before the first one.
	cluster *Cluster
	// decided is when every Service was decided about first, nil before.
	decided atomic.Pointer[time.Time]
}

// Changed makes the speaker decide about everything again; it is for changes
// among the other speakers.
func (s *Speaker) Changed() { s.requests.add(refreshAll{}) }

// SessionsChanged makes the speaker report how its BGP sessions are.
func (s *Speaker) SessionsChanged() {
	for _, p := range s.protocols {
		if p.Name() == bgpName {
			s.requests.add(reportStatus{protocol: p})
		}
	}
}

// Conflict sends events to the Services at an address that another host claims.
// It does not block; the announcer bounds how often it is called.
func (s *Speaker) Conflict(c l2.Conflict) { go s.conflict(c) }

// settleLimit is how long readiness waits for a speaker to take part in
// elections; usually that takes half as long.
const settleLimit = 10 * time.Second

// notReady says what a speaker waits for before it does its part, and is empty
// once it has decided about every Service and takes part in elections. A rollout
// that went on before would leave addresses to ever fewer speakers, and move
// them several times. One that settles for long, because it was lost often,
// holds nothing up.
func (s *Speaker) notReady() string {
	decided := s.decided.Load()
	switch {
	case decided == nil:
		return "not every service is decided about"
	case time.Since(*decided) < settleLimit && s.opts.Peers.Snapshot().Members[s.opts.NodeName].Phase == liveness.Settling:
		return "stands back for a while, because it has only just come back"
	}
	return ""
}
