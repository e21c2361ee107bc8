package engine

import (
	"fmt"
	"testing"
	"time"
)

// TestAnswerSeries: 200 routes have series of their own, 50 of a namespace at most; one
// that was refused nothing for a while makes room.
func TestAnswerSeries(t *testing.T) {
	t.Parallel()
	var a answers
	now := time.Unix(1_800_000_000, 0)
	forgotten := 0
	series := func(backend string) routeName {
		return a.series(backend, now, func(routeName) { forgotten++ })
	}
	other := routeName{otherRoute, otherRoute}
	own := func(namespaces, routes int) (n int) {
		for i := range namespaces {
			for j := range routes {
				if series(fmt.Sprintf("be_http:ns-%d:route-%d:hash", i, j)) != other {
					n++
				}
			}
		}
		return n
	}
	if n := own(1, 100); n != mostAnsweredOf {
		t.Errorf("%d routes of one namespace", n)
	}
	if n := own(10, 100); n != mostAnswered || len(a.routes) != mostAnswered {
		t.Errorf("%d routes", n)
	}
	if got := series("be_edge_http:late:shop:hash"); got != other || forgotten != 0 {
		t.Errorf("%v, %d forgotten", got, forgotten)
	}
	now = now.Add(answeredIdle - time.Second)
	own(1, 1)
	now = now.Add(2 * time.Second)
	if got := series("be_edge_http:late:shop:hash"); got != (routeName{"late", "shop"}) || forgotten != mostAnswered-1 {
		t.Errorf("%v, %d forgotten", got, forgotten)
	}
	if got := series(""); got != other {
		t.Errorf("without a backend: %v", got)
	}
}
