package speaker

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// thisNode reads the Node object of the node that the speaker is on.
func (b *bgpProtocol) thisNode(ctx context.Context) (*corev1.Node, error) {
	var node corev1.Node
	if err := b.client.Get(ctx, types.NamespacedName{Name: b.node}, &node); err != nil {
		return nil, fmt.Errorf("get this node: %w", err)
	}
	return &node, nil
}

func nodeAddresses(n *corev1.Node) []netip.Addr {
	var out []netip.Addr
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if addr, err := netip.ParseAddr(a.Address); err == nil {
			out = append(out, addr.Unmap())
		}
	}
	return out
}

// leaving says whether the node is about to go, or is to take no more work: a
// user who stops its speaker then hardly starts another one soon.
func leaving(n *corev1.Node) bool {
	if n.DeletionTimestamp != nil || n.Spec.Unschedulable || drained(n) {
		return true
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeOutOfService {
			return true
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue && strings.Contains(c.Message, "shutting down") {
			return true
		}
	}
	return false
}
