package snapshot

import (
	"bytes"
	"net/netip"
	"slices"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// Counted is a limit of requests that all replicas of a router count together.
type Counted struct {
	// ID is the same on all replicas, and changes with the limit.
	ID       string        `json:"id"`
	Requests int64         `json:"requests"`
	Per      time.Duration `json:"per"`
	Burst    int64         `json:"burst"`
	// By is what is counted together: Address, Header, Cookie, Query, Host, None, Consumer or
	// Claim.
	By string `json:"by"`
	// Name is that of the header, cookie, parameter or claim.
	Name string `json:"name,omitempty"`
	// Bits of an IPv6 address count.
	Bits int `json:"bits,omitempty"`
	// Exempt clients are not counted.
	Exempt []netip.Prefix `json:"exempt,omitempty"`
	// Match are the requests that are counted; nil is all.
	Match *model.RequestMatch `json:"match,omitempty"`
	// Status of refused requests is 429 or 503.
	Status int `json:"status"`
	// Headers are Draft, Legacy or None, and Title the name that they have.
	Headers string `json:"headers,omitempty"`
	Title   string `json:"title,omitempty"`
	// DryRun refuses nothing.
	DryRun bool `json:"dryRun,omitempty"`
}

// MaxCounted is how many limits a policy has.
const MaxCounted = 8

// Replicas are the routers of an IngressController, whose agents count together.
type Replicas struct {
	// Self is the address of this one, and Members are those of all.
	Self    netip.Addr   `json:"self"`
	Members []netip.Addr `json:"members"`
	// Port is that of the first worker; the second one has the next.
	Port int `json:"port"`
	// Certificates are those that routers show each other, the oldest first: PEM with keys.
	Certificates [][]byte `json:"certificates"`
}

// Equal reports whether two are the same.
func (r *Replicas) Equal(o *Replicas) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Self == o.Self && r.Port == o.Port && slices.Equal(r.Members, o.Members) && slices.EqualFunc(r.Certificates, o.Certificates, bytes.Equal)
}
