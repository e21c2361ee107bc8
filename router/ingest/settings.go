package ingest

import (
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Settings are what an IngressController, or the command line, says about all
// routes of one router.
type Settings struct {
	// RouterName is the name of the IngressController.
	RouterName string
	// Domain completes routes that have only a subdomain; may be empty.
	Domain string
	// WildcardsAllowed admits routes with wildcardPolicy Subdomain.
	WildcardsAllowed bool
	// InterNamespace lets several namespaces share a host with different paths.
	InterNamespace bool
	// Forwarded is what happens to forwarded headers unless a route says
	// otherwise; empty means append.
	Forwarded model.Forwarded
	// Balance shares the requests of HTTP routes with one weighted service
	// unless a route says otherwise; empty means random.
	Balance model.Balance
	// CheckInterval is the time between health checks unless a route says
	// otherwise; zero means 5s.
	CheckInterval time.Duration
	// NamespaceChecks is how many health checks a second the routes of a
	// namespace may cost; zero means the constant of that name.
	NamespaceChecks int
	// HeaderBytes is what the header actions of a route may add up to in one
	// direction; zero means 8192.
	HeaderBytes int
	// MaxRSABits is the length of the longest RSA key that a route may bring;
	// zero means 4096.
	MaxRSABits int
	// MaxCertificateBytes is how long the PEM text of a route's certificate may
	// be, with chain and key; 0 is no limit. It is what HAProxy's version takes.
	MaxCertificateBytes int
	// HTTP2 offers HTTP/2 to clients of hosts whose certificate no other host
	// has, and to pods behind re-encrypt routes.
	HTTP2 bool
	// DestinationCA must have signed the certificates of pods behind
	// re-encrypt routes that bring no CA of their own, for the name
	// SERVICE.NAMESPACE.svc. Without it such pods are not verified; one with
	// an empty ID could not be read, and such routes are refused.
	DestinationCA *model.CA
}

// serviceRef is one backend reference of a route.
type serviceRef struct {
	key    model.Key
	field  string
	weight int
}
