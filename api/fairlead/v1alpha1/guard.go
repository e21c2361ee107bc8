package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// Guard says what tenants may do, in RoutePolicies and annotations, for the objects of
// the ClusterRoutePolicy. What they may not closes the paths. ClusterRoutePolicies
// themselves are not bound by it.
//
// +kubebuilder:validation:MinProperties=1
type Guard struct {
	// externalURLs are the hosts that auth servers, key sets and mirrors may have: names, or *.
	// and a domain for all names below it. Of several guards each adds to them. The
	// default is none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	ExternalURLs []string `json:"externalURLs,omitempty"`
	// maxRequestsPerLimit is the most that requests and burst of limits.requests may be.
	// Of several guards the smallest holds.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxRequestsPerLimit int32 `json:"maxRequestsPerLimit,omitempty"`
	// bodyBytesMax is the most that limits.body.max may be, which then may not be 0. Of
	// several guards the smallest holds.
	//
	// +optional
	BodyBytesMax *resource.Quantity `json:"bodyBytesMax,omitempty"`
	// faultInjection lets tenants delay requests and answer them with errors by the group
	// fault. It is enough that one of several guards has it. The default is false.
	//
	// +optional
	FaultInjection bool `json:"faultInjection,omitempty"`
	// allowRegex says whether tenants may choose, replace and redirect paths, and let in subjects
	// of client certificates, by regular expressions. One of several guards that says false is
	// enough. The default is true.
	//
	// +optional
	AllowRegex *bool `json:"allowRegex,omitempty"`
	// regexPerNamespace is how many Routes of a namespace may have such expressions: the
	// oldest have theirs applied. Of several guards the smallest holds. The default is 100,
	// which is the most.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	RegexPerNamespace int32 `json:"regexPerNamespace,omitempty"`
	// sharedLimitsPerNamespace is how many limits of scope Shared the Routes of a namespace
	// may have: the oldest Routes have theirs, the paths of the others answer 503. Of several
	// guards the smallest holds. The default is 50, which is the most.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	SharedLimitsPerNamespace int32 `json:"sharedLimitsPerNamespace,omitempty"`
	// firewallExclusions are the rules that tenants may name in firewall.exclusions: IDs,
	// or two of them with a hyphen for all between. Of several guards each adds to them.
	// The default is none.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=13
	// +kubebuilder:validation:items:Pattern=`^9[1-4][0-9]{4}(-9[1-4][0-9]{4})?$`
	FirewallExclusions []string `json:"firewallExclusions,omitempty"`
}
