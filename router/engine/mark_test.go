package engine

import (
	"testing"

	"github.com/fairlead/fairlead/router/plan"
)

// TestStartsFromMarkedFiles: a HAProxy that shows the mark of the first files serves before
// it is read, and is read at the next look, which reverts what differs.
func TestStartsFromMarkedFiles(t *testing.T) {
	inBubble(t, func(b *bench) {
		if b.haproxy.digests != 0 {
			t.Errorf("the state was read %d times before HAProxy served", b.haproxy.digests)
		}
		b.put("web", "web.test", "web")
		if !b.serves("web.test") {
			t.Error("a route is not served")
		}
		delete(b.haproxy.state.Entries, plan.Entry{Map: plan.MapHTTP, Key: "web.test/"})
		b.pass(2 * processCheck)
		if b.haproxy.digests == 0 || !b.serves("web.test") {
			t.Errorf("after the first look, with %d reads, web.test is served: %t", b.haproxy.digests, b.serves("web.test"))
		}
	})
}

// TestStartsFromOtherFiles: a HAProxy with another mark is read before it counts as up to date.
func TestStartsFromOtherFiles(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.put("web", "web.test", "web")
		b.stop()
		b.haproxy.state, b.haproxy.pid, b.haproxy.digests = plan.NewState(), 0, 0
		b.haproxy.notMarked = true
		b.start()
		if b.haproxy.digests == 0 || !b.serves("web.test") {
			t.Errorf("with %d reads, web.test is served: %t", b.haproxy.digests, b.serves("web.test"))
		}
	})
}
