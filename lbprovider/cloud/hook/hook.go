// Package hook is the interface between Fairlead and a cloud: what is asked of a
// load balancer or a DNS service, and what comes back. It knows no cloud and no
// Kubernetes, and holds values and interfaces only.
//
//	Service, nodes, endpoints ─▶ cloud/controller ─▶ Spec ─▶ LoadBalancerHook ─▶ a cloud
//	status, conditions, events ◀─ cloud/controller ◀─ Result ◀─┘
//
// The caller owns finalizers, status, events, back-off and DNSRecord objects. A
// hook never talks to the Kubernetes API, and keeps nothing that it cannot find
// again in the cloud: it may be ended between any two calls, and running it
// again repairs what it left half made.
//
// The values are the messages of the HTTP protocol in cloud/webhook too, which
// is why their fields have JSON names. New fields may be added; a receiver
// ignores those that it does not know.
package hook

import (
	"context"
)

// Version is the version of the messages, as their apiVersion says it.
const Version = "cloudhook/v1"

// LoadBalancerHook makes and keeps load balancers in a cloud.
//
// The caller never runs two methods for the same Ref at once; methods for
// different Refs do run at once. Every method returns when ctx ends. An error
// is an *Error, or is treated as one of class Internal.
type LoadBalancerHook interface {
	// Name is the name in logs: "aws", "webhook:https://…".
	Name() string
	// Capabilities says what the hook can do. It may ask the cloud.
	Capabilities(ctx context.Context) (Capabilities, error)
	// Validate returns what is wrong with a Spec, without any call of the
	// cloud. A Spec with problems is never passed to Ensure.
	Validate(ctx context.Context, spec *Spec) []FieldProblem
	// Ensure brings the cloud in line with the Spec. It is idempotent and
	// does not wait for the cloud to finish: what is under way is a Result
	// in state Pending with RetryAfter. It takes at most 60 s.
	//
	// A Result may come with an error: then it says what is there anyway.
	// Addresses in it stay published.
	Ensure(ctx context.Context, spec *Spec) (*Result, error)
	// UpdateTargets brings only the targets in line, which is cheaper than
	// Ensure. An error of class NotFound asks for Ensure.
	UpdateTargets(ctx context.Context, spec *Spec) (*TargetResult, error)
	// Describe reads what is there. An error of class NotFound says that
	// nothing is.
	Describe(ctx context.Context, ref Ref) (*Result, error)
	// Delete removes everything that Ensure made. It is idempotent: what is
	// not there is removed. It does not wait: Done says whether nothing is
	// left, else it is to be called again after RetryAfter.
	Delete(ctx context.Context, d *Deletion) (*DeleteResult, error)
	// ListOwned returns the Refs of all load balancers of this cluster, also
	// of those whose Service is gone.
	ListOwned(ctx context.Context) ([]Ref, error)
}

// Ref names the load balancer of one Service. All but Handle is known before
// there is anything in the cloud.
type Ref struct {
	// Cluster is the name of the cluster, as tags in the cloud have it.
	Cluster string `json:"cluster"`
	// Namespace, Name and UID are those of the Service.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Handle is what the hook calls the load balancer (an ARN, an id), from
	// its last Result. Empty where none is known; the hook must then find
	// its load balancer by name or tags.
	Handle string `json:"handle,omitempty"`
}

// Deletion says what is to be removed.
type Deletion struct {
	Ref Ref
	// Annotations are those that the Service has now; they may forbid it.
	Annotations map[string]string
	// Orphan means that the Service does not exist any more, and so its
	// annotations are not known.
	Orphan bool
}

// String returns "namespace/name".
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// Capabilities are what a hook can do.
type Capabilities struct {
	// Versions are the message versions that the hook speaks.
	Versions []string `json:"versions"`
	// Kinds are the values of Spec.Kind that it knows.
	Kinds []Kind `json:"kinds"`
	// TargetKinds are the kinds of targets that it knows.
	TargetKinds []TargetKind `json:"targetKinds"`
	Schemes     []Scheme     `json:"schemes"`
	DualStack   bool         `json:"dualStack"`
	// TLS says whether it can end TLS.
	TLS bool `json:"tls"`
	// ProxyProtocol says whether it can send the PROXY protocol, version 2.
	ProxyProtocol bool `json:"proxyProtocol"`
	// DNS says whether it is a DNSHook too.
	DNS bool `json:"dns"`
	// MaxTargets is the most targets of one load balancer; 0 for unknown.
	MaxTargets int `json:"maxTargets,omitempty"`
}

// FieldProblem says what is wrong with one field of a Service.
type FieldProblem struct {
	// Field is an annotation's full key, or a path such as
	// "spec.loadBalancerSourceRanges[1]".
	Field string `json:"field"`
	// Value is what stands there.
	Value string `json:"value"`
	// Message says what is wrong with it.
	Message string `json:"message"`
	// Warning means that the Spec can be used all the same.
	Warning bool `json:"warning,omitempty"`
}

// String returns the problem as users see it.
func (p FieldProblem) String() string {
	if p.Value == "" {
		return p.Field + ": " + p.Message
	}
	return p.Field + ": " + quote(p.Value) + ": " + p.Message
}

func quote(s string) string {
	const limit = 100
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return `"` + s + `"`
}
