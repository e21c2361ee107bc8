package hook

import "time"

// State is how far a load balancer is.
type State string

// The states.
const (
	// StateReady: it takes connections and every port has a healthy target.
	StateReady State = "Ready"
	// StatePending: the cloud is still at work, or no target is healthy yet.
	StatePending State = "Pending"
	// StateDegraded: it works, but not in every way that the Service asks for.
	StateDegraded State = "Degraded"
)

// Result says what exists in the cloud.
type Result struct {
	State State `json:"state"`
	// Reason and Message say why State is not Ready.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Ingress are the addresses to publish.
	Ingress []Ingress `json:"ingress,omitempty"`
	// HostedZone is the zone id of the load balancer's own name, which alias
	// records need; empty if the cloud has none.
	HostedZone string `json:"hostedZone,omitempty"`
	// DualStack says that the name has IPv6 addresses too.
	DualStack bool `json:"dualStack,omitempty"`
	// Handle is to be kept and given back in Ref.Handle.
	Handle string `json:"handle,omitempty"`
	// Targets are what the cloud says of each target.
	Targets []TargetHealth `json:"targets,omitempty"`
	// Problems are what could not be done. The rest was.
	Problems []Problem `json:"problems,omitempty"`
	// RetryAfter is when to call Ensure again although nothing changes; 0
	// means that the caller decides.
	RetryAfter Duration `json:"retryAfter,omitempty"`
	// Plan are the calls that were made, or that would be with Spec.DryRun.
	Plan []string `json:"plan,omitempty"`
}

// Ingress is an address of a load balancer: a host name or an IP address.
type Ingress struct {
	Hostname string `json:"hostname,omitempty"`
	IP       string `json:"ip,omitempty"`
}

// Problem is a partial failure.
type Problem struct {
	// Reason is a word for conditions and events, such as "QuotaExceeded".
	Reason string `json:"reason"`
	// Field is the field or annotation that it is about, or empty.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
	// Progressing means that a change that was asked for is not applied.
	Progressing bool `json:"progressing,omitempty"`
}

// HealthState is what the cloud says of a target.
type HealthState string

// The states. Unknown stands for all that a hook does not know.
const (
	HealthInitial   HealthState = "initial"
	HealthHealthy   HealthState = "healthy"
	HealthUnhealthy HealthState = "unhealthy"
	HealthDraining  HealthState = "draining"
	HealthUnknown   HealthState = "unknown"
)

// TargetHealth is the state of one target.
type TargetHealth struct {
	// ID is what the cloud calls it: an instance id or an address.
	ID string `json:"id"`
	// Port is the port of the load balancer that it serves.
	Port  int32       `json:"port"`
	State HealthState `json:"state"`
	// Reason is the cloud's word for why it is not healthy.
	Reason string `json:"reason,omitempty"`
}

// TargetResult says what UpdateTargets did.
type TargetResult struct {
	// Registered and Deregistered count targets, over all ports.
	Registered   int            `json:"registered"`
	Deregistered int            `json:"deregistered"`
	Targets      []TargetHealth `json:"targets,omitempty"`
	Problems     []Problem      `json:"problems,omitempty"`
	RetryAfter   Duration       `json:"retryAfter,omitempty"`
}

// DeleteResult says how far a deletion is.
type DeleteResult struct {
	// Done means that nothing is left.
	Done bool `json:"done"`
	// Waiting says for what, if it is not done.
	Waiting string `json:"waiting,omitempty"`
	// Left says what could not be removed although it is done: ListOwned shows
	// it, so that it is tried again later.
	Left       string   `json:"left,omitempty"`
	RetryAfter Duration `json:"retryAfter,omitempty"`
}

// Duration is a time.Duration that JSON shows as seconds.
type Duration time.Duration

// Std returns the duration of package time.
func (d Duration) Std() time.Duration { return time.Duration(d) }
