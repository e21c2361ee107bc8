package operator

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// logsSize bounds the folder of the log's socket: nothing else is in it.
const logsSize = 1 << 20

// socketsSize bounds the folder of HAProxy's sockets.
const socketsSize = 1 << 20

// logsMemory bounds the process that prints the access log.
const logsMemory = 64 << 20

// limited are requests with a limit of memory; 0 is none. There is no limit of
// CPU: it would stop a router for the rest of each 100 ms that it has used up,
// which clients see as latency. Requests share what nodes have fairly.
func limited(cpu, memory string, limit int64) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}}
	if limit > 0 {
		limit = max(limit, r.Requests.Memory().Value())
		r.Limits = corev1.ResourceList{corev1.ResourceMemory: mebibytes(limit)}
	}
	return r
}

// mebibytes rounds up to whole MiB, which kubectl prints readably.
func mebibytes(bytes int64) resource.Quantity {
	const mib = 1 << 20
	return *resource.NewQuantity((bytes+mib-1)/mib*mib, resource.BinarySI)
}

// goMemory tells the router's garbage collector what it may use: the limit of
// its container without the files that count there as well.
func goMemory(s settings) corev1.EnvVar {
	return corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(s.memory.Router-s.memory.Files-s.memory.State, 10)}
}
