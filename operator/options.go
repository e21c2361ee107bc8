package operator

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/operator/effective"
)

// Options are the settings of the operator as a whole.
type Options struct {
	Defaults effective.Defaults
	// CanaryImage is the container image of the canary's server, whose
	// /usr/bin/operator is this program. Without it there is no canary.
	CanaryImage string
	// CanaryInterval is the time between two probes; the default is a minute.
	CanaryInterval time.Duration
	// CanaryDial opens connections to the canary; the default is that of the system.
	CanaryDial func(ctx context.Context, network, address string) (net.Conn, error)
	// ClusterPoll is how often to look whether the cluster has the kinds for its
	// TLS profile and for Prometheus, until it has; the default is 15 seconds.
	ClusterPoll time.Duration
	// Now returns the time; the default is time.Now.
	Now func() time.Time
	// Log receives what the operator does; the default is slog.Default.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.ClusterPoll == 0 {
		o.ClusterPoll = defaultClusterPoll
	}
	if o.Defaults.Dialect == nil {
		o.Defaults.Dialect = hook.NoDialect{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}
