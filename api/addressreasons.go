package api

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
	// ReasonNoAdvertisement: no advertisement selects the pool, so no node
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
	// ReasonNoPassword: a BGPPeer has no password, so any host on the path to the
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

// configurationRemedies are about the objects of group metallb.io.
func configurationRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonUsed:       {Cause: "the object is used as it is written"},
		ReasonAdvertised: {Cause: "an advertisement selects the pool"},
		ReasonInvalidAddresses: {
			Severity: SeverityError,
			Cause:    "an entry of spec.addresses is no network or range",
			Remedy:   "write it as 192.0.2.0/24 or 192.0.2.10-192.0.2.20",
		},
		ReasonOverlap: {
			Severity: SeverityError,
			Cause:    "two entries or pools hold the same addresses",
			Remedy:   "remove them from one of the two",
		},
		ReasonInvalidSelector: {
			Severity: SeverityError,
			Cause:    "a label selector cannot be used",
			Remedy:   "correct the selector as the message says",
		},
		ReasonWrongNamespace: {
			Severity: SeverityError,
			Cause:    "the object is not in the provider's namespace, so it has no effect",
			Remedy:   "create it in namespace metallb-system",
		},
		ReasonNoAdvertisement: {
			Cause:  "no advertisement selects the pool, so no node answers for its addresses",
			Remedy: "create an L2Advertisement or a BGPAdvertisement that selects the pool",
		},
	}
}

// referenceRemedies are about objects of that group that do not fit others, or
// the cluster.
func referenceRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonMissingReference: {
			Severity: SeverityError,
			Cause:    "the object names another one that is not there (yet)",
			Remedy:   "create what the message names, or remove the reference",
		},
		ReasonDuplicate: {
			Severity: SeverityError,
			Cause:    "an older object defines the same community, or the same BGP session on the same node",
			Remedy:   "remove one of the two",
		},
		ReasonInvalidAggregation: {
			Severity: SeverityError,
			Cause:    "the announced prefix would hold addresses outside of the pool",
			Remedy:   "use an aggregation length that is at least as long as the pool's prefix",
		},
		ReasonConflictingAdvertisements: {
			Severity: SeverityError,
			Cause:    "two advertisements announce the same prefix to the same router with different local preferences",
			Remedy:   "give them the same localPref, or other pools, peers, nodes or aggregation lengths",
		},
		ReasonIgnoredField: {
			Severity: SeverityWarning,
			Cause:    "a field is accepted, but has no effect or another one than it says",
			Remedy:   "see the message; remove the field if you do not rely on it",
		},
		ReasonNoPassword: {
			Severity: SeverityInfo,
			Cause:    "the BGPPeer has no password: what is on the path to the router, or at its address, can end the session or pose as the router; it is used all the same",
			Remedy:   "set the same password at the router and in a Secret that passwordSecret names",
		},
		ReasonFastDetection: {
			Severity: SeverityWarning,
			Cause:    "the BFDProfile takes an end for dead sooner than a busy machine answers",
			Remedy:   "use intervals of at least 50 ms and a detectMultiplier of at least 3",
		},
		ReasonClusterAddress: {
			Severity: SeverityWarning,
			Cause:    "the pool holds addresses that the cluster uses itself",
			Remedy:   "take them out of spec.addresses",
		},
		ReasonForeignProvider: {
			Cause:  "another MetalLB runs in the cluster; two providers would give the same address twice",
			Remedy: "scale the other one down, as docs/lb/migration.md says; this one then starts by itself",
		},
	}
}

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

// addressRemedies are about Services of type LoadBalancer.
func addressRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonIPAllocated: {Cause: "the Service has its address"},
		ReasonStatusFamily: {
			Cause:  "the Service's status holds an impossible combination of addresses; another program wrote it",
			Remedy: "nothing: it gets others",
		},
		ReasonClusterFamily: {
			Cause:  "the Service has no cluster IP, so it has no IP family; clusterIP: None cannot have a load balancer",
			Remedy: "remove clusterIP: None",
		},
		ReasonNotEnoughClusterIPs: {
			Cause:  "the Service requires dual stack and has only one cluster IP",
			Remedy: "use ipFamilyPolicy PreferDualStack, or let the cluster have both families",
		},
		ReasonClearAssignment: {
			Cause:  "the Service lost its address, for example because its pool went",
			Remedy: "look at the IPAddressPools; the message says why",
		},
		ReasonAllocationFailed: {
			Cause:  "no pool has an address for the Service",
			Remedy: "add addresses to a pool, or free some; the message says why for each pool",
		},
		ReasonLoadBalancerFailed: {
			Severity: SeverityError,
			Cause:    "the request for an address cannot be read, or contradicts itself",
			Remedy:   "correct the annotation or spec.loadBalancerIP",
		},
		ReasonAdditionalAssignFailed: {
			Cause:  "the pool has no free address of the other IP family",
			Remedy: "add addresses of that family to the pool",
		},
		ReasonDeprecatedAnnotation: {
			Cause:  "the Service uses an annotation with prefix metallb.universe.tf/",
			Remedy: "use prefix metallb.io/",
		},
		ReasonNotOurAddress: {
			Cause:  "the Service has an address that no pool holds; another program assigned it",
			Remedy: "remove the other load balancer, or give one of the two a loadBalancerClass",
		},
		ReasonSessionUp: {Cause: "a node and the router have a BGP session"},
		ReasonSessionDown: {
			Cause:  "a node has lost its BGP session with the router, which forgets the node's routes",
			Remedy: "the message says why; kubectl get bgpsessionstates -n metallb-system -o wide says what hinders it now",
		},
		ReasonSessionProcessFailed: {
			Cause:  "the process that holds a node's session with the router ended by itself, most likely because of what the router sent; no other session is concerned",
			Remedy: "the message says why it ended; find out what answers at the router's address, set a password, and report the crash",
		},
		ReasonTooManyRoutes: {
			Cause:  "a router would get more prefixes than Fairlead announces to any router",
			Remedy: "set aggregationLength in the BGPAdvertisement, or choose pools, peers and nodes",
		},
	}
}

// ReasonInvalidProbe says that the annotation lb.fairlead.dev/probe of a Service
// cannot be read. Write ":PORT/PATH".
const ReasonInvalidProbe Reason = "invalidProbe"

// ReasonAddressConflict says that another host on the network claims the address
// of a Service. Its hardware address is in the message.
const ReasonAddressConflict Reason = "addressConflict"

// Reasons of events on a BGPPeer.
const (
	// ReasonSessionUp: a node and the router have a BGP session.
	ReasonSessionUp Reason = "sessionUp"
	// ReasonSessionDown: a node has lost its BGP session with the router, and
	// the router the node's routes. The message says why.
	ReasonSessionDown Reason = "sessionDown"
	// ReasonSessionProcessFailed: the process that holds a node's session with the
	// router ended by itself, most likely because of what the router sent. Other
	// sessions and addresses are not concerned. It is started again after a pause.
	ReasonSessionProcessFailed Reason = "sessionProcessFailed"
	// ReasonTooManyRoutes: a router would get more prefixes than Fairlead
	// announces to any. Use an aggregationLength.
	ReasonTooManyRoutes Reason = "tooManyRoutes"
)

// announcementRemedies are about Services whose address is announced, or should be.
func announcementRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonNodeAssigned: {Cause: "a node began to announce the address"},
		ReasonInvalidProbe: {
			Cause:  "the annotation lb.fairlead.dev/probe cannot be read, so no pod is asked",
			Remedy: "write :PORT/PATH, such as :8080/healthz",
		},
		ReasonAddressConflict: {
			Cause:  "another host on the network claims the Service's address",
			Remedy: "find the host by the hardware address in the message and take the address from it, or take it out of the pool; if it is a node, see whether the speakers reach each other",
		},
		ReasonAnnounceFailed: {
			Cause:  "the node that should announce has none of the interfaces that the advertisement names",
			Remedy: "correct spec.interfaces of the L2Advertisement",
		},
	}
}
