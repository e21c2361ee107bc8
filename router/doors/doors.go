// Package doors lists the front doors of the router. A further one is a folder
// beside router/door/route and a line here.
package doors

import (
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/gateway"
	"github.com/fairlead/fairlead/router/door/route"
)

// All returns the front doors.
func All() []door.Door {
	return []door.Door{
		route.Door{},
		gateway.Gateways{},
		gateway.ListenerSets{},
		gateway.HTTPRoutes{},
		gateway.GRPCRoutes{},
		gateway.TLSRoutes{},
		gateway.TCPRoutes{},
		gateway.UDPRoutes{},
		gateway.BackendTLSPolicies{},
	}
}
