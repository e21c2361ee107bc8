package liveness

import (
	"bytes"
	"time"
)

const (
	// spreadCheck is how often to look whether the others are being told what
	// this speaker says of itself.
	spreadCheck = time.Second
	// spreadWait is how long to wait until the others have heard: not at all. What
	// changes next must not wait for it.
	spreadWait = time.Millisecond
)

// spread tells the others what this speaker says of itself. Only one goroutine
// may: memberlist reads it first and numbers it afterwards, so that of two at a
// time the older could get the higher number and stay. And memberlist forgets
// an update while it refutes that this speaker is dead; so what it tells is
// compared with what it should.
func (g *Gossip) spread() {
	tick := time.NewTicker(spreadCheck)
	defer tick.Stop()
	for {
		select {
		case <-g.done:
			return
		case <-g.news:
		case <-tick.C:
		}
		if !bytes.Equal(g.roster.list()[g.opts.NodeName].meta, delegate{g}.NodeMeta(metaLimit)) {
			_ = g.list.UpdateNode(spreadWait) // that not everybody has heard yet is no error
		}
	}
}
