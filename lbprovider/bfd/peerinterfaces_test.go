package bfd

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

// TestLeads: packets are taken by the ways to the peer, which are looked at once a
// second; where there is none any more, the last ones count.
func TestLeads(t *testing.T) {
	t.Parallel()
	looks := 0
	ways, failed := []int{2, 3}, error(nil)
	l := &peerInterfaces{indexes: func(netip.Addr, string) ([]int, error) {
		looks++
		return ways, failed
	}}
	now := time.Unix(1, 0)
	check := func(index int, want bool, wantLooks int) {
		t.Helper()
		if got := l.contains(index, now); got != want || looks != wantLooks {
			t.Errorf("interface %d: %v after %d looks, want %v after %d", index, got, looks, want, wantLooks)
		}
	}
	check(2, true, 1)
	check(3, true, 1)
	check(7, false, 1) // a stranger's, however many there are
	check(7, false, 1)
	ways = []int{7}
	check(2, true, 1)
	now = now.Add(routeCheckInterval)
	check(2, false, 2)
	check(7, true, 2)
	failed = errors.New("no route")
	now = now.Add(routeCheckInterval)
	check(7, true, 3)
	check(2, false, 3)
}
