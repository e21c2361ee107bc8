package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// NamePending returns a function that reports whether a router's wildcard name
// is yet to follow what its Service publishes. It reads DNSRecords of c. A name
// that the operator does not publish is never waited for.
func NamePending(c client.Reader) func(context.Context, *corev1.Service) (bool, error) {
	return func(ctx context.Context, service *corev1.Service) (bool, error) {
		ic, ok := strings.CutPrefix(service.Name, api.RouterName(""))
		if !ok {
			return false, nil
		}
		for _, name := range []string{api.DNSRecordName(ic), api.DNSRecordNameIPv6(ic)} {
			d, err := getOrNil(ctx, c, client.ObjectKey{Namespace: api.OperatorNamespace, Name: name}, &iov1.DNSRecord{})
			if err != nil {
				return false, fmt.Errorf("look whether the name of Service %s follows it: %w", service.Name, err)
			}
			if d != nil && namePending(d, serviceAddresses(service)) {
				return true, nil
			}
		}
		return false, nil
	}
}

// namePending reports whether a record does not lead to addresses in all of its
// zones yet.
func namePending(d *iov1.DNSRecord, addresses []string) bool {
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
