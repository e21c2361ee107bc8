package speaker

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/bgp"
)

// TestBFDPause: who is lost again and again waits longer and longer.
func TestBFDPause(t *testing.T) {
	t.Parallel()
	w, now := &watchedPeer{}, time.Unix(1_700_000_000, 0)
	for i, step := range []struct{ after, want time.Duration }{
		{0, time.Second},
		{10 * time.Second, 2 * time.Second},
		{10 * time.Second, 4 * time.Second},
		{bfdMemory, 8 * time.Second},
		{bfdMemory + 1, time.Second},
		{time.Second, 2 * time.Second},
		{time.Second, 4 * time.Second},
		{time.Second, 8 * time.Second},
		{time.Second, 16 * time.Second},
		{time.Second, bfdPauseLimit},
		{time.Second, bfdPauseLimit},
	} {
		now = now.Add(step.after)
		if got := w.next(now); got != step.want {
			t.Errorf("loss %d, %v after the last: pause %v, want %v", i, step.after, got, step.want)
		}
	}
}

// TestLeaving: routes stay with a router over the restart of a speaker, not over
// the end of its node.
func TestLeaving(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	for name, tt := range map[string]struct {
		change func(*corev1.Node)
		want   bool
	}{
		"at work":        {func(*corev1.Node) {}, false},
		"not ready":      {func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"cordoned":       {func(n *corev1.Node) { n.Spec.Unschedulable = true }, true},
		"deleted":        {func(n *corev1.Node) { n.DeletionTimestamp = &now }, true},
		"drained":        {func(n *corev1.Node) { n.Annotations = map[string]string{api.AnnotationDrain: "new memory"} }, true},
		"out of service": {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService}} }, true},
		"another taint":  {func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu"}} }, false},
		"is shutting down": {func(n *corev1.Node) {
			n.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Message: "node is shutting down"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
			tt.change(n)
			if got := leaving(n); got != tt.want {
				t.Errorf("leaving: %v", got)
			}
		})
	}
}

// TestRouterAt: a session's process cannot aim BFD at another router.
func TestRouterAt(t *testing.T) {
	t.Parallel()
	configured, other := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")
	near, elsewhere := netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("fe80::1%eth1")
	for _, c := range []struct {
		peer           bgp.Peer
		reported, want netip.Addr
	}{
		{bgp.Peer{Address: configured}, other, configured},
		{bgp.Peer{Address: configured}, netip.Addr{}, configured},
		{bgp.Peer{Interface: "eth0"}, near, near},
		{bgp.Peer{Interface: "eth0"}, elsewhere, netip.Addr{}},
		{bgp.Peer{Interface: "eth0"}, other, netip.Addr{}},
	} {
		if got := routerAt(bgp.Status{Peer: c.peer, Address: c.reported}); got != c.want {
			t.Errorf("%+v reports %v: got %v, want %v", c.peer, c.reported, got, c.want)
		}
	}
}
