package cases

import (
	"github.com/fairlead/fairlead/router/haproxy"
)

// workerPID asks HAProxy for its process.
func workerPID(b *bed) (int, error) {
	rt := haproxy.NewRuntime(b.layout, b.caps)
	info, err := rt.Info()
	return info.PID, err
}
