package dns

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, dnsName string
		kind          hook.RecordType
		targets       []string
		want          string // part of the problem, empty for none
	}{
		{"wildcard", "*.apps.example.com.", hook.RecordA, []string{"198.18.0.1"}, ""},
		{"IPv6", "a.example.com.", hook.RecordAAAA, []string{"2001:db8::1"}, ""},
		{"name", "a.example.com.", hook.RecordCNAME, []string{"LB.example.net."}, ""},
		{"no name", "a b.example.com.", hook.RecordA, []string{"198.18.0.1"}, "spec.dnsName"},
		{"IPv6 as A", "a.example.com.", hook.RecordA, []string{"198.18.0.1", "2001:db8::1"}, "spec.targets[1]"},
		{"IPv4 as AAAA", "a.example.com.", hook.RecordAAAA, []string{"198.18.0.1"}, "spec.targets[0]"},
		{"with a zone", "a.example.com.", hook.RecordAAAA, []string{"fe80::1%eth0"}, "spec.targets[0]"},
		{"two names", "a.example.com.", hook.RecordCNAME, []string{"a.example.net", "b.example.net"}, "has one target"},
		{"no host name", "a.example.com.", hook.RecordCNAME, []string{"a_b c"}, "spec.targets[0]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := check(&hook.Record{Name: test.dnsName, Type: test.kind, Targets: test.targets})
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNameHolder(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	record := func(name string, age time.Duration, change func(*iov1.DNSRecord)) iov1.DNSRecord {
		d := iov1.DNSRecord{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start.Add(-age))},
			Spec:       iov1.DNSRecordSpec{DNSName: "*.apps.example.com.", RecordType: iov1.ARecordType},
		}
		if change != nil {
			change(&d)
		}
		return d
	}
	family := func(d *iov1.DNSRecord) { d.Labels = map[string]string{api.LabelOwningIngressController: "default"} }
	for _, test := range []struct {
		name  string
		other iov1.DNSRecord
		want  string
	}{
		{"older", record("other", 2*time.Hour, nil), "other"},
		{"older, written otherwise", record("other", 2*time.Hour, func(d *iov1.DNSRecord) { d.Spec.DNSName = "*.Apps.example.com" }), "other"},
		{"older, of somebody else to publish", record("other", 2*time.Hour, func(d *iov1.DNSRecord) { d.Spec.DNSManagementPolicy = iov1.UnmanagedDNS }), "other"},
		{"younger", record("other", time.Minute, nil), ""},
		{"as old, first by name", record("a", time.Hour, nil), "a"},
		{"as old, last by name", record("z", time.Hour, nil), ""},
		{"another name", record("other", 2*time.Hour, func(d *iov1.DNSRecord) { d.Spec.DNSName = "*.b.example.com." }), ""},
		{"being deleted", record("other", 2*time.Hour, func(d *iov1.DNSRecord) { d.DeletionTimestamp = &metav1.Time{Time: start} }), ""},
		{"the other family", record("other", 2*time.Hour, func(d *iov1.DNSRecord) { family(d); d.Spec.RecordType = iov1.AAAARecordType }), ""},
		{"a name beside addresses", record("other", 2*time.Hour, func(d *iov1.DNSRecord) { family(d); d.Spec.RecordType = iov1.CNAMERecordType }), "other"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mine := record("mine", time.Hour, family)
			got := ""
			if c := nameHolder(&mine, []iov1.DNSRecord{mine, test.other}); c != nil {
				got = c.Name
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestClusterSettings(t *testing.T) {
	t.Parallel()
	spec := &configv1.DNSSpec{
		PublicZone: &configv1.DNSZone{ID: "ZPUBLIC"}, PrivateZone: &configv1.DNSZone{Tags: map[string]string{"kind": "private"}},
		Platform: configv1.DNSPlatformSpec{Type: configv1.AWSPlatformType, AWS: &configv1.AWSDNSSpec{PrivateZoneIAMRole: "arn:aws:iam::1:role/x"}},
	}
	if got := zonesOf(spec); len(got) != 2 || !got[0].Private || got[1].Private || got[1].ID != "ZPUBLIC" {
		t.Errorf("zones %+v, want the private one first", got)
	}
	for want, of := range map[string]*configv1.DNSSpec{"arn:aws:iam::1:role/x": spec, "": nil} {
		if got := PrivateZoneRole(of); got != want {
			t.Errorf("role %q, want %q", got, want)
		}
	}
	if got := PrivateZoneRole(&configv1.DNSSpec{}); got != "" {
		t.Errorf("role %q of an object that names none", got)
	}
}
