package e2e

import (
	"errors"
	"testing"
	"time"
)

// TestOutage: requests that were lost one by one are no outage, many of them are.
func TestOutage(t *testing.T) {
	for _, c := range []struct {
		name   string
		failed []int // of 100 requests
		want   time.Duration
	}{
		{"none", nil, 0},
		{"one when an address goes, one when it is back", []int{3, 90}, 2 * probePause},
		{"five in a row", []int{10, 11, 12, 13, 14}, 5 * probePause},
		{"to the end", []int{97, 98, 99}, 3 * probePause},
		{"every second one", []int{10, 12, 14, 16, 18, 20}, 6 * probePause},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			all := make([]asked, 100)
			for i := range all {
				all[i].at = began.Add(time.Duration(i) * probePause)
			}
			for _, i := range c.failed {
				all[i].err = errors.New("reset")
			}
			failed, got, _ := outage(all)
			if failed != len(c.failed) || got != c.want {
				t.Errorf("%d failed, outage %v; want %d, %v", failed, got, len(c.failed), c.want)
			}
		})
	}
}
