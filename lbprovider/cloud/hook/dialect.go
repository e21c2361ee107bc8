package hook

import "time"

// Dialect translates between values and the annotations of a Service that a
// cloud's controllers read, for a program that makes such a Service and knows no
// cloud. Its methods are pure.
type Dialect interface {
	// Platform is the only platform whose parameters the hook understands, such as
	// "AWS"; empty for any.
	Platform() string
	// Annotations returns the annotations that ask for a load balancer.
	Annotations(w Wish) map[string]string
	// Front reads annotations, whether Annotations or a user wrote them.
	Front(annotations map[string]string) Front
}

// Wish is what a Service asks of its load balancer.
type Wish struct {
	Scheme Scheme
	// Detailed means that parameters of a platform were given, if only empty ones.
	Detailed bool
	// ProxyProtocol means that the load balancer announces clients by the PROXY
	// protocol, instead of keeping their addresses.
	ProxyProtocol bool
	// Allocations are reserved addresses, by their ids.
	Allocations []string
	// Subnets are ids or names.
	Subnets []string
	// SecurityGroups are ids.
	SecurityGroups []string
	// IdleTimeout is how long idle connections are kept, rounded to seconds; 0 for
	// the cloud's default.
	IdleTimeout time.Duration
}

// Front is what clients and pods meet at a load balancer.
type Front struct {
	// EndsTLS means that it ends TLS on the port of HTTPS.
	EndsTLS bool
	// Reuses is how long it sends requests on an idle connection to a pod; 0 if it
	// sends none by itself.
	Reuses time.Duration
	// SecurityGroups are ids.
	SecurityGroups []string
}

// NoDialect is the Dialect where there is no cloud.
type NoDialect struct{}

// Platform implements Dialect.
func (NoDialect) Platform() string { return "" }

// Annotations implements Dialect.
func (NoDialect) Annotations(Wish) map[string]string { return nil }

// Front implements Dialect.
func (NoDialect) Front(map[string]string) Front { return Front{} }
