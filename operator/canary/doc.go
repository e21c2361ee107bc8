// Package canary finds out whether the routers' whole way works: a server on the
// nodes, behind a Route as any other, and a prober in the operator that asks it
// through the address that clients use.
//
// The objects of the canary are the operator's (package operator); here is what
// answers, what asks, and what follows from the answers.
package canary

import (
	"strconv"
	"time"
)

// The ports of the server, and their names in the Service. The Route leads to one
// of them, and may turn to the other: an answer of the wrong one shows routers
// that do not follow their Routes any more.
const (
	Port1 = 8443
	Port2 = 8888
)

// PortName is the name of a port in the Service, and so spec.port.targetPort of the
// Route.
func PortName(port int32) string { return strconv.Itoa(int(port)) + "-tcp" }

// What an answer must have, as that of OpenShift's canary.
const (
	headerPort = "X-Request-Port"
	answer     = "Healthcheck requested"
)

// Limits of one probe.
const (
	// probeTimeout bounds a probe, all of its addresses together.
	probeTimeout = 10 * time.Second
	// mostAddresses are asked in one probe; the next one begins where it ended.
	mostAddresses = 4
	// mostBody is read of an answer.
	mostBody = 1 << 10
	// mostHeader is read of an answer's header.
	mostHeader = 8 << 10
	// mostText is kept of an error: what the other side sends may be in it.
	mostText = 200
)

// DefaultInterval is the time between two probes while all is well.
const DefaultInterval = time.Minute

// FailuresToFail is how many probes in a row must fail until the canary counts as failing.
const FailuresToFail = 5

// SuccessesToRotate is how many probes of one port must succeed before the Route
// turns to the other one.
const SuccessesToRotate = 5
