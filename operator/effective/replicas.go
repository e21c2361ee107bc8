package effective

import (
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
)

// replicasOf returns the wish, else 1 where only one node can run routers, else 2.
func replicasOf(ic *operatorv1.IngressController, nodes int) int32 {
	if ic.Spec.Replicas != nil {
		return *ic.Spec.Replicas
	}
	if nodes == 1 {
		return 1
	}
	return 2
}

// eligibleNodes counts the nodes that routers may run on. States that pass,
// such as a cordon or a missing heartbeat, do not count against a node:
// otherwise a drain of one of two nodes would remove a replica for good.
func eligibleNodes(nodes []corev1.Node, selector map[string]string, tolerations []corev1.Toleration) int {
	count := 0
	for _, n := range nodes {
		if matchesLabels(n.Labels, selector) && toleratesAll(n.Spec.Taints, tolerations) {
			count++
		}
	}
	return count
}

func matchesLabels(labels, selector map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func toleratesAll(taints []corev1.Taint, tolerations []corev1.Toleration) bool {
	for _, t := range taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule || passing(t.Key) {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(x corev1.Toleration) bool { return tolerates(x, t) }) {
			return false
		}
	}
	return true
}

// tolerates is the scheduler's rule: an empty key with Exists matches every
// taint, an empty effect every effect.
func tolerates(x corev1.Toleration, t corev1.Taint) bool {
	if x.Effect != "" && x.Effect != t.Effect {
		return false
	}
	if x.Operator == corev1.TolerationOpExists {
		return x.Key == "" || x.Key == t.Key
	}
	return x.Key == t.Key && x.Value == t.Value
}

// passing reports whether Kubernetes itself sets and removes the taint as the
// state of the node changes.
func passing(key string) bool {
	switch key {
	case corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
		corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure, corev1.TaintNodePIDPressure,
		corev1.TaintNodeNetworkUnavailable:
		return true
	}
	return false
}
