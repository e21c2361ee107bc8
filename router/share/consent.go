package share

import (
	"maps"
	"slices"
	"time"
)

// askAll asks all members, this one included, for consent.
func (n *Node) askAll() {
	if !n.view.has(n.o.ID) && n.previous == 0 {
		return
	}
	_, leaving := n.left[n.o.ID]
	n.round++
	if n.asks = append(n.asks, ask{n.round, n.now}); len(n.asks) > mostAsks {
		n.asks = n.asks[1:]
	}
	for _, id := range slices.Sorted(maps.Keys(n.peers)) {
		m := &Message{
			Kind: Ask, Process: n.o.Process, Number: n.round, View: n.view.id,
			Acting: n.acting, Complete: n.complete(), Ends: max(n.lastLease-n.now, 0), Leaving: leaving,
		}
		if id == n.o.ID {
			n.answerAsk(id, m)
		} else {
			n.o.Send(id, m)
		}
	}
}

// complete reports whether all members have been heard from.
func (n *Node) complete() bool {
	for _, id := range n.view.members {
		if n.now >= n.peers[id].heard {
			return false
		}
	}
	return n.view.has(n.o.ID)
}

// free reports whether nothing is granted for another view, or may have been by a
// process before this one.
func (n *Node) free() bool {
	if n.now < n.born+slack(Term) {
		return false
	}
	for _, p := range n.peers {
		if p.granted != n.view.id && n.now < p.until {
			return false
		}
	}
	return true
}

// asks notes a question, and reports whether it is to be answered.
func (p *peer) asks(m *Message, now time.Duration) bool {
	if m.Process != p.process {
		// A process that was granted something may live beside its successor.
		if now < p.until {
			return false
		}
		p.process, p.asked, p.line = m.Process, 0, 0
	}
	if m.Number <= p.asked {
		return false // late, or for the second time
	}
	p.asked = m.Number
	return true
}

// answerAsk answers a question for consent.
func (n *Node) answerAsk(from string, m *Message) {
	if process, left := n.left[from]; left && process != m.Process && from != n.o.ID {
		delete(n.left, from)
		n.look()
	}
	p := n.peers[from]
	if p == nil || !p.asks(m, n.now) {
		return
	}
	if p.granted != m.View && n.now < p.until {
		// The sender has left that view, so it does not act for it any more. What it leased may
		// be in use.
		p.until = min(p.until, n.now+slack(min(max(m.Ends, 0), Term)))
	}
	if m.Leaving && from != n.o.ID {
		n.left[from] = m.Process
		n.look()
		return
	}
	if m.View != n.view.id || !n.view.has(from) || !n.view.has(n.o.ID) {
		return
	}
	if m.Acting {
		p.acted = n.now
	}
	if p.suspended && m.Complete {
		p.suspended, p.acted, p.local = false, n.now, notYet
	}
	reply := &Message{Kind: Reply, Process: m.Process, Number: m.Number, View: m.View, Consent: !p.suspended && n.free()}
	if reply.Consent {
		if p.line == 0 {
			n.number++
			p.line = n.o.Process<<32 ^ n.number
		}
		p.lineView, p.granted, p.until = m.View, m.View, n.now+slack(Term)
		reply.Line = p.line
	}
	if from == n.o.ID {
		n.takeReply(from, reply)
	} else {
		n.o.Send(from, reply)
	}
}

// takeReply takes a consent in. It counts from the question.
func (n *Node) takeReply(from string, m *Message) {
	p := n.peers[from]
	if p == nil || m.Process != n.o.Process || m.View != n.view.id || !n.view.has(from) {
		return
	}
	for _, a := range n.asks {
		if a.number != m.Number {
			continue
		}
		p.heard = max(p.heard, a.at+Term)
		if m.Consent && a.at+Term > p.consent {
			p.consent, p.theirLine = a.at+Term, m.Line
		}
	}
	if !n.acting && n.now < n.actingUntil() {
		n.beginTerm()
	}
}

// actingUntil is when the first consent ends.
func (n *Node) actingUntil() time.Duration {
	if !n.view.has(n.o.ID) {
		return 0
	}
	until := notYet
	for _, id := range n.view.members {
		until = min(until, n.peers[id].consent)
	}
	return until
}

// beginTerm has this member act as owner.
func (n *Node) beginTerm() {
	if !n.unbroken() {
		n.past = []stage{{n.view, n.now}}
	}
	n.term = term{view: n.view.id, lines: map[string]uint64{}}
	for i := range n.past {
		n.past[i].began = min(n.past[i].began, n.now)
	}
	for _, id := range n.view.members {
		n.term.lines[id] = n.peers[id].theirLine
	}
	n.acting, n.divisor = true, len(n.view.members)
	n.peers[n.o.ID].acted = n.now
}

// unbroken reports whether nothing but this member can have admitted requests for its
// keys since its last term: it is of the same view or of the one before, and no member
// of both has withdrawn its consent meanwhile.
func (n *Node) unbroken() bool {
	if n.term.view == 0 || n.term.view != n.view.id && n.term.view != n.previous {
		return false
	}
	for _, id := range n.view.members {
		if line, was := n.term.lines[id]; was && line != n.peers[id].theirLine {
			return false
		}
	}
	return true
}

// emptyAt is when a key's bucket was not below empty for certain: when the first of the
// terms began in which this member has owned it without a break.
func (n *Node) emptyAt(key uint64) time.Duration {
	at := n.now
	for i := len(n.past) - 1; i >= 0 && n.past[i].view.owner(key) == n.o.ID; i-- {
		at = min(at, n.past[i].began)
	}
	return at
}

// suspend withdraws the consent to members that do not act.
func (n *Node) suspend() {
	if n.acting {
		n.peers[n.o.ID].acted = n.now
	}
	for _, id := range n.view.members {
		if p := n.peers[id]; !p.suspended && n.now-p.acted > Patience {
			p.suspended, p.line, p.local = true, 0, notYet
		}
	}
	if n.divisor == 0 && n.view.has(n.o.ID) && n.now-n.adopted > Settling {
		n.divisor = len(n.view.members)
	}
}

// alone reports whether this member uses its part of the limits that a peer owns.
func (n *Node) alone(p *peer) bool {
	if !p.suspended || n.divisor == 0 || n.now < p.until || !n.free() {
		return false
	}
	p.local = min(p.local, n.now)
	return true
}
