package share

import "time"

// leaseID names a lease: of a question of a process.
type leaseID struct {
	holder          string
	process, number uint64
}

// lease are tokens that another member has.
type lease struct {
	bucket *bucket
	begun  int
	count  int64
	until  time.Duration
}

// own returns the bucket of a key that this member owns now, or nil without room.
func (n *Node) own(k Key, hash uint64, l Limit) *bucket {
	if b := n.buckets.get(k); b != nil && b.limit == l && b.seen >= n.past[len(n.past)-1].began {
		b.seen = n.now
		return b
	}
	return n.bucket(k, l, n.emptyAt(hash))
}

// bucket returns the bucket of a key, which is empty at a time at the latest. A bucket
// that is older than that is of another owner's time.
func (n *Node) bucket(k Key, l Limit, empty time.Duration) *bucket {
	b := n.buckets.get(k)
	switch {
	case b == nil:
		if b = n.buckets.add(k); b == nil {
			return nil
		}
		b.begin(l, empty, n.now)
	case b.limit != l:
		// Limits that change have other names, so this is another part of the same limit.
		b.begin(l, n.now, n.now)
	case b.seen < empty:
		b.begin(l, empty, n.now)
	}
	b.seen = n.now
	return b
}

// give answers a member that wants tokens.
func (n *Node) give(from string, m *Message) {
	hash := m.Key.hash()
	if !n.acting || !n.view.has(from) || !m.Key.valid() || m.Limit.Check() != nil || m.Count < 1 || n.view.owner(hash) != n.o.ID {
		return
	}
	answer := &Message{Kind: Give, Process: m.Process, Number: m.Number, Key: m.Key}
	id := leaseID{from, m.Process, m.Number}
	_, again := n.leases[id]
	b := n.own(m.Key, hash, m.Limit)
	// Leases end before the consent does, so that the next owner finds none.
	if again || b == nil || len(n.leases) >= mostLease || n.actingUntil()-n.now < slack(Lease) {
		return
	}
	answer.Count = b.take(n.now, min(m.Count, m.Limit.Burst))
	answer.Wait = b.wait()
	if answer.Count > 0 {
		until := n.now + slack(Lease)
		b.leased += answer.Count
		n.leases[id] = lease{b, b.begun, answer.Count, until}
		n.ending.push(id, until)
		n.lastLease = max(n.lastLease, until)
		n.counts.Leased += uint64(answer.Count)
	}
	n.o.Send(from, answer)
}

// takeBack takes tokens back that were not used.
func (n *Node) takeBack(from string, m *Message) {
	n.endLeases()
	id := leaseID{from, m.Process, m.Number}
	l, is := n.leases[id]
	if !is || m.Count < 0 || m.Count > l.count {
		return
	}
	delete(n.leases, id)
	if l.begun == l.bucket.begun {
		l.bucket.fill(n.now)
		l.bucket.leased -= l.count
		l.bucket.credit += m.Count * l.bucket.limit.token()
	}
}

// endLeases takes the tokens of leases that have ended for used.
func (n *Node) endLeases() {
	for id := range n.ending.due(n.now) {
		l, is := n.leases[id]
		if !is {
			continue
		}
		delete(n.leases, id)
		if l.begun == l.bucket.begun {
			l.bucket.fill(n.now)
			l.bucket.leased -= l.count
		}
	}
}
