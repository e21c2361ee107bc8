package share

import (
	"maps"
	"math"
	"slices"
	"time"
)

// How long things last. docs/decisions/shared-limits.md says why.
const (
	// Term is how long a consent lasts.
	Term = 600 * time.Millisecond
	// Round is the time between questions for consent.
	Round = 150 * time.Millisecond
	// Patience is how long an owner may not act until the others use parts of their own.
	Patience = 900 * time.Millisecond
	// Settling is how long a member that never acted waits until it uses a part of its own.
	Settling = time.Minute
	// Lease is how long tokens that an owner gave may be used.
	Lease = 250 * time.Millisecond
	// inHand is when a member gives back what it has not used, so that it arrives in time.
	inHand = 200 * time.Millisecond
	// Wait is how long a request waits for the owner.
	Wait = 5 * time.Millisecond
	// Tick is how often Node.Tick is to be called at least.
	Tick = 2 * time.Millisecond
)

// slack is added to what a member grants to others, whose clocks may be slower.
func slack(d time.Duration) time.Duration { return d + d/16 }

// Options of a Node.
type Options struct {
	// ID is the member's, such as its address.
	ID string
	// Process differs for each process that has had this ID.
	Process uint64
	// MaxKeys bounds the keys that are counted, and those that tokens are in hand for;
	// the default is 100,000.
	MaxKeys int
	// Send sends a message to another member, or loses it. It must not call the Node.
	Send func(to string, m *Message)
	// Answer is called with the verdict about a request for which Take said that it
	// waits. It must not call the Node.
	Answer func(ticket uint64, v Verdict)
}

// Verdict is what becomes of a request.
type Verdict struct {
	Admitted bool
	// Wait is the time after which a refused client may try again.
	Wait time.Duration
	// Reason is why it was refused.
	Reason Reason
}

// Reason is why a request was refused.
type Reason string

// The reasons.
const (
	// Over is for requests over the limit.
	Over Reason = "limit"
	// Late is for requests that the owner did not answer about in time.
	Late Reason = "late"
	// NoOwner is for requests while no member may act as the owner.
	NoOwner Reason = "no_owner"
	// Full is for requests with a new key when there is no room for it.
	Full Reason = "full"
	// Invalid is for requests that cannot be counted.
	Invalid Reason = "invalid"
)

// Node is one member. It is not safe for concurrent use. All times are those since any
// fixed moment, of a clock that is never set back.
type Node struct {
	o    Options
	born time.Duration
	// number is that of the last question, round that of the last Ask.
	number, round uint64
	view          *view
	previous      uint64
	adopted       time.Duration
	peers         map[string]*peer
	// listed are the members, and left are those of them whose process has said that it ends.
	listed []string
	left   map[string]uint64
	// asks are the numbers of the rounds in this view, with their times.
	asks []ask
	next time.Duration

	// acting says that a term of this member as owner has begun and not been seen to end.
	acting bool
	term   term
	past   []stage
	// lastLease is when the last of the leases ends that this member gave.
	lastLease time.Duration
	// divisor is how many parts there are of a limit that has no owner; 0 is not known.
	divisor int

	buckets *table[bucket]
	leases  map[leaseID]lease
	ending  queue[leaseID]
	hands   *table[hand]
	waiting queue[waiter]
	held    queue[heldEnd]
	counts  Counts
	now     time.Duration
}

// Counts are for metrics.
type Counts struct {
	// Leased is how many tokens were given to others, and Leases how many leases there are.
	Leased uint64
	Leases int
	// Refused are requests by reason.
	Refused map[Reason]uint64
	// Keys is how many keys have a bucket.
	Keys int
	// Degraded is how many owners do not act, so that parts of limits are used.
	Degraded int
}

// term is a time for which this member acted.
type term struct {
	view  uint64
	lines map[string]uint64
}

// stage is a view that this member had, and when it first acted since.
type stage struct {
	view  *view
	began time.Duration
}

const (
	notYet    = time.Duration(math.MaxInt64)
	mostPast  = 16
	mostAsks  = 8
	mostLease = 200_000
)

type ask struct {
	number uint64
	at     time.Duration
}

// peer is what a member knows of another one, and of itself.
type peer struct {
	// What this member granted: to which process, for which view, and until when.
	process, asked uint64
	granted        uint64
	until          time.Duration
	// line is the number of the consent that was not interrupted since; 0 for none.
	line, lineView uint64
	// acted is when it was last known to act.
	acted time.Duration
	// suspended says that this member consents no more, and local since when it uses its
	// part of the limits that the peer owns.
	suspended bool
	local     time.Duration

	// What the other one granted.
	consent, heard time.Duration
	theirLine      uint64
}

// New returns a member without a view, which refuses everything.
func New(o Options, now time.Duration) *Node {
	if o.MaxKeys <= 0 {
		o.MaxKeys = 100_000
	}
	n := &Node{o: o, born: now, now: now, view: newView(nil), peers: map[string]*peer{}, left: map[string]uint64{}, leases: map[leaseID]lease{}}
	n.counts.Refused = map[Reason]uint64{}
	n.buckets = newTable(o.MaxKeys, func(b *bucket) bool { return b.whole(n.now) })
	n.hands = newTable(o.MaxKeys, func(h *hand) bool { return h.idle(n.now) })
	return n
}

// Counts returns what was counted.
func (n *Node) Counts() Counts {
	c := n.counts
	c.Keys, c.Leases = n.buckets.count, len(n.leases)
	c.Refused = maps.Clone(c.Refused)
	for _, m := range n.view.members {
		if n.peers[m].suspended {
			c.Degraded++
		}
	}
	return c
}

// Members takes the members in: all that live, this one included.
func (n *Node) Members(now time.Duration, members []string) {
	n.begin(now)
	n.listed = slices.Clone(members)
	n.look()
}

// Leave says to the others that this process ends. It refuses everything from then on.
func (n *Node) Leave(now time.Duration) {
	n.begin(now)
	n.left[n.o.ID] = n.o.Process
	n.look()
}

// look adopts the members that are listed and have not left.
func (n *Node) look() {
	maps.DeleteFunc(n.left, func(id string, _ uint64) bool { return !slices.Contains(n.listed, id) })
	now := n.now
	v := newView(slices.DeleteFunc(slices.Clone(n.listed), func(id string) bool {
		_, left := n.left[id]
		return left
	}))
	if v.id == n.view.id {
		return
	}
	n.acting = false
	n.previous, n.view, n.adopted = n.view.id, v, now
	n.asks, n.next = nil, now
	for id, p := range n.peers {
		if p.lineView != n.previous {
			p.line = 0
		}
		p.acted, p.consent, p.heard, p.theirLine = now, 0, 0, 0
		p.local = notYet
		if !v.has(id) {
			p.suspended, p.line = false, 0
		}
	}
	for _, m := range v.members {
		if n.peers[m] == nil {
			n.peers[m] = &peer{acted: now, local: notYet}
		}
	}
	if n.divisor > 0 {
		n.divisor = max(n.divisor, len(v.members))
	}
	if n.past = append(n.past, stage{v, notYet}); len(n.past) > mostPast {
		n.past = n.past[1:]
	}
	n.Tick(now)
}

// begin notes the time, and whether the term has ended by now.
func (n *Node) begin(now time.Duration) {
	n.now = now
	if n.acting && now >= n.actingUntil() {
		n.acting = false
	}
}

// Tick does what is due.
func (n *Node) Tick(now time.Duration) {
	n.begin(now)
	n.endLeases()
	n.endWaiting()
	n.giveBack()
	n.suspend()
	if now < n.next {
		return
	}
	n.next = now + Round
	n.forget()
	n.askAll()
	n.buckets.sweep(2000)
	n.hands.sweep(2000)
}

// Idle returns for how long nothing is due: until the next round while no tokens are lent in
// either direction, else not at all. A lease lasts longer than a round, so one that is given
// meanwhile is seen to end.
func (n *Node) Idle(now time.Duration) time.Duration {
	if len(n.leases) > 0 || len(n.held.list) > 0 || len(n.waiting.list) > 0 {
		return 0
	}
	return max(n.next-now, 0)
}

// forget drops members that are gone, once nothing is granted to them any more.
func (n *Node) forget() {
	for id, p := range n.peers {
		if !n.view.has(id) && n.now >= p.until {
			delete(n.peers, id)
		}
	}
}

// Receive takes a message in.
func (n *Node) Receive(now time.Duration, from string, m *Message) {
	n.begin(now)
	switch m.Kind {
	case Ask:
		n.answerAsk(from, m)
	case Reply:
		n.takeReply(from, m)
	case Want:
		n.give(from, m)
	case Give:
		n.take(from, m)
	case Return:
		n.takeBack(from, m)
	case End: // which does not come here
	}
}
