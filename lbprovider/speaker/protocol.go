package speaker

import (
	"context"
	"iter"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Protocol announces the addresses of Services in one way: layer2 by ARP and
// NDP, bgpProtocol by BGP. Its methods may be called from any goroutine.
type Protocol interface {
	// Name is the protocol's name in events, logs and metrics.
	Name() string
	// SetConfig takes over the configuration and the state of the cluster. After
	// it, Announce is called again for every Service.
	SetConfig(context.Context, *Cluster) error
	// Announce decides whether this node announces a Service's addresses.
	Announce(Request) Decision
	// Withdraw forgets a Service that has no addresses to announce any more.
	Withdraw(types.NamespacedName)
	// Apply hands over to the network what was decided since the last call.
	Apply()
	// Report writes what became of it. It is also called when the protocol asks
	// for it by a reportStatus request.
	Report()
	// Services returns the Services that the protocol has decided about.
	Services() iter.Seq2[types.NamespacedName, Announcement]
	// Explain adds to rows of the debug page what was decided and why.
	Explain(context.Context, []Row)
	// Close ends what must not outlive the speaker.
	Close(context.Context)
}

// Request is a Service that a Protocol is to announce.
type Request struct {
	Service *corev1.Service
	// Addrs are the addresses of its status; none if one of them is Invalid.
	Addrs   []netip.Addr
	Invalid bool
	// Served says that a protocol that was asked before announces the Service,
	// from this node or from another.
	Served bool
}

// Decision is what a Protocol decided about a Service.
type Decision struct {
	// Refusal is why this node does not announce the addresses; empty if it does.
	Refusal Refusal
	// Served says that some node announces them.
	Served bool
	// Changed says that the decision differs from the last one. Message then
	// describes it in a sentence.
	Changed bool
	Message string
	// Starts says that this node announces the addresses from now on, and
	// TakenFrom from which node it takes them over, in words for an event.
	Starts    bool
	TakenFrom string
	// Problem is something new that the users of the Service must know; empty if
	// there is nothing.
	Problem string
}

// Refusal is the reason why a node does not announce an address.
type Refusal string

// Announcement is what a Protocol does for a Service.
type Announcement struct {
	Addrs []netip.Addr
	// Announce says that this node is to announce the addresses, and Waits that it
	// cannot deliver yet and so does not.
	Announce, Waits bool
}

// Active says whether the addresses are announced now.
func (a Announcement) Active() bool { return a.Announce && !a.Waits }
