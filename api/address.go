package api

// LoadBalancerClass is the value of a Service's spec.loadBalancerClass that
// names Fairlead. Services without a class are Fairlead's as well, unless it
// has other flags.
const LoadBalancerClass = "fairlead.dev/provider"

// Annotations on Services. They are MetalLB's; each also works with the older
// prefix "metallb.universe.tf/".
const (
	// AnnotationAddressPool names the IPAddressPool to take the address from.
	AnnotationAddressPool = "metallb.io/address-pool"
	// AnnotationLoadBalancerIPs asks for addresses: one, or one IPv4 and one
	// IPv6, separated by a comma.
	AnnotationLoadBalancerIPs = "metallb.io/loadBalancerIPs"
	// AnnotationAllowSharedIP is a key: Services with equal keys may share an
	// address if their ports differ.
	AnnotationAllowSharedIP = "metallb.io/allow-shared-ip"
	// AnnotationAllocatedFromPool is written by Fairlead: the pool that the
	// Service's address comes from.
	AnnotationAllocatedFromPool = "metallb.io/ip-allocated-from-pool"
	// AnnotationPrefixDeprecated is the older prefix of the annotations above
	// that users set.
	AnnotationPrefixDeprecated = "metallb.universe.tf/"
)

// LabelExcludeFromLoadBalancers on a Node, with any value, keeps it from
// announcing addresses. kubeadm sets it on control-plane nodes.
const LabelExcludeFromLoadBalancers = "node.kubernetes.io/exclude-from-external-load-balancers"

// Condition types of the address objects.
const (
	// ConditionAllocated on a Service says whether it has its address, and why not.
	ConditionAllocated = "metallb.io/Allocated"
	// ConditionValid on IPAddressPools and L2Advertisements says whether the
	// object is used as it is written.
	ConditionValid = "Valid"
	// ConditionAdvertised on an IPAddressPool says whether any advertisement selects it.
	ConditionAdvertised = "Advertised"
)

// Annotations on IPAddressPools that MetalLB has no word for.
const (
	// AnnotationDefaultPool with the value "true" has the pool tried before
	// the others that are for all Services.
	AnnotationDefaultPool = "fairlead.dev/default-pool"
	// AnnotationSharingScope with the value "namespace" lets only Services of
	// one namespace share an address of the pool.
	AnnotationSharingScope = "fairlead.dev/sharing-scope"
)

// AnnotationPreempt on an L2Advertisement with the value "false" leaves an
// address with the node that announces it as long as that may, although another
// comes first. "true" is as without it.
const AnnotationPreempt = "fairlead.dev/preempt"
