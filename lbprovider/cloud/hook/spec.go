package hook

// Kind is the kind of a load balancer.
type Kind string

const (
	// KindNetwork passes connections on (layer 4).
	KindNetwork Kind = "network"
	// KindApplication passes HTTP requests on (layer 7).
	KindApplication Kind = "application"
)

// Scheme says who reaches a load balancer.
type Scheme string

// The schemes.
const (
	// SchemeInternetFacing: all clients.
	SchemeInternetFacing Scheme = "internet-facing"
	// SchemeInternal: only the cloud network of the cluster.
	SchemeInternal Scheme = "internal"
)

// TargetKind is what a load balancer passes connections on to.
type TargetKind string

const (
	// TargetInstance is a machine of the cloud, by its id.
	TargetInstance TargetKind = "instance"
	// TargetNodeIP is a node, by its address.
	TargetNodeIP TargetKind = "nodeIP"
	// TargetPodIP is a pod, by its address.
	TargetPodIP TargetKind = "podIP"
)

// Spec is what a Service asks for. Fields that are empty are the hook's choice.
type Spec struct {
	Ref Ref `json:"ref"`
	// Kind, Scheme and TargetKind are what the caller knows. Annotations
	// that the hook understands win over them.
	Kind       Kind       `json:"kind,omitempty"`
	Scheme     Scheme     `json:"scheme,omitempty"`
	TargetKind TargetKind `json:"targetKind,omitempty"`
	// IPFamilies are those of the Service: "IPv4", "IPv6".
	IPFamilies []string `json:"ipFamilies,omitempty"`
	Ports      []Port   `json:"ports"`
	// LocalTraffic is true with externalTrafficPolicy Local: only nodes with
	// a ready endpoint answer, and HealthCheckNodePort says which.
	LocalTraffic        bool  `json:"localTraffic"`
	HealthCheckNodePort int32 `json:"healthCheckNodePort,omitempty"`
	// SourceRanges are the CIDRs that may connect; empty means all.
	SourceRanges []string `json:"sourceRanges,omitempty"`
	// ClientIPAffinity keeps a client at one target.
	ClientIPAffinity bool `json:"clientIPAffinity,omitempty"`
	// LoadBalancerIP is spec.loadBalancerIP of the Service.
	LoadBalancerIP string `json:"loadBalancerIP,omitempty"`
	// Targets are everything that could be a target. The hook picks those of
	// the target kind that is in use.
	Targets TargetSet `json:"targets"`
	// Annotations are those of the Service.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Recreate allows what can only be changed by making another load
	// balancer: its name, scheme or kind.
	Recreate bool `json:"recreate,omitempty"`
	// NamePending is true while the name in DNS does not lead yet to what Ensure
	// returned last. A load balancer that was replaced must stay until then.
	NamePending bool `json:"namePending,omitempty"`
	// DryRun asks for Result.Plan and no change.
	DryRun bool `json:"dryRun,omitempty"`
}

// Port is a port of the load balancer.
type Port struct {
	// Name is empty or the Service port's name.
	Name string `json:"name,omitempty"`
	// Protocol is "TCP" or "UDP".
	Protocol string `json:"protocol"`
	Port     int32  `json:"port"`
	// NodePort is 0 where the Service has none.
	NodePort int32 `json:"nodePort,omitempty"`
	// TargetPort is the pods' port, or 0 if it differs between pods.
	TargetPort int32 `json:"targetPort,omitempty"`
}

// TargetSet is everything that could receive connections.
type TargetSet struct {
	Nodes []Node `json:"nodes,omitempty"`
	Pods  []Pod  `json:"pods,omitempty"`
}

// Node is a node that may be a target.
type Node struct {
	Name string `json:"name"`
	// ProviderID is spec.providerID of the node.
	ProviderID string `json:"providerID,omitempty"`
	// Addresses are its internal addresses.
	Addresses []string `json:"addresses,omitempty"`
	// Zone is its label topology.kubernetes.io/zone.
	Zone   string            `json:"zone,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// HasEndpoint says whether an endpoint of the Service runs on it. Where a
	// cloud allows fewer targets than there are nodes, these come first.
	HasEndpoint bool `json:"hasEndpoint,omitempty"`
}

// Pod is an endpoint of the Service.
type Pod struct {
	Address string `json:"address"`
	Node    string `json:"node,omitempty"`
	Zone    string `json:"zone,omitempty"`
	// Ports are the pod's ports by the Service port's number.
	Ports map[int32]int32 `json:"ports"`
	// Draining says that it ends: it is no new target, but keeps the
	// connections that it has.
	Draining bool `json:"draining,omitempty"`
}
