package dns

import (
	"cmp"
	"maps"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// outcome is how things stand in one zone.
type outcome struct {
	zone    configv1.DNSZone
	status  operatorv1.ConditionStatus
	reason  api.Reason
	message string
	// written says that the zone has, or may have, a record of ours: it is to
	// be taken out again one day.
	written bool
	// change is the provider's id of the last change, if it has one.
	change string
	// retry is when to look again; 0 leaves it to what is usual.
	retry time.Duration
}

// observed is what the status of a DNSRecord said of a zone until now.
func observed(d *iov1.DNSRecord, zone configv1.DNSZone) outcome {
	o := outcome{zone: zone, status: operatorv1.ConditionFalse}
	s := statusZone(d.Status.Zones, zone)
	if s == nil {
		return o
	}
	if c := conditionOf(*s, iov1.DNSRecordPublishedConditionType); c != nil {
		o.status, o.reason, o.message = operatorv1.ConditionStatus(c.Status), api.Reason(c.Reason), c.Message
	}
	o.written = isWritten(*s)
	if c := conditionOf(*s, api.ConditionDNSWritten); c != nil && o.written {
		o.change = c.Message
	}
	return o
}

// with is the outcome of a write, where before is what was known.
func (before outcome) with(result *hook.RecordResult, err error) outcome {
	o := outcome{zone: before.zone, status: operatorv1.ConditionFalse, reason: api.ReasonDNSProviderError, written: before.written, change: before.change}
	if err != nil {
		e := hook.AsError(err)
		o.message, o.retry = terminal.Excerpt(err.Error(), hook.MaxText), e.RetryAfter
		switch e.Class {
		case hook.ClassConflict:
			o.reason = api.ReasonDomainAlreadyInUse
		case hook.ClassThrottled, hook.ClassQuota:
			// Asking as often as ever would keep it that way.
			o.retry = max(e.RetryAfter, slowRetry)
		default:
		}
		return o
	}
	o.written, o.change = true, cmp.Or(result.Handle, before.change)
	if result.Pending {
		o.status, o.reason = operatorv1.ConditionUnknown, api.ReasonDNSPending
		o.message = cmp.Or(result.Message, "The DNS provider took the record, and has not published it yet")
		o.retry = cmp.Or(result.RetryAfter.Std(), pendingRetry)
		return o
	}
	o.status, o.reason, o.message = operatorv1.ConditionTrue, api.ReasonDNSPublished, "The DNS provider succeeded in ensuring the record"
	if result.Message != "" {
		o.message += ": " + result.Message
	}
	return o
}

const (
	slowRetry    = 5 * time.Minute
	pendingRetry = 5 * time.Second
)

// conditionOf returns a condition of a zone, or nil.
func conditionOf(zone iov1.DNSZoneStatus, kind string) *iov1.DNSZoneCondition {
	i := slices.IndexFunc(zone.Conditions, func(c iov1.DNSZoneCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &zone.Conditions[i]
}

// isWritten reports whether a zone has, or may have, a record of ours. An
// earlier version only said whether it is published.
func isWritten(zone iov1.DNSZoneStatus) bool {
	c := conditionOf(zone, api.ConditionDNSWritten)
	if c == nil {
		c = conditionOf(zone, iov1.DNSRecordPublishedConditionType)
	}
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
		list := []iov1.DNSZoneCondition{{
			Type: iov1.DNSRecordPublishedConditionType, Status: string(o.status), Reason: string(o.reason), Message: o.message,
		}}
		old := statusZone(d.Status.Zones, o.zone)
		switch {
		case o.written:
			list = append(list, iov1.DNSZoneCondition{Type: api.ConditionDNSWritten, Status: string(operatorv1.ConditionTrue), Reason: string(api.ReasonDNSWritten), Message: o.change})
		case old != nil && conditionOf(*old, api.ConditionDNSWritten) != nil:
			list = append(list, iov1.DNSZoneCondition{Type: api.ConditionDNSWritten, Status: string(operatorv1.ConditionFalse), Reason: string(api.ReasonDNSRemoved)})
		}
		for i := range list {
			list[i].LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
			if old == nil {
				continue
			}
			if c := conditionOf(*old, list[i].Type); c != nil && c.Status == list[i].Status {
				list[i].LastTransitionTime = c.LastTransitionTime
			}
		}
		status.Zones = append(status.Zones, iov1.DNSZoneStatus{DNSZone: o.zone, Conditions: list})
	}
	return status
}

// forgotten returns how long resolvers may still remember a name that was
// removed, as the status has it, at most limit.
func forgotten(status iov1.DNSRecordStatus, ttl, limit time.Duration, now time.Time) time.Duration {
	var left time.Duration
	for _, z := range status.Zones {
		c := conditionOf(z, api.ConditionDNSWritten)
		if c == nil || c.Reason != string(api.ReasonDNSRemoved) {
			continue
		}
		left = max(left, c.LastTransitionTime.Add(min(ttl, limit)).Sub(now))
	}
	return left
}

// aliasTTL is how long answers of Route 53 for a load balancer's alias live.
const aliasTTL = 60 * time.Second

// ttlOf returns how long resolvers may keep an answer for a record.
func ttlOf(r *hook.Record) time.Duration {
	if r.TargetZone != "" {
		return aliasTTL
	}
	return time.Duration(r.TTL) * time.Second
}
