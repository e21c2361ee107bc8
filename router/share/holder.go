package share

import (
	"slices"
	"time"
)

// hand is what a member has of a key that another one owns.
type hand struct {
	limit  Limit
	tokens []tokens
	// asked is the number of the question that is under way, 0 for none, and until when it
	// is waited for.
	asked   uint64
	wanted  int64
	askedAt time.Duration
	until   time.Duration
	tickets []uint64
	// refused is until when the owner has no token.
	refused time.Duration
	// used is how many tokens were used in this tenth of a second, and before in the last.
	used, before int64
	since        time.Duration
}

// tokens are those of one lease that were not used.
type tokens struct {
	owner  string
	number uint64
	count  int64
	ends   time.Duration
}

// waiter is a request that waits.
type waiter struct {
	key    Key
	ticket uint64
}

// heldEnd is a lease whose tokens go back when it ends.
type heldEnd struct {
	key    Key
	number uint64
}

// Bounds of what waits.
const (
	mostWaiting  = 20_000
	mostForOne   = 1000
	usedIn       = 100 * time.Millisecond
	longestPause = 10 * time.Millisecond
	idleAfter    = time.Second
)

func (h *hand) idle(now time.Duration) bool {
	return len(h.tokens) == 0 && len(h.tickets) == 0 && now-h.since > idleAfter
}

// Take decides about a request with a key. If it returns true, the verdict comes later,
// by Options.Answer with the ticket.
func (n *Node) Take(now time.Duration, k Key, l Limit, ticket uint64) (Verdict, bool) {
	n.begin(now)
	if !k.valid() || l.Check() != nil {
		return n.refuse(Invalid, time.Second), false
	}
	hash := k.hash()
	owner := n.view.owner(hash)
	p := n.peers[owner]
	switch {
	case owner == "" || !n.view.has(n.o.ID):
		return n.refuse(NoOwner, time.Second), false
	case owner == n.o.ID && n.acting:
		return n.count(n.own(k, hash, l)), false
	case n.alone(p):
		return n.count(n.bucket(k, l.part(n.divisor), p.local)), false
	case owner == n.o.ID:
		return n.refuse(NoOwner, time.Second), false
	}
	return n.ask(k, l, owner, ticket)
}

func (n *Node) refuse(r Reason, wait time.Duration) Verdict {
	n.counts.Refused[r]++
	return Verdict{Reason: r, Wait: wait}
}

// count takes a token of a bucket.
func (n *Node) count(b *bucket) Verdict {
	switch {
	case b == nil:
		return n.refuse(Full, time.Second)
	case b.take(n.now, 1) == 1:
		return Verdict{Admitted: true}
	}
	return n.refuse(Over, b.wait())
}

// ask uses a token in hand, or waits for the owner.
func (n *Node) ask(k Key, l Limit, owner string, ticket uint64) (Verdict, bool) {
	h := n.hands.get(k)
	if h == nil {
		if h = n.hands.add(k); h == nil {
			return n.refuse(Full, time.Second), false
		}
		h.since = n.now
	}
	h.limit = l
	h.roll(n.now)
	if n.use(h) {
		if h.asked == 0 && h.left() < h.usual()/2 && n.now >= h.refused {
			n.want(k, owner, h)
		}
		return Verdict{Admitted: true}, false
	}
	switch {
	case n.now < h.refused:
		return n.refuse(Over, h.refused-n.now), false
	case n.peers[owner].suspended:
		return n.refuse(NoOwner, time.Second), false
	case len(n.waiting.list) >= mostWaiting || len(h.tickets) >= mostForOne:
		return n.refuse(Late, time.Second), false
	}
	h.tickets = append(h.tickets, ticket)
	n.waiting.push(waiter{k, ticket}, n.now+Wait)
	if h.asked == 0 || n.now >= h.until {
		n.want(k, owner, h)
	}
	return Verdict{}, true
}

// roll begins a new tenth of a second.
func (h *hand) roll(now time.Duration) {
	if d := now - h.since; d >= usedIn {
		h.before = h.used
		if d >= 2*usedIn {
			h.before = 0
		}
		h.used, h.since = 0, now
	}
}

func (h *hand) usual() int64 { return max(h.used, h.before) }

func (h *hand) left() (sum int64) {
	for _, t := range h.tokens {
		sum += t.count
	}
	return sum
}

// use takes a token in hand. The owner hears of a lease that is used up, so that its
// bucket can be filled.
func (n *Node) use(h *hand) bool {
	for i := range h.tokens {
		t := &h.tokens[i]
		if n.now >= t.ends {
			continue
		}
		h.used++
		if t.count--; t.count == 0 {
			n.giveBackTokens(h, i)
		}
		return true
	}
	return false
}

func (n *Node) giveBackTokens(h *hand, i int) {
	t := h.tokens[i]
	h.tokens = slices.Delete(h.tokens, i, i+1)
	n.o.Send(t.owner, &Message{Kind: Return, Process: n.o.Process, Number: t.number, Count: t.count})
}

// want asks the owner for tokens: what was used lately, but no more than would leave
// something for the others, and one for each request that waits.
func (n *Node) want(k Key, owner string, h *hand) {
	l := h.limit
	count := max(1, min(l.Burst/int64(4*len(n.view.members)), h.usual()), min(int64(len(h.tickets)), l.Burst))
	n.number++
	h.asked, h.wanted, h.askedAt, h.until = n.number, count, n.now, n.now+Wait
	n.o.Send(owner, &Message{Kind: Want, Process: n.o.Process, Number: n.number, Key: k, Limit: l, Count: count})
}

// take takes tokens from the owner, and hands them to the requests that wait.
func (n *Node) take(from string, m *Message) {
	h := n.hands.get(m.Key)
	if h == nil || m.Process != n.o.Process || m.Number == 0 || m.Number != h.asked || m.Count > h.wanted {
		return
	}
	h.roll(n.now)
	h.asked = 0
	if ends := h.askedAt + inHand; m.Count > 0 && n.now < ends {
		h.tokens = append(h.tokens, tokens{from, m.Number, m.Count, ends})
		n.held.push(heldEnd{m.Key, m.Number}, ends)
	}
	for len(h.tickets) > 0 && n.use(h) {
		n.o.Answer(h.tickets[0], Verdict{Admitted: true})
		h.tickets = h.tickets[1:]
	}
	if m.Count == h.wanted {
		if len(h.tickets) > 0 {
			if owner := n.view.owner(m.Key.hash()); owner != "" && owner != n.o.ID {
				n.want(m.Key, owner, h)
			}
		}
		return
	}
	wait := max(m.Wait, time.Millisecond)
	h.refused = n.now + min(wait, longestPause)
	for _, t := range h.tickets {
		n.o.Answer(t, n.refuse(Over, wait))
	}
	h.tickets = nil
}

// endWaiting refuses requests that the owner did not answer about.
func (n *Node) endWaiting() {
	for w := range n.waiting.due(n.now) {
		h := n.hands.get(w.key)
		if h == nil || len(h.tickets) == 0 || h.tickets[0] != w.ticket {
			continue // answered
		}
		h.tickets = h.tickets[1:]
		n.o.Answer(w.ticket, n.refuse(Late, time.Second))
	}
}

// giveBack returns what was not used.
func (n *Node) giveBack() {
	for e := range n.held.due(n.now) {
		h := n.hands.get(e.key)
		if h == nil {
			continue
		}
		if i := slices.IndexFunc(h.tokens, func(t tokens) bool { return t.number == e.number }); i >= 0 {
			n.giveBackTokens(h, i)
		}
	}
}
