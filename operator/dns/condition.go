package dns

import (
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// outcome is how publishing in one zone went.
type outcome struct {
	zone    configv1.DNSZone
	status  operatorv1.ConditionStatus
	reason  api.Reason
	message string
}

// published returns the outcome of a write.
func published(zone configv1.DNSZone, err error) outcome {
	o := outcome{zone: zone, status: operatorv1.ConditionFalse, reason: api.ReasonDNSProviderError}
	switch {
	case err == nil:
		o.status, o.reason, o.message = operatorv1.ConditionTrue, api.ReasonDNSPublished, "The DNS provider succeeded in ensuring the record"
		return o
	case hook.ClassOf(err) == hook.ClassConflict:
		o.reason = api.ReasonDomainAlreadyInUse
	}
	o.message = err.Error()
	return o
}

// conditionOf returns the condition Published of a zone, or nil.
func conditionOf(zone iov1.DNSZoneStatus) *iov1.DNSZoneCondition {
	i := slices.IndexFunc(zone.Conditions, func(c iov1.DNSZoneCondition) bool { return c.Type == iov1.DNSRecordPublishedConditionType })
	if i < 0 {
		return nil
	}
	return &zone.Conditions[i]
}

// isPublished reports whether a zone has the record.
func isPublished(zone iov1.DNSZoneStatus) bool {
	c := conditionOf(zone)
	return c != nil && c.Status == string(operatorv1.ConditionTrue)
}

// statusZone returns the status of a zone, or nil.
func statusZone(list []iov1.DNSZoneStatus, zone configv1.DNSZone) *iov1.DNSZoneStatus {
	i := slices.IndexFunc(list, func(s iov1.DNSZoneStatus) bool { return sameZone(s.DNSZone, zone) })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func sameZone(a, b configv1.DNSZone) bool {
	return a.ID == b.ID && maps.Equal(a.Tags, b.Tags)
}

// statusOf returns the status after the outcomes of all zones. A condition
// whose status stays keeps its time.
func statusOf(d *iov1.DNSRecord, outcomes []outcome, now time.Time) iov1.DNSRecordStatus {
	status := iov1.DNSRecordStatus{ObservedGeneration: d.Generation}
	for _, o := range outcomes {
		c := iov1.DNSZoneCondition{
			Type:               iov1.DNSRecordPublishedConditionType,
			Status:             string(o.status),
			Reason:             string(o.reason),
			Message:            o.message,
			LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		}
		if old := statusZone(d.Status.Zones, o.zone); old != nil {
			if oc := conditionOf(*old); oc != nil && oc.Status == c.Status {
				c.LastTransitionTime = oc.LastTransitionTime
			}
		}
		status.Zones = append(status.Zones, iov1.DNSZoneStatus{DNSZone: o.zone, Conditions: []iov1.DNSZoneCondition{c}})
	}
	return status
}
