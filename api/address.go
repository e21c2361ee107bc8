package api

// LoadBalancerClass is the value of a Service's spec.loadBalancerClass that
// names Fairlead. Services without a class are Fairlead's as well, unless it
// is told otherwise.
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
	// the others that are for everybody.
	AnnotationDefaultPool = "fairlead.dev/default-pool"
	// AnnotationSharingScope with the value "namespace" lets only Services of
	// one namespace share an address of the pool.
	AnnotationSharingScope = "fairlead.dev/sharing-scope"
)

// AnnotationPreempt on an L2Advertisement with the value "false" leaves an
// address with the node that announces it as long as that may, although another
// comes first. "true" is as without it.
const AnnotationPreempt = "fairlead.dev/preempt"

// Reasons of findings on the objects of group metallb.io.
const (
	// ReasonUsed: the object is used as it is written.
	ReasonUsed Reason = "Used"
	// ReasonInvalidAddresses: an entry of spec.addresses is no network or
	// range. Correct the entry.
	ReasonInvalidAddresses Reason = "InvalidAddresses"
	// ReasonOverlap: an entry of spec.addresses holds addresses that another
	// entry, or an older pool, holds already. Remove them from one of the two.
	ReasonOverlap Reason = "Overlap"
	// ReasonInvalidSelector: a label selector cannot be used. Correct it.
	ReasonInvalidSelector Reason = "InvalidSelector"
	// ReasonWrongNamespace: the object is not in the provider's namespace, so
	// it has no effect. Create it in metallb-system.
	ReasonWrongNamespace Reason = "WrongNamespace"
	// ReasonAdvertised: at least one advertisement selects the pool.
	ReasonAdvertised Reason = "Advertised"
	// ReasonNoAdvertisement: no advertisement selects the pool, so nobody
	// answers for its addresses. Create an L2Advertisement or a BGPAdvertisement.
	ReasonNoAdvertisement Reason = "noAdvertisement"
	// ReasonMissingReference: the object names another one that is not there,
	// such as a BFDProfile. It is used as soon as that appears.
	ReasonMissingReference Reason = "MissingReference"
	// ReasonDuplicate: an older object defines the same community, or the same
	// BGP session. Remove one of the two.
	ReasonDuplicate Reason = "Duplicate"
	// ReasonInvalidAggregation: the announced prefix would hold addresses
	// outside of the pool. Use a longer aggregation length.
	ReasonInvalidAggregation Reason = "InvalidAggregation"
	// ReasonConflictingAdvertisements: two advertisements announce the same
	// prefix to the same router with different local preferences.
	ReasonConflictingAdvertisements Reason = "ConflictingAdvertisements"
	// ReasonIgnoredField: a field is accepted, but has no effect or another
	// one than it says.
	ReasonIgnoredField Reason = "IgnoredField"
	// ReasonNoPassword: a BGPPeer has no password, so anybody on the path to the
	// router, or at its address, can end the session or pose as the router. It is
	// used all the same.
	ReasonNoPassword Reason = "NoPassword"
	// ReasonFastDetection: a BFDProfile takes an end for dead so fast that one
	// that is merely busy is hit. Use longer intervals or a larger multiplier.
	ReasonFastDetection Reason = "FastDetection"
	// ReasonClusterAddress: the pool holds addresses that the cluster uses
	// itself: of a node, of pods or of a Service inside of the cluster.
	ReasonClusterAddress Reason = "ClusterAddress"
	// ReasonForeignProvider: another MetalLB runs in the cluster, so this
	// provider gives and announces nothing until that one is gone.
	ReasonForeignProvider Reason = "ForeignProvider"
)

// Reasons of events and of the Allocated condition of a Service.
const (
	// ReasonIPAllocated: the Service has its address.
	ReasonIPAllocated Reason = "IPAllocated"
	// ReasonClearAssignment: the Service lost its address; the message says why.
	ReasonClearAssignment Reason = "ClearAssignment"
	// ReasonAllocationFailed: no pool has an address for the Service; the
	// message says why for each pool.
	ReasonAllocationFailed Reason = "AllocationFailed"
	// ReasonLoadBalancerFailed: the request for an address cannot be read, or
	// contradicts itself. Correct the annotation or spec.loadBalancerIP.
	ReasonLoadBalancerFailed Reason = "LoadBalancerFailed"
	// ReasonAdditionalAssignFailed: the Service keeps one address; none of
	// the other family is free in its pool.
	ReasonAdditionalAssignFailed Reason = "AdditionalAssignFailed"
	// ReasonDeprecatedAnnotation: the Service uses the prefix
	// metallb.universe.tf/. Use metallb.io/.
	ReasonDeprecatedAnnotation Reason = "deprecatedAnnotation"
	// ReasonStatusFamily: the addresses in the Service's status are of an
	// impossible combination of IP families, so it gets others.
	ReasonStatusFamily Reason = "nolbIPsIPFamily"
	// ReasonClusterFamily: the Service has no cluster IP whose family could be
	// told, so it gets no address.
	ReasonClusterFamily Reason = "noclusterIPsIPFamily"
	// ReasonNotEnoughClusterIPs: the Service requires dual stack and has only
	// one cluster IP.
	ReasonNotEnoughClusterIPs Reason = "not enough clusterips"
	// ReasonNotOurAddress: the Service has an address that no pool holds and
	// that Fairlead did not give; it is left alone. Remove the other load
	// balancer, or give one of the two a loadBalancerClass.
	ReasonNotOurAddress Reason = "notOurAddress"
	// ReasonNodeAssigned: a node began to announce the Service's address.
	ReasonNodeAssigned Reason = "nodeAssigned"
	// ReasonAnnounceFailed: the node that should announce the address has
	// none of the interfaces that the advertisement names.
	ReasonAnnounceFailed Reason = "announceFailed"
)
