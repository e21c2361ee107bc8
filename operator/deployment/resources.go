package deployment

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/operator/effective"
)

// logsSize bounds the folder of the log's socket: nothing else is in it.
const logsSize = 1 << 20

// socketsSize bounds the folder of HAProxy's sockets.
const socketsSize = 1 << 20

// logsMemory bounds the process that prints the access log.
const logsMemory = 64 << 20

// agentMemory is for a supervisor and two workers, agentStateSize for the snapshot, what issuers said (4 MiB) and
// its next version, which count as memory of the container.
const (
	agentMemory    = 320 << 20
	agentStateSize = 40 << 20
)

// firewallMemory is for the compiled rules and the requests that wait: 60 to 100 MiB.
const firewallMemory = 160 << 20

// goMemory limits what the router's garbage collector may use: the limit of
// its container without the files that count there as well.
func goMemory(s effective.Spec) corev1.EnvVar {
	return corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(s.Memory.Router-s.Memory.Files-s.Memory.State, 10)}
}
