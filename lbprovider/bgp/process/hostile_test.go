package process_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// atOnce is how many hostile routers there are at a time.
const atOnce = 64

// TestHostilePeers has routers say everything that none should say, while a
// session with another router stands: it must not end, whatever happens to the
// attacked ones, and each of those must come back when its router behaves.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	n := newNode(t, "session")
	good := newRouter(t)
	n.add(bgp.Session{Peer: good.peer("good"), Routes: []bgp.Route{{Prefix: netip.MustParsePrefix("198.18.9.1/32")}}})
	since := n.up("good").Since

	all := attacks()
	if testing.Short() {
		all = slices.Concat(advisories(), opens()[:8], mistyped()[:8])
	}
	next := make(chan attack)
	var mu sync.Mutex
	var crashed []string
	var working sync.WaitGroup
	for i := range atOnce {
		working.Go(func() {
			for a := range next {
				why, err := n.suffer(t, fmt.Sprint("bad", i), a)
				if err != nil {
					t.Errorf("%s, %s: %v", a.name, a.phase, err)
				}
				if why != "" {
					mu.Lock()
					crashed = append(crashed, fmt.Sprintf("%s, %s: %s", a.name, a.phase, why))
					mu.Unlock()
				}
			}
		})
	}
	for _, a := range all {
		next <- a
	}
	close(next)
	working.Wait()

	after := n.status("good")
	if !after.Up() || !after.Since.Equal(since) || after.Failures != 0 || good.connections() != 1 {
		t.Errorf("the other session is %+v, was established at %v, and took %d connections", after, since, good.connections())
	}
	slices.Sort(crashed)
	t.Logf("%d of %d attacks ended a process:\n%s", len(crashed), len(all), strings.Join(crashed, "\n"))
}

// suffer has one router attack its session, and waits until that is up again. It
// returns why its process ended, if it did.
func (n *node) suffer(t *testing.T, name string, a attack) (crash string, err error) {
	bad := newRouter(t)
	bad.attack = &a
	n.add(bgp.Session{Peer: bad.peer(name)})
	defer bad.listener.Close()
	defer n.remove(name)
	<-bad.done
	st, err := n.becomes(name, "up again", func(st bgp.Status) bool {
		if st.Failures > 0 && strings.Contains(st.Problem, "process") {
			crash = st.Problem
		}
		if st.Problem != terminal.Line(st.Problem) {
			t.Errorf("%s: the problem is not printable: %q", a.name, st.Problem)
		}
		return st.Up() && bad.connections() > 1
	})
	if st.Failures > 0 {
		crash = cmp.Or(crash, "its process ended")
	}
	return crash, err
}
