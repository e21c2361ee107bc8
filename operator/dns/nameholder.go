package dns

import (
	"strings"

	iov1 "github.com/openshift/api/operatoringress/v1"

	"github.com/fairlead/fairlead/api"
)

// nameHolder returns the record that has a name before d has it: the oldest. It
// is nil if d has the name itself. Records that are being deleted have none;
// those that others publish (Unmanaged) do.
func nameHolder(d *iov1.DNSRecord, all []iov1.DNSRecord) *iov1.DNSRecord {
	first := d
	for i := range all {
		o := &all[i]
		if o.UID == d.UID || !o.DeletionTimestamp.IsZero() || !sameName(o, d) || together(o, d) {
			continue
		}
		if older(o, first) {
			first = o
		}
	}
	if first == d {
		return nil
	}
	return first
}

func sameName(a, b *iov1.DNSRecord) bool {
	return strings.EqualFold(strings.TrimSuffix(a.Spec.DNSName, "."), strings.TrimSuffix(b.Spec.DNSName, "."))
}

// together reports whether two records are the IPv4 and the IPv6 addresses of
// one IngressController.
func together(a, b *iov1.DNSRecord) bool {
	owner := a.Labels[api.LabelOwningIngressController]
	return owner != "" && owner == b.Labels[api.LabelOwningIngressController] && a.Namespace == b.Namespace &&
		a.Spec.RecordType != b.Spec.RecordType && a.Spec.RecordType != iov1.CNAMERecordType && b.Spec.RecordType != iov1.CNAMERecordType
}

func older(a, b *iov1.DNSRecord) bool {
	switch {
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	case a.Namespace != b.Namespace:
		return a.Namespace < b.Namespace
	}
	return a.Name < b.Name
}
