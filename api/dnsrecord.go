package api

// FinalizerDNSRecord keeps a DNSRecord until its name is gone from the zones.
const FinalizerDNSRecord = "operator.openshift.io/ingress-dns"

// AnnotationAdoptDNSRecord set to "true" on a DNSRecord or its IngressController,
// allows to take over records of its name that another program made.
const AnnotationAdoptDNSRecord = "fairlead.dev/adopt-dns-record"

// AnnotationTargetZone on a DNSRecord keeps the zone id of the load balancer
// that it leads to, so that the record can be removed when that is gone.
const AnnotationTargetZone = "ingress.operator.openshift.io/target-hosted-zone-id"

// AnnotationTargetDualStack set to "true" on a DNSRecord, says that the load balancer
// that it leads to has IPv6 addresses too.
const AnnotationTargetDualStack = "fairlead.dev/target-dual-stack"

// DNSRecordName returns the name of the DNSRecord of an IngressController's
// wildcard name.
func DNSRecordName(ic string) string { return ic + "-wildcard" }

// DNSRecordNameIPv6 returns the name of the DNSRecord with the IPv6 addresses
// of an IngressController that has IPv4 addresses too.
func DNSRecordNameIPv6(ic string) string { return ic + "-wildcard-ipv6" }

// ConditionDNSWritten of a zone of a DNSRecord says that the zone has, or may
// have, a record of ours, whatever became of later writes: it is taken out when
// the DNSRecord goes. Its message is the provider's id of the last change.
const ConditionDNSWritten = "Written"

// Reasons of the conditions Published and Written of a DNSRecord, and of its
// events.
const (
	ReasonDNSPending         Reason = "PublishPending"
	ReasonDNSWritten         Reason = "RecordWritten"
	ReasonDNSRemoved         Reason = "RecordRemoved"
	ReasonDNSPublished       Reason = "ProviderSuccess"
	ReasonDNSProviderError   Reason = "ProviderError"
	ReasonDomainAlreadyInUse Reason = "DomainAlreadyInUse"
	ReasonUnmanagedDNS       Reason = "UnmanagedDNS"
	ReasonZeroTTL            Reason = "ZeroTTL"
)

// Reasons of the conditions DNSManaged and DNSReady of an IngressController.
const (
	ReasonNoDNSZones Reason = "NoDNSZones"
	// ReasonDomainNotMatching is that of an event; the condition is DNSManaged.
	ReasonDomainNotMatching Reason = "DomainNotMatching"
	ReasonFailedZones       Reason = "FailedZones"
	ReasonUnknownZones      Reason = "UnknownZones"
	ReasonNoZones           Reason = "NoZones"
	ReasonDNSRecordMissing  Reason = "RecordNotFound"
)

// dnsRemedies are those of DNSRecords.
func dnsRemedies() map[Reason]Remedy {
	return map[Reason]Remedy{
		ReasonDNSPublished: {Cause: "the name is published"},
		ReasonDNSProviderError: {
			Cause:  "the DNS service refused the record or did not answer",
			Remedy: "read the message; check zone, credentials and network of the operator. It is tried again every 30 seconds",
		},
		ReasonDNSPending: {
			Cause:  "the DNS provider took the record and has not published it yet",
			Remedy: "wait a moment; if it lasts, look at the provider itself, such as the log of external-dns",
		},
		ReasonDNSWritten: {Cause: "the zone has a record of the name that is ours to remove"},
		ReasonDNSRemoved: {Cause: "the record was taken out of the zone; the DNSRecord goes when resolvers have forgotten it"},
		ReasonDomainAlreadyInUse: {
			Cause:  "an older DNSRecord, or a record that Fairlead did not make, has the name",
			Remedy: "choose another spec.domain, remove the other record, or annotate the DNSRecord with " + AnnotationAdoptDNSRecord + "=true to take it over",
		},
		ReasonUnmanagedDNS: {
			Cause:  "spec.dnsManagementPolicy is Unmanaged: another program publishes the name",
			Remedy: "create the record yourself, or set dnsManagementPolicy to Managed",
		},
		ReasonZeroTTL: {
			Cause:  "spec.recordTTL is zero",
			Remedy: "set a positive number of seconds; the operator's own records have --dns-ttl, which is 30 by default",
		},
		ReasonDomainNotMatching: {
			Cause:  "the domain of the IngressController does not lie in the cluster's base domain, so its name is not published",
			Remedy: "publish the wildcard name yourself, choose a spec.domain below the base domain, or name the zones by --dns-zone",
		},
		ReasonNoDNSZones: {
			Cause:  "the operator was given no DNS provider or no zone",
			Remedy: "nothing, if another program publishes the wildcard name; otherwise start the operator with --dns and --dns-zone",
		},
		ReasonFailedZones: {
			Cause:  "the name could not be published in some zone",
			Remedy: "look at the conditions of the DNSRecord: kubectl describe dnsrecord -n openshift-ingress-operator",
		},
		ReasonUnknownZones: {
			Cause:  "whether the name is published in some zone is not known",
			Remedy: "look at the conditions of the DNSRecord",
		},
		ReasonNoZones: {
			Cause:  "the name has not been published in any zone yet",
			Remedy: "wait a moment; if it lasts, look at the operator's log",
		},
		ReasonDNSRecordMissing: {
			Cause:  "there is no DNSRecord, because the router has no address yet",
			Remedy: "look at the condition LoadBalancerReady",
		},
	}
}
