package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Limits bound what clients may send, and how much. They count for each router
// replica, but for requests with the scope Shared.
//
// +kubebuilder:validation:MinProperties=1
type Limits struct {
	// requests are rates. A request must be within all of them. Of scope Replica, at
	// most 2 have the keys Consumer and Claim, and at most 4 others.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Requests []RequestLimit `json:"requests,omitempty"`
	// concurrent bounds the requests that are under way at the same time.
	// +optional
	Concurrent *ConcurrentLimit `json:"concurrent,omitempty"`
	// body bounds the bodies of requests.
	// +optional
	Body *BodyLimit `json:"body,omitempty"`
	// headerBytes bounds the headers of a request, in bytes; larger ones get 431.
	//
	// +optional
	// +kubebuilder:validation:Minimum=256
	// +kubebuilder:validation:Maximum=1048576
	HeaderBytes int32 `json:"headerBytes,omitempty"`
	// uriBytes bounds path and query of a request, in bytes; longer ones get 414.
	//
	// +optional
	// +kubebuilder:validation:Minimum=16
	// +kubebuilder:validation:Maximum=1048576
	URIBytes int32 `json:"uriBytes,omitempty"`
}

// LimitKey says what is counted together.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) == (self.type in ['Header', 'Cookie', 'Query', 'Claim'])",message="name is for Header, Cookie, Query and Claim, which need it"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.type == 'Claim' || self.name.matches('^[A-Za-z0-9!#$%&\\x27*+.^_`|~-]+$')",message="name must be a token of RFC 9110"
// +kubebuilder:validation:XValidation:rule="!has(self.ipv6Prefix) || self.type == 'Address'",message="ipv6Prefix is for Address"
type LimitKey struct {
	// type is Address (the client's), Header, Cookie or Query (a parameter of the
	// URL), Host, or None for one count of all requests. A request without the header,
	// cookie or parameter is counted by its address.
	//
	// Consumer and Claim count after authentication: by who the
	// client is (the user of basic, the owner of the key of apiKeys, the claim sub of jwt
	// and oidc), or by a claim of its token. A client without is counted by its address.
	//
	// +required
	// +kubebuilder:validation:Enum=Address;Header;Cookie;Query;Host;None;Consumer;Claim
	Type string `json:"type"`
	// name is that of the header, cookie, parameter or claim; of claims within others with
	// dots between.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`
	// ipv6Prefix is how many bits of an IPv6 address count, a multiple of 4. The
	// default is 64.
	//
	// +optional
	// +kubebuilder:validation:Minimum=48
	// +kubebuilder:validation:Maximum=128
	// +kubebuilder:validation:MultipleOf=4
	IPv6Prefix int32 `json:"ipv6Prefix,omitempty"`
}

// RequestLimit admits a number of requests in a time, and a burst at once (the
// generic cell rate algorithm). Refused requests do not count.
//
// +kubebuilder:validation:XValidation:rule="!has(self.burst) || self.burst <= 100 * self.requests",message="burst must be from 1 to 100 times requests"
// +kubebuilder:validation:XValidation:rule="!has(self.burst) || !has(self.per) || !self.per.matches('^[0-9]{1,5}[smh]$') || self.burst * duration(self.per).getSeconds() <= 86400 * self.requests",message="a burst must be earned again within 24h"
type RequestLimit struct {
	// name stands in the RateLimit headers of answers.
	//
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// requests is how many are admitted in the time per.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Requests int32 `json:"requests"`
	// per is the time, 1s to 24h, in s, m or h. The default is 1s.
	//
	// +optional
	// +kubebuilder:default="1s"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,5}[smh]$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be from 1s to 24h, in s, m or h"
	Per Duration `json:"per,omitempty"`
	// burst is how many are admitted at once. The default is requests. It is earned
	// again within 24h at most.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Burst int32 `json:"burst,omitempty"`
	// key says what is counted together. The default is the client's address.
	// +optional
	Key *LimitKey `json:"key,omitempty"`
	// match says which requests are counted and refused. The default is all.
	// +optional
	Match *LimitMatch `json:"match,omitempty"`
	// exempt are clients that are not counted.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Exempt []CIDR `json:"exempt,omitempty"`
	// status of refused requests: 429 or 503. The default is 429.
	//
	// +optional
	// +kubebuilder:default=429
	// +kubebuilder:validation:Enum=429;503
	Status int32 `json:"status,omitempty"`
	// headers are Draft for RateLimit and RateLimit-Policy (the IETF's draft), Legacy
	// for X-RateLimit-Limit, -Remaining and -Reset, or None. The default is Draft.
	//
	// +optional
	// +kubebuilder:default=Draft
	// +kubebuilder:validation:Enum=Draft;Legacy;None
	Headers string `json:"headers,omitempty"`
	// dryRun counts and tells clients, and refuses nothing. The default is false.
	// +optional
	DryRun bool `json:"dryRun,omitempty"`
	// scope is Replica where each router replica counts by itself, or Shared where all of
	// them count together, so that they never admit more than the limit. That takes the
	// policy agent, and HAProxy 3.4. The default is Replica.
	//
	// +optional
	// +kubebuilder:default=Replica
	// +kubebuilder:validation:Enum=Replica;Shared
	Scope string `json:"scope,omitempty"`
}

// ConcurrentLimit bounds requests that are under way. Of several policies that count
// by the same key, the smallest limit holds.
type ConcurrentLimit struct {
	// count is the most at the same time.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	Count int32 `json:"count"`
	// key says what is counted together. The default is the client's address.
	// +optional
	Key *LimitKey `json:"key,omitempty"`
	// match says which requests are counted and refused. The default is all.
	// +optional
	Match *LimitMatch `json:"match,omitempty"`
	// status of refused requests: 429 or 503. The default is 429.
	//
	// +optional
	// +kubebuilder:default=429
	// +kubebuilder:validation:Enum=429;503
	Status int32 `json:"status,omitempty"`
}

// LimitMatch are the requests that a limit counts and refuses: those with one of the methods
// and one of the paths. A path that programs read in different ways is counted, whatever
// paths are named. Together, methods and paths take at most 512 bytes.
//
// +kubebuilder:validation:MinProperties=1
type LimitMatch struct {
	// methods of the request.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:Enum=GET;HEAD;POST;PUT;DELETE;PATCH;OPTIONS;CONNECT;TRACE
	Methods []string `json:"methods,omitempty"`
	// paths of the request, before a rewrite.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Paths []LimitPath `json:"paths,omitempty"`
}

// LimitPath is a path of a request, without its query.
type LimitPath struct {
	// type is Exact, or Prefix for a path and all below it. The default is Prefix.
	//
	// +optional
	// +kubebuilder:default=Prefix
	// +kubebuilder:validation:Enum=Exact;Prefix
	Type string `json:"type,omitempty"`
	// value is the path as programs read it, without percent-encoding.
	//
	// +required
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^/[^\\;%?#]*$`
	Value string `json:"value"`
}

// BodyLimit bounds the bodies of requests.
type BodyLimit struct {
	// max is the most bytes; larger bodies get 413. It is at most 64Gi.
	// +required
	Max resource.Quantity `json:"max"`
	// unknownLength is Refuse, which answers 411 to bodies that do not say their
	// length. It is the default, and the only value yet.
	//
	// +optional
	// +kubebuilder:default=Refuse
	// +kubebuilder:validation:Enum=Refuse
	UnknownLength string `json:"unknownLength,omitempty"`
}
