package controller_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestExcluded: a node that must not be a target any more leaves without the
// pause in which other changes are gathered, here an hour; when the last one
// has left, an event says so. A failed call for it is told as such.
func TestExcluded(t *testing.T) {
	b := newBed(t)
	b.options.Quiet, b.options.Patience = time.Hour, time.Hour
	for n := range 3 {
		b.node(n)
	}
	defer b.start()()
	s := b.service("router-default", nil)
	b.settled(s, 3)
	exclude := func(n int) {
		node := &corev1.Node{}
		must(t, b.Get(t.Context(), client.ObjectKey{Name: fmt.Sprintf("node-%03d", n)}, node))
		node.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: ""}
		must(t, b.Update(t.Context(), node))
	}
	targets := func(n int) func() string {
		return func() string {
			for _, l := range b.cloud.Balancers()[0].Listeners {
				if len(l.Group.Targets) != n {
					return fmt.Sprintf("port %d has the targets %v, want %d", l.Port, l.Group.Targets, n)
				}
			}
			return ""
		}
	}
	exclude(0)
	b.eventually(targets(2))
	b.eventually(func() string { return b.hasEvent(s, "UpdatedLoadBalancer", "2 deregistered") })
	b.calm() // else it is a pass over everything that fails

	b.cloud.Script(fakeaws.Fault{Action: "DeregisterTargets", Count: 1, Effect: fakeaws.Refuse(400, "TooManyTargets", "by the script")})
	exclude(1)
	b.eventually(func() string { return b.hasEvent(s, "UpdateLoadBalancerFailed", "QuotaExceeded") })
	b.cloud.Heal()
	// The failure is waited for, unless the Service changes.
	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(s), s))
	s.Annotations["service.beta.kubernetes.io/aws-load-balancer-healthcheck-interval"] = "30"
	must(t, b.Update(t.Context(), s))
	b.eventually(targets(1))
	exclude(2)
	b.eventually(targets(0))
	b.eventually(func() string { return b.hasEvent(s, "UnAvailableLoadBalancer", "no available nodes") })
}
