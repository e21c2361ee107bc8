package liveness

import (
	"bytes"
	"time"
)

const (
	// publishCheck is how often to look whether the others are sent what
	// this speaker says of itself.
	publishCheck = time.Second
	// publishWait is how long to wait until the others have received it: not at all. What
	// changes next must not wait for it.
	publishWait = time.Millisecond
)

// publish sends the others what this speaker says of itself. Only one goroutine
// may: memberlist reads it first and numbers it afterwards, so that of two at a
// time the older could get the higher number and stay. And memberlist forgets
// an update while it refutes that this speaker is dead; so what it sends is
// compared with what it should.
func (g *Gossip) publish() {
	tick := time.NewTicker(publishCheck)
	defer tick.Stop()
	for {
		select {
		case <-g.done:
			return
		case <-g.metaChanged:
		case <-tick.C:
		}
		if !bytes.Equal(g.table.list()[g.opts.NodeName].meta, delegate{g}.NodeMeta(metaLimit)) {
			_ = g.list.UpdateNode(publishWait) // it is no error that some have not received it yet
		}
	}
}
