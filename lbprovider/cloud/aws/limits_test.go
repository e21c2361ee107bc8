package aws

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestLimits: how many calls of each kind a second has at most, below what AWS
// allows, and half of that for a minute after a refusal.
func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	l := newLimits(func() time.Time { return now }, 0)
	const elb = "Elastic Load Balancing v2"
	for _, c := range []struct {
		service, action string
		rate            rate.Limit
		burst           int
	}{
		{elb, "DescribeTags", 10, 40},
		{elb, "RegisterTargets", 4, 20},
		{elb, "DeregisterTargets", 4, 20},
		{elb, "CreateListener", 3, 20},
		{"EC2", "DescribeSubnets", 10, 50},
		{"EC2", "CreateSecurityGroup", 2, 10},
		{"Route 53", "ListResourceRecordSets", 4, 8},
	} {
		b := l.of(c.service, c.action)
		if b.Limit() != c.rate || b.Burst() != c.burst {
			t.Errorf("%s %s: %v a second, burst %d; want %v, %d", c.service, c.action, b.Limit(), b.Burst(), c.rate, c.burst)
		}
	}
	b := l.of(elb, "CreateListener")
	b.slow(now)
	for after, want := range map[time.Duration]rate.Limit{0: 1.5, slowTime: 1.5} {
		if err := b.take(t.Context(), now.Add(after)); err != nil || b.Limit() != want {
			t.Errorf("%v after a refusal: %v a second, %v", after, b.Limit(), err)
		}
	}
	if err := b.take(t.Context(), now.Add(slowTime+time.Second)); err != nil || b.Limit() != 3 {
		t.Errorf("later: %v a second, %v", b.Limit(), err)
	}
}
