package service

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
)

// Node is what a Node object says of whether the node may announce.
type Node struct {
	Name                      string
	Labels                    labels.Set
	Ready, NetworkUnavailable bool
	// Excluded says that it has the label that keeps it out.
	Excluded bool
	// Drained says that a user wants its addresses moved away.
	Drained bool
}

// ReadNode reads a Node object.
func ReadNode(n *corev1.Node) Node {
	_, excluded := n.Labels[api.LabelExcludeFromLoadBalancers]
	return Node{
		Name: n.Name, Labels: labels.Set(n.Labels), Excluded: excluded, Drained: drained(n),
		Ready:              condition(n, corev1.NodeReady) == corev1.ConditionTrue,
		NetworkUnavailable: condition(n, corev1.NodeNetworkUnavailable) == corev1.ConditionTrue,
	}
}

func drained(n *corev1.Node) bool {
	for _, where := range []map[string]string{n.Annotations, n.Labels} {
		if note, ok := where[api.AnnotationDrain]; ok && note != "false" {
			return true
		}
	}
	return false
}

func condition(n *corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
