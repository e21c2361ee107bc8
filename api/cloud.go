package api

// Load-balancer classes (spec.loadBalancerClass of a Service) that Fairlead's
// cloud hooks serve. A Service of such a class is left alone by every other
// controller, and one of another class by us.
const (
	LoadBalancerClassAWS     = "fairlead.dev/aws-elb"
	LoadBalancerClassWebhook = "fairlead.dev/webhook"
)

// CloudClass reports whether a load-balancer class is that of a cloud hook.
func CloudClass(class string) bool {
	return class == LoadBalancerClassAWS || class == LoadBalancerClassWebhook
}

// FinalizerCloudLoadBalancer keeps a Service until its load balancer is gone
// from the cloud.
const FinalizerCloudLoadBalancer = "fairlead.dev/cloud-load-balancer"

// Annotations of Services that a cloud hook serves, and of their
// IngressControllers.
const (
	// AnnotationLoadBalancerHandle on a Service is what the cloud calls its
	// load balancer, such as an ARN. The operator writes it.
	AnnotationLoadBalancerHandle = "fairlead.dev/load-balancer-handle"
	// AnnotationRecreateLoadBalancer, "true" on a Service, allows to replace
	// its load balancer where a change cannot be made otherwise. The operator
	// copies it from AnnotationAutoDeleteLoadBalancer.
	AnnotationRecreateLoadBalancer = "fairlead.dev/recreate-load-balancer"
	// AnnotationAutoDeleteLoadBalancer on an IngressController allows to
	// replace its load balancer, as with OpenShift.
	AnnotationAutoDeleteLoadBalancer = "ingress.operator.openshift.io/auto-delete-load-balancer"
	// AnnotationDomain on a Service of a router is its domain, by which a
	// certificate is found. The operator writes it.
	AnnotationDomain = "fairlead.dev/domain"
)

// Conditions of a Service that a cloud hook serves.
const (
	// ConditionCloudReady says whether the load balancer takes connections.
	ConditionCloudReady = "fairlead.dev/LoadBalancerReady"
	// ConditionCloudProgressing says whether a change is under way, or asked
	// for and not possible.
	ConditionCloudProgressing = "fairlead.dev/LoadBalancerProgressing"
)

// Reasons of these conditions and of the events that report them.
const (
	// ReasonNamespaceNotServed: the Service names our class, in a namespace
	// whose Services get no load balancer of the cloud.
	ReasonNamespaceNotServed Reason = "NamespaceNotServed"
	// ReasonInvalidConfiguration: an annotation or field of the Service, or
	// what it leads to in the cloud, cannot be used. No call was made.
	ReasonInvalidConfiguration Reason = "InvalidConfiguration"
	// ReasonQuotaExceeded: a quota of the cloud account is reached.
	ReasonQuotaExceeded Reason = "QuotaExceeded"
	// ReasonOwnershipConflict: something of the needed name is not ours.
	ReasonOwnershipConflict Reason = "OwnershipConflict"
	// ReasonCloudCredentialsInvalid: the credentials do not allow a call.
	ReasonCloudCredentialsInvalid Reason = "CloudCredentialsInvalid"
	// ReasonCloudUnavailable: the cloud does not answer, or too many calls are made.
	ReasonCloudUnavailable Reason = "CloudUnavailable"
	// ReasonDeletionProtected: the cloud refuses to delete the load balancer.
	ReasonDeletionProtected Reason = "DeletionProtected"
	// ReasonServedByAnother: another controller has its finalizer on the Service.
	ReasonServedByAnother Reason = "ServedByAnotherController"
	// ReasonNoHealthyTargets: the load balancer is there, but a port has no
	// healthy target.
	ReasonNoHealthyTargets Reason = "NoHealthyTargets"
	// ReasonLoadBalancerCloudFailed: the cloud could not make the load balancer.
	ReasonLoadBalancerCloudFailed Reason = "CloudLoadBalancerFailed"
	// ReasonLoadBalancerImpaired: the cloud says that the load balancer is impaired.
	ReasonLoadBalancerImpaired Reason = "LoadBalancerImpaired"
	// ReasonRecreateRequired: a change needs another load balancer.
	ReasonRecreateRequired Reason = "RecreateRequired"
	// ReasonTargetsTruncated: there are more targets than the cloud allows.
	ReasonTargetsTruncated Reason = "TargetsTruncated"
	// ReasonTargetQuotaNear: there are almost as many targets as the cloud allows.
	ReasonTargetQuotaNear Reason = "TargetQuotaNear"
	// ReasonNoTargets: no node may be a target.
	ReasonNoTargets Reason = "NoTargets"
	// ReasonNodeWithoutInstance: a node's providerID names no machine of the cloud.
	ReasonNodeWithoutInstance Reason = "NodeWithoutInstance"
	// ReasonTLSEndsAtLoadBalancer: TLS ends before the router, so passthrough
	// Routes cannot work.
	ReasonTLSEndsAtLoadBalancer Reason = "TLSEndsAtLoadBalancer"
	// ReasonRouterClosesFirst: the router closes idle connections that the load
	// balancer still uses.
	ReasonRouterClosesFirst Reason = "RouterClosesFirst"
	// ReasonRivalRuns: another controller runs that would delete what ours makes.
	ReasonRivalRuns Reason = "RivalControllerRuns"
	// ReasonCloudChange: a change is under way in the cloud.
	ReasonCloudChange Reason = "CloudChange"
	// ReasonEnsuringLoadBalancer and the following are Kubernetes' own words.
	ReasonEnsuringLoadBalancer Reason = "EnsuringLoadBalancer"
	ReasonEnsuredLoadBalancer  Reason = "EnsuredLoadBalancer"
	ReasonDeletingLoadBalancer Reason = "DeletingLoadBalancer"
	ReasonDeletedLoadBalancer  Reason = "DeletedLoadBalancer"
	// ReasonUpdatedLoadBalancer, ReasonUpdateLoadBalancerFailed and
	// ReasonUnAvailableLoadBalancer tell of targets.
	ReasonUpdatedLoadBalancer      Reason = "UpdatedLoadBalancer"
	ReasonUpdateLoadBalancerFailed Reason = "UpdateLoadBalancerFailed"
	ReasonUnAvailableLoadBalancer  Reason = "UnAvailableLoadBalancer"
	// ReasonZoneLeftOut: a zone of the cluster has no load balancers.
	ReasonZoneLeftOut Reason = "ZoneLeftOut"
)

func cloudRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonNamespaceNotServed:      {Cause: "the Service names our class, but only Services in the routers' namespace get a load balancer of the cloud", Remedy: "publish it by a Route or an Ingress, or use another class"},
		ReasonInvalidConfiguration:    {Cause: "an annotation or field of the Service has a value that cannot be used", Remedy: "correct the one that the message names; it is looked at again when the Service changes, and every 10 minutes"},
		ReasonQuotaExceeded:           {Cause: "a quota of the cloud account is reached", Remedy: "delete what is not needed, or ask the cloud for a higher quota; it is tried again every 5 minutes"},
		ReasonOwnershipConflict:       {Cause: "something in the cloud has the needed name and is not tagged as this Service's", Remedy: "delete or rename it, or give it its tags back; it is never changed"},
		ReasonCloudCredentialsInvalid: {Cause: "the operator's credentials are missing, expired or do not allow the call that the message names", Remedy: "look at the Secret or role of the operator; docs/cloud/aws.md has the policy that it needs"},
		ReasonCloudUnavailable:        {Cause: "the cloud does not answer, or refuses for too many calls", Remedy: "wait; if it lasts, look at network and account. What is published stays"},
		ReasonDeletionProtected:       {Cause: "deletion protection is on", Remedy: "remove deletion_protection.enabled from the Service's annotation"},
		ReasonServedByAnother:         {Cause: "another controller put its finalizer on the Service, so it serves it", Remedy: "delete the Service to move it to Fairlead, or take Fairlead's class away"},
		ReasonNoHealthyTargets:        {Cause: "no target of a port passes the cloud's health check", Remedy: "see that router pods are ready, and that the nodes' security group lets the load balancer in"},
		ReasonLoadBalancerCloudFailed: {Cause: "the cloud could not make the load balancer", Remedy: "read the message, which is the cloud's; it is made again after 5 minutes"},
		ReasonLoadBalancerImpaired:    {Cause: "the cloud reports a fault of its own", Remedy: "look at the cloud's status page"},
		ReasonRecreateRequired:        {Cause: "a field was changed that needs another load balancer", Remedy: "undo the change, delete the Service, or annotate the IngressController with " + AnnotationAutoDeleteLoadBalancer},
		ReasonTargetsTruncated:        {Cause: "there are more nodes than a load balancer may have targets", Remedy: "choose nodes with target-node-labels, or ask for a higher quota"},
		ReasonTargetQuotaNear:         {Cause: "80 % of the quota for targets are used", Remedy: "choose nodes with target-node-labels, or ask for a higher quota"},
		ReasonNoTargets:               {Cause: "no node has the labels that the Service asks for", Remedy: "correct target-node-labels, or label nodes"},
		ReasonNodeWithoutInstance:     {Cause: "spec.providerID of a node names no machine of the cloud", Remedy: "let the cloud's node controller set it, or use target type ip"},
		ReasonTLSEndsAtLoadBalancer:   {Cause: "the load balancer has a certificate and ends TLS", Remedy: "take the certificate away from the Service, or change the Routes to re-encrypt"},
		ReasonRouterClosesFirst: {
			Cause:  "spec.tuningOptions.httpKeepAliveTimeout is not longer than the idle timeout of the application load balancer",
			Remedy: "raise it, or lower the Service's annotation aws-load-balancer-connection-idle-timeout",
		},
		ReasonRivalRuns: {
			Cause:  "the operator runs with --aws-ownership=lbc and the AWS Load Balancer Controller runs too, which deletes what has its tags and another class",
			Remedy: "stop that controller, or run the operator without --aws-ownership=lbc",
		},
		ReasonCloudChange:          {Cause: "a change is under way in the cloud", Remedy: "wait"},
		ReasonEnsuringLoadBalancer: {Cause: "the load balancer is being made or changed"},
		ReasonEnsuredLoadBalancer:  {Cause: "the load balancer is as the Service asks for"},
		ReasonDeletingLoadBalancer: {Cause: "the load balancer is being deleted"},
		ReasonDeletedLoadBalancer:  {Cause: "the load balancer is deleted"},
		ReasonUpdatedLoadBalancer:  {Cause: "targets were registered or deregistered"},
		ReasonUpdateLoadBalancerFailed: {
			Cause:  "targets could not be registered or deregistered",
			Remedy: "the message has the cloud's reason; it is tried again. Targets that stand serve on",
		},
		ReasonUnAvailableLoadBalancer: {Cause: "no node may be a target of the load balancer", Remedy: "look at the nodes' labels, taints and readiness"},
		ReasonZoneLeftOut:             {Cause: "the cloud makes no load balancers in a zone, and its subnet was found, not named", Remedy: "nothing, if nodes of other zones suffice; else name subnets of other zones"},
	}
}
