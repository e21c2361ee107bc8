package settings

import (
	"cmp"

	operatorv1 "github.com/openshift/api/operator/v1"
)

// DefaultMaxConnections is the limit of concurrent connections of one router
// where spec.tuningOptions.maxConnections says nothing.
const DefaultMaxConnections = 20000

// DefaultRoutes is how many routes the memory limits have room for.
const DefaultRoutes = 20000

// Sizes that limits are computed from, in bytes. They are upper bounds of what
// docs/benchmarks.md measures, with room for the worst kind of route or client.
const (
	kib, mib = int64(1 << 10), int64(1 << 20)

	haproxyBase       = 128 * mib // program, threads, counters of limits
	haproxyRoute      = 20 * kib  // backend, servers, keys, certificate
	haproxyConnection = 48 * kib  // TLS on both sides, HTTP/2; buffers come on top
	buffersPerRequest = 4         // one for each direction, twice where TLS ends here
	routerBase        = 128 * mib
	routerRoute       = 16 * kib // what docs/benchmarks.md sees at a start, doubled
	filesBase         = 64 * mib
	filesRoute        = 16 * kib // configuration, key, certificate with chain
	// Last good versions, revocation lists and settings have limits of their own,
	// 68 MiB together; one of them is there twice while it is replaced.
	stateSize = 128 * mib
)

// Memory bounds what the containers of a router may use, in bytes.
type Memory struct {
	// HAProxy is the limit of the container of that name; 0 is no limit, because
	// the number of connections has none.
	HAProxy int64
	// Router is the limit of the router's container. It includes Files, which are
	// in memory and count where they are written, and State.
	Router int64
	// Files is the size of the folder that both share.
	Files int64
	// State is the size of the folder of what the router keeps for its next
	// process. It is in memory, too, and in Router.
	State int64
}

// MemoryOf computes the limits of a router for a number of routes. The formula
// is in docs/operator/resources.md.
//
// Two HAProxy workers hold the routes after a reload: the old one until its last
// request ends. Connections are either the one's or the other's.
func MemoryOf(spec *operatorv1.IngressControllerSpec, routes int) Memory {
	n := int64(routes)
	m := Memory{Files: filesBase + n*filesRoute, State: stateSize}
	m.Router = routerBase + n*routerRoute + m.Files + m.State
	connections := int64(cmp.Or(spec.TuningOptions.MaxConnections, DefaultMaxConnections))
	if connections < 0 {
		return m
	}
	buffer := int64(cmp.Or(max(spec.TuningOptions.HeaderBufferBytes, 0), defaultBuffer))
	m.HAProxy = haproxyBase + 2*n*haproxyRoute + connections*(haproxyConnection+buffersPerRequest*buffer)
	return m
}
