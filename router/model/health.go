package model

import (
	"net/netip"
	"time"
)

// ProbeType is how an endpoint is asked whether it is healthy.
type ProbeType string

// The types of probes.
const (
	// ProbeTCP connects, and with TLS to the pod shakes hands.
	ProbeTCP ProbeType = "TCP"
	// ProbeHTTP sends a request.
	ProbeHTTP ProbeType = "HTTP"
	// ProbeGRPC calls Check of grpc.health.v1.
	ProbeGRPC ProbeType = "GRPC"
)

// Health is how the router finds out which endpoints of a backend answer. The router
// process asks, not HAProxy, so that routes which share endpoints share the answers.
type Health struct {
	Probe Probe
	// PanicPercent is the least share of healthy endpoints: with fewer, all of them get
	// requests. 0 means never.
	PanicPercent int
	// Passive says when errors of requests keep further ones from an endpoint; nil for never.
	Passive *Passive
}

// Passive says which errors of requests, within which time, keep further ones from an
// endpoint, and for how long.
type Passive struct {
	Errors int
	Within time.Duration
	// Connections, Answers and Statuses are what counts: see outlier.Errors.
	Connections, Answers, Statuses bool
	// Ejection is for how long, the first time; MostPercent how many of a backend's
	// endpoints at once, at most.
	Ejection    time.Duration
	MostPercent int
}

// Probe is what an endpoint is asked. Two endpoints of the same address and with equal
// probes are asked as one.
type Probe struct {
	Type ProbeType
	// Method, Path and Host are for HTTP. Without a host it is the endpoint's address.
	Method, Path, Host string
	// Service is the name that gRPC asks about, or empty for the whole server.
	Service string
	// Least and Most bound the statuses of HTTP that are healthy.
	Least, Most int
	// Port is asked in place of the endpoint's own, if it is not 0.
	Port uint16
	// Interval is the time between two probes, Timeout that for an answer.
	Interval, Timeout time.Duration
	// Rise and Fall are how many answers in a row change what is thought of an endpoint.
	Rise, Fall int
}

// ProbeTarget is an endpoint with what it is asked. Namespaces do not share targets: an
// address in an EndpointSlice is whatever its owner wrote there.
type ProbeTarget struct {
	Namespace string
	Address   netip.AddrPort
	Probe     Probe
	// TLS, HTTP2, H2C, CAID and VerifyHost are those of the server's options: a probe
	// trusts whom requests trust.
	TLS, HTTP2, H2C  bool
	CAID, VerifyHost string
}

// Targets calls a function for each server of a backend that is probed.
func (b *Backend) Targets(do func(s *Server, t ProbeTarget)) {
	if b.Health == nil {
		return
	}
	for i := range b.Servers {
		s := &b.Servers[i]
		if !s.Probed {
			continue
		}
		o, address := s.Options, s.Address
		if b.Health.Probe.Port != 0 {
			address = netip.AddrPortFrom(address.Addr(), b.Health.Probe.Port)
		}
		do(s, ProbeTarget{
			Namespace: b.Owner.Namespace, Address: address, Probe: b.Health.Probe,
			TLS: o.TLS, HTTP2: o.HTTP2, H2C: o.H2C, CAID: o.CAID, VerifyHost: o.VerifyHost,
		})
	}
}
