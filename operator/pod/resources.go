package pod

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Limited are requests with a limit of memory; 0 is none. There is no limit of
// CPU: it would stop a router for the rest of each 100 ms that it has used up,
// which clients see as latency. Requests share what nodes have fairly.
func Limited(cpu, memory string, limit int64) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}}
	if limit > 0 {
		limit = max(limit, r.Requests.Memory().Value())
		r.Limits = corev1.ResourceList{corev1.ResourceMemory: Mebibytes(limit)}
	}
	return r
}

// Mebibytes rounds up to whole MiB, which kubectl prints readably.
func Mebibytes(bytes int64) resource.Quantity {
	const mib = 1 << 20
	return *resource.NewQuantity((bytes+mib-1)/mib*mib, resource.BinarySI)
}
