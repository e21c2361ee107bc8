package effective

import (
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Defaults are what IngressControllers get that leave it open, and what the
// operator as a whole decides about them.
type Defaults struct {
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
	// RouterLog are the flags of the routers about their log. A change is a rollout.
	RouterLog []string
	// CloudClass is the load-balancer class of the cloud hook that runs in this
	// operator (package lbprovider/cloud/controller); empty for none.
	CloudClass string
	// Dialect writes and reads the annotations of Services that a cloud serves, also
	// where no hook runs in this operator any more; nil for none.
	Dialect hook.Dialect
	// DNS says that the operator publishes the names of DNSRecords (package
	// operator/dns); else their conditions say that the administrator must.
	DNS bool
	// DNSByService leaves names to an external-dns that reads Services: it is
	// asked by annotations of the load-balancer Service. Not together with DNS.
	DNSByService bool
	// DNSBaseDomain is the domain that names are published in; other names are
	// not published. By default that of dns.config.openshift.io/cluster,
	// where there is one.
	DNSBaseDomain string
	// DNSZones says that the administrator named the zones, so that the
	// cluster's domain does not matter.
	DNSZones bool
	// DNSTTL is how long resolvers may keep a published name, in whole seconds;
	// the default is 30 seconds, as in OpenShift.
	DNSTTL time.Duration
}
