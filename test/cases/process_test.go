package cases

import (
	"github.com/fairlead/fairlead/router/haproxy"
)

// workerPID asks HAProxy for its process.
func workerPID(b *bed) (int, error) {
	rt, err := haproxy.NewRuntime(b.layout, b.caps)
	if err != nil {
		return 0, err
	}
	info, err := rt.Info()
	return info.PID, err
}
