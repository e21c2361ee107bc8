package api

// configurationRemedies are about the objects of group metallb.io.
func configurationRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonUsed:       {"the object is used as it is written", ""},
		ReasonAdvertised: {"an advertisement selects the pool", ""},
		ReasonInvalidAddresses: {
			"an entry of spec.addresses is no network or range",
			"write it as 192.0.2.0/24 or 192.0.2.10-192.0.2.20",
		},
		ReasonOverlap: {
			"two entries or pools hold the same addresses",
			"remove them from one of the two",
		},
		ReasonInvalidSelector: {
			"a label selector cannot be used",
			"correct the selector as the message says",
		},
		ReasonWrongNamespace: {
			"the object is not in the provider's namespace, so it has no effect",
			"create it in namespace metallb-system",
		},
		ReasonNoAdvertisement: {
			"no advertisement selects the pool, so nobody answers for its addresses",
			"create an L2Advertisement or a BGPAdvertisement that selects the pool",
		},
		ReasonMissingReference: {
			"the object names another one that is not there (yet)",
			"create what the message names, or remove the reference",
		},
		ReasonDuplicate: {
			"an older object defines the same community, or the same BGP session on the same node",
			"remove one of the two",
		},
		ReasonInvalidAggregation: {
			"the announced prefix would hold addresses outside of the pool",
			"use an aggregation length that is at least as long as the pool's prefix",
		},
		ReasonConflictingAdvertisements: {
			"two advertisements announce the same prefix to the same router with different local preferences",
			"give them the same localPref, or other pools, peers, nodes or aggregation lengths",
		},
		ReasonIgnoredField: {
			"a field is accepted, but has no effect or another one than it says",
			"see the message; remove the field if you do not rely on it",
		},
		ReasonNoPassword: {
			"the BGPPeer has no password: what is on the path to the router, or at its address, can end the session or pose as the router; it is used all the same",
			"set the same password at the router and in a Secret that passwordSecret names",
		},
		ReasonFastDetection: {
			"the BFDProfile takes an end for dead sooner than a busy machine answers",
			"use intervals of at least 50 ms and a detectMultiplier of at least 3",
		},
		ReasonClusterAddress: {
			"the pool holds addresses that the cluster uses itself",
			"take them out of spec.addresses",
		},
		ReasonForeignProvider: {
			"another MetalLB runs in the cluster; two providers would give the same address twice",
			"scale the other one down, as docs/lb/migration.md says; this one then starts by itself",
		},
	}
}

// addressRemedies are about Services of type LoadBalancer.
func addressRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonIPAllocated: {"the Service has its address", ""},
		ReasonStatusFamily: {
			"the Service's status holds an impossible combination of addresses; somebody else wrote it",
			"nothing: it gets others",
		},
		ReasonClusterFamily: {
			"the Service has no cluster IP, so it has no IP family; clusterIP: None cannot have a load balancer",
			"remove clusterIP: None",
		},
		ReasonNotEnoughClusterIPs: {
			"the Service requires dual stack and has only one cluster IP",
			"use ipFamilyPolicy PreferDualStack, or let the cluster have both families",
		},
		ReasonClearAssignment: {
			"the Service lost its address, for example because its pool went",
			"look at the IPAddressPools; the message says why",
		},
		ReasonAllocationFailed: {
			"no pool has an address for the Service",
			"add addresses to a pool, or free some; the message says why for each pool",
		},
		ReasonLoadBalancerFailed: {
			"the request for an address cannot be read, or contradicts itself",
			"correct the annotation or spec.loadBalancerIP",
		},
		ReasonAdditionalAssignFailed: {
			"the pool has no free address of the other IP family",
			"add addresses of that family to the pool",
		},
		ReasonDeprecatedAnnotation: {
			"the Service uses an annotation with prefix metallb.universe.tf/",
			"use prefix metallb.io/",
		},
		ReasonNotOurAddress: {
			"the Service has an address that no pool holds; somebody else gave it",
			"remove the other load balancer, or give one of the two a loadBalancerClass",
		},
		ReasonSessionUp: {"a node and the router have a BGP session", ""},
		ReasonSessionDown: {
			"a node has lost its BGP session with the router, which forgets the node's routes",
			"the message says why; kubectl get bgpsessionstates -n metallb-system -o wide says what hinders it now",
		},
		ReasonSessionProcessFailed: {
			"the process that holds a node's session with the router ended by itself, most likely because of what the router sent; no other session is concerned",
			"the message says why it ended; find out what answers at the router's address, set a password, and report the crash",
		},
		ReasonTooManyRoutes: {
			"a router would be told more prefixes than Fairlead tells any",
			"set aggregationLength in the BGPAdvertisement, or choose pools, peers and nodes",
		},
	}
}

// announcementRemedies are about Services whose address is announced, or should be.
func announcementRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonNodeAssigned: {"a node began to announce the address", ""},
		ReasonInvalidProbe: {
			"the annotation lb.fairlead.dev/probe cannot be read, so no pod is asked",
			"write :PORT/PATH, such as :8080/healthz",
		},
		ReasonAddressConflict: {
			"another host on the network claims the Service's address",
			"find the host by the hardware address in the message and take the address from it, or take it out of the pool; if it is a node, see whether the speakers reach each other",
		},
		ReasonAnnounceFailed: {
			"the node that should announce has none of the interfaces that the advertisement names",
			"correct spec.interfaces of the L2Advertisement",
		},
	}
}
