package status

import (
	"fmt"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/service"
)

// dnsConditions say whether the wildcard name leads to the routers, and if not,
// why.
func dnsConditions(in Input) []condition {
	lb := in.Settings.Strategy.LoadBalancer
	switch {
	case in.Settings.Strategy.Type != operatorv1.LoadBalancerServiceStrategyType:
		return []condition{isFalse(ConditionDNSManaged, "UnsupportedEndpointPublishingStrategy",
			"the publishing strategy "+string(in.Settings.Strategy.Type)+" has no load balancer that a name could lead to")}
	case in.Settings.NameByService:
		return []condition{isFalse(ConditionDNSManaged, "UnmanagedLoadBalancerDNS",
			"external-dns publishes *."+in.Settings.Domain+", as the annotation "+service.AnnotationExternalName+" of the LoadBalancer service asks it to")}
	case !in.DNS && in.Settings.NotOurName == "":
		return []condition{isFalse(ConditionDNSManaged, api.ReasonNoDNSZones,
			"the operator publishes no names (flag --dns); *."+in.Settings.Domain+" must be published by the administrator")}
	case in.Settings.NotOurName != "":
		return []condition{isFalse(ConditionDNSManaged, "UnmanagedLoadBalancerDNS",
			in.Settings.NotOurName+"; *."+in.Settings.Domain+" must be published by the administrator")}
	case lb != nil && lb.DNSManagementPolicy == operatorv1.UnmanagedLoadBalancerDNS:
		return []condition{isFalse(ConditionDNSManaged, "UnmanagedLoadBalancerDNS",
			"dnsManagementPolicy is Unmanaged; *."+in.Settings.Domain+" must be published by the administrator")}
	}
	managed := isTrue(ConditionDNSManaged, "Normal", "The wildcard name is published by the operator")
	return []condition{managed, dnsReady(in.Records)}
}

// dnsReady joins what all zones of all records say.
func dnsReady(records []iov1.DNSRecord) condition {
	const kind = conditionDNSReady
	var failed, open, pending []string
	zones := 0
	for _, d := range records {
		for _, z := range d.Status.Zones {
			for _, c := range z.Conditions {
				if c.Type != iov1.DNSRecordPublishedConditionType {
					continue
				}
				zones++
				text := strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", d.Spec.RecordType, z.DNSZone.ID, c.Reason, c.Message))
				switch {
				case c.Status == string(operatorv1.ConditionFalse):
					failed = append(failed, text)
				case c.Reason == string(api.ReasonDNSPending):
					pending = append(pending, text)
				case c.Status == string(operatorv1.ConditionUnknown):
					open = append(open, text)
				}
			}
		}
	}
	switch {
	case len(records) == 0:
		return isFalse(kind, api.ReasonDNSRecordMissing, "The wildcard record resource was not found; it is made once the load balancer has an address")
	case zones == 0:
		return isFalse(kind, api.ReasonNoZones, "The record isn't present in any zones")
	case len(failed) > 0:
		return isFalse(kind, api.ReasonFailedZones, "The record failed to be published: "+strings.Join(failed, "; "))
	case len(open) > 0:
		return isFalse(kind, api.ReasonUnknownZones, "Publishing of the record is not known to have succeeded: "+strings.Join(open, "; "))
	}
	if len(pending) > 0 {
		return unknown(kind, api.ReasonDNSPending, "The record is not published yet: "+strings.Join(pending, "; "))
	}
	return isTrue(kind, "NoFailedZones", "The record is published in all zones")
}
