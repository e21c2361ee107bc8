package dnsrecord

import (
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
)

// pending reports whether a record does not lead to addresses in all of its
// zones yet.
func pending(d *iov1.DNSRecord, addresses []string) bool {
	if d.Spec.DNSManagementPolicy == iov1.UnmanagedDNS {
		return false
	}
	stale := slices.ContainsFunc(d.Spec.Targets, func(t string) bool { return !slices.Contains(addresses, strings.TrimSuffix(t, ".")) })
	if stale || d.Status.ObservedGeneration != d.Generation || len(d.Status.Zones) == 0 {
		return true
	}
	return slices.ContainsFunc(d.Status.Zones, func(z iov1.DNSZoneStatus) bool {
		return !slices.ContainsFunc(z.Conditions, func(c iov1.DNSZoneCondition) bool {
			return c.Type == iov1.DNSRecordPublishedConditionType && c.Status == string(operatorv1.ConditionTrue)
		})
	})
}
