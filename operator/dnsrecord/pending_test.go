package dnsrecord

import (
	"testing"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
)

// TestNamePending: a former load balancer may go when the record leads to the
// new one in every zone.
func TestNamePending(t *testing.T) {
	t.Parallel()
	const host = "new.elb.example.net"
	published := func(status operatorv1.ConditionStatus) iov1.DNSZoneStatus {
		return iov1.DNSZoneStatus{Conditions: []iov1.DNSZoneCondition{{Type: iov1.DNSRecordPublishedConditionType, Status: string(status)}}}
	}
	for _, c := range []struct {
		name   string
		change func(*iov1.DNSRecord)
		want   bool
	}{
		{"published", func(*iov1.DNSRecord) {}, false},
		{"leads to the former", func(d *iov1.DNSRecord) { d.Spec.Targets = []string{"old.elb.example.net."} }, true},
		{"written, not looked at", func(d *iov1.DNSRecord) { d.Generation++ }, true},
		{"no zone yet", func(d *iov1.DNSRecord) { d.Status.Zones = nil }, true},
		{"pending in one zone", func(d *iov1.DNSRecord) {
			d.Status.Zones = append(d.Status.Zones, published(operatorv1.ConditionUnknown))
		}, true},
		{"refused", func(d *iov1.DNSRecord) {
			d.Status.Zones = []iov1.DNSZoneStatus{published(operatorv1.ConditionFalse)}
		}, true},
		{"not ours to publish", func(d *iov1.DNSRecord) {
			d.Spec.DNSManagementPolicy, d.Spec.Targets = iov1.UnmanagedDNS, []string{"old.elb.example.net."}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := &iov1.DNSRecord{Spec: iov1.DNSRecordSpec{Targets: []string{host + "."}, DNSManagementPolicy: iov1.ManagedDNS}}
			d.Generation, d.Status.ObservedGeneration = 2, 2
			d.Status.Zones = []iov1.DNSZoneStatus{published(operatorv1.ConditionTrue)}
			c.change(d)
			if got := pending(d, []string{host}); got != c.want {
				t.Errorf("pending: %v", got)
			}
		})
	}
}
