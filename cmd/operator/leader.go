package main

import (
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead/fairlead/api"
)

// The times of the Lease by which one replica of the operator works, and another takes over.
// While no replica does, EndpointSlices of Gateways still lead to router pods that have failed.
//
// A replica that does not lead looks at the Lease each retryPeriod, or up to 2.2 times as
// long (client-go's jitter), and counts leaseDuration from when it saw the last renewal: it
// leads at the latest leaseDuration and two looks after its predecessor was killed.
const (
	leaseDuration = 7 * time.Second
	// renewDeadline is how long the leading replica tries before it gives up, which ends
	// the process: the API server may be as slow as that.
	renewDeadline = 5 * time.Second
	retryPeriod   = 500 * time.Millisecond
)

// leaderElection sets in the options of a manager that one replica works.
func leaderElection(o *ctrl.Options, elect bool) {
	o.LeaderElection = elect
	o.LeaderElectionID = "fairlead-operator"
	o.LeaderElectionNamespace = api.OperatorNamespace
	// After an orderly end another replica leads with its next look.
	o.LeaderElectionReleaseOnCancel = true
	o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = new(leaseDuration), new(renewDeadline), new(retryPeriod)
}
