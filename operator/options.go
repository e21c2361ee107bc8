package operator

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// Options are the settings of the operator as a whole.
type Options struct {
	// Domain is the domain of IngressControllers without spec.domain, such as
	// "apps.example.com". Without it, such IngressControllers are refused.
	Domain string
	// RouterImage is the container image of the routers.
	RouterImage string
	// HAProxyVersion is the version of HAProxy in that image; the default is 3.4.
	HAProxyVersion string
	// HAProxyImages are the router's images with other versions of HAProxy, by
	// version, for IngressControllers that ask for one.
	HAProxyImages map[string]string
	// Routes is how many routes the memory limits of a router have room for; the
	// default is settings.DefaultRoutes.
	Routes int
	// CloudClass is the load-balancer class of the cloud hook that runs in this
	// operator (package lbprovider/cloud/controller); empty for none.
	CloudClass string
	// DNS says that the operator publishes the names of DNSRecords (package
	// operator/dns); else their conditions say that somebody else must.
	DNS bool
	// DNSByService leaves names to an external-dns that reads Services: it is
	// asked by annotations of the load-balancer Service. Not together with DNS.
	DNSByService bool
	// DNSBaseDomain is the domain that names are published in; other names are
	// left to somebody else. By default that of dns.config.openshift.io/cluster,
	// where there is one.
	DNSBaseDomain string
	// DNSZones says that the administrator named the zones, so that the
	// cluster's domain does not matter.
	DNSZones bool
	// DNSTTL is how long resolvers may keep a published name, in whole seconds;
	// the default is 30 seconds, as in OpenShift.
	DNSTTL time.Duration
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
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}
