package hook

import "context"

// DNSHook publishes names. It is separate from LoadBalancerHook because many
// clusters have the one without the other.
type DNSHook interface {
	// ResolveZone finds the zone that a selector means. An error of class
	// InvalidConfig says that none or several are meant, and names them.
	ResolveZone(ctx context.Context, selector ZoneSelector) (Zone, error)
	// EnsureRecord makes the name answer as the Record says. It is
	// idempotent. A record of the name that is not ours is an error of class
	// Conflict, and stays untouched unless Record.Adopt is set.
	EnsureRecord(ctx context.Context, record *Record, zone Zone) (*RecordResult, error)
	// DeleteRecord removes the name if it is ours. What is not there, or not
	// ours, is no error.
	DeleteRecord(ctx context.Context, record *Record, zone Zone) error
}

// ZoneSelector says which zone is meant. The first of ID, Tags and Suffix that
// is set counts.
type ZoneSelector struct {
	// ID is the provider's id of the zone, or the zone's name where the
	// provider has no ids.
	ID string `json:"id,omitempty"`
	// Tags must all be on the zone.
	Tags map[string]string `json:"tags,omitempty"`
	// Suffix is a name: the longest zone that it lies in is meant.
	Suffix string `json:"suffix,omitempty"`
	// Private asks for a zone that only a private network sees.
	Private bool `json:"private,omitempty"`
}

// Zone is a DNS zone.
type Zone struct {
	ID string `json:"id"`
	// Name ends with a dot.
	Name    string `json:"name"`
	Private bool   `json:"private,omitempty"`
}

// RecordType is the type of a record.
type RecordType string

// The types that a load balancer's name has.
const (
	RecordA     RecordType = "A"
	RecordAAAA  RecordType = "AAAA"
	RecordCNAME RecordType = "CNAME"
)

// Record is a name and where it leads.
type Record struct {
	// Name ends with a dot; its first label may be "*".
	Name string     `json:"name"`
	Type RecordType `json:"type"`
	// Targets are addresses for A and AAAA, one host name for CNAME.
	Targets []string `json:"targets"`
	// TTL is in seconds. Alias records have none.
	TTL int64 `json:"ttl"`
	// TargetZone is the zone id of a target that is a load balancer of the
	// same cloud, from Result.HostedZone. A provider that has alias records
	// makes one of a CNAME where it is known.
	TargetZone string `json:"targetZone,omitempty"`
	// DualStack asks for an IPv6 alias too.
	DualStack bool `json:"dualStack,omitempty"`
	// Owner is written beside the record, and shows that it is ours.
	Owner string `json:"owner"`
	// Resource names the object that the record is made of, such as
	// "dnsrecord/openshift-ingress-operator/default-wildcard".
	Resource string `json:"resource,omitempty"`
	// Adopt allows to take over a record that has no owner of ours.
	Adopt bool `json:"adopt,omitempty"`
}

// RecordResult says what EnsureRecord did.
type RecordResult struct {
	// Changed says whether anything had to be written.
	Changed bool `json:"changed"`
	// Pending says that the provider took the record, but that the name does
	// not answer yet. EnsureRecord is called again after RetryAfter (0: a few
	// seconds) until it does.
	Pending    bool     `json:"pending,omitempty"`
	RetryAfter Duration `json:"retryAfter,omitempty"`
	// Message says what a pending record waits for, or what users should know
	// of a published one.
	Message string `json:"message,omitempty"`
	// Handle is the provider's id of the change, if it has one; users see it in
	// the status of the DNSRecord.
	Handle string `json:"handle,omitempty"`
}
