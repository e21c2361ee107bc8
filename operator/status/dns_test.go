package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/test/build"
)

// TestDNSConditions: DNSManaged and DNSReady say how things stand, and why.
func TestDNSConditions(t *testing.T) {
	t.Parallel()
	zone := func(id string, status operatorv1.ConditionStatus, reason api.Reason) iov1.DNSZoneStatus {
		z := iov1.DNSZoneStatus{Conditions: []iov1.DNSZoneCondition{
			{Type: iov1.DNSRecordPublishedConditionType, Status: string(status), Reason: string(reason), Message: "because of " + id},
			{Type: api.ConditionDNSWritten, Status: string(operatorv1.ConditionFalse)},
		}}
		z.DNSZone.ID = id
		return z
	}
	well := zone("Z1", operatorv1.ConditionTrue, api.ReasonDNSPublished)
	pending := zone("Z2", operatorv1.ConditionUnknown, api.ReasonDNSPending)
	open := zone("Z3", operatorv1.ConditionUnknown, api.ReasonUnmanagedDNS)
	failed := zone("Z4", operatorv1.ConditionFalse, api.ReasonDNSProviderError)
	unmanaged := operatorv1.EndpointPublishingStrategy{
		Type:         operatorv1.LoadBalancerServiceStrategyType,
		LoadBalancer: &operatorv1.LoadBalancerStrategy{Scope: operatorv1.ExternalLoadBalancer, DNSManagementPolicy: operatorv1.UnmanagedLoadBalancerDNS},
	}
	const managed = "DNSManaged=True Normal"
	for _, test := range []struct {
		name     string
		options  effective.Defaults
		strategy *operatorv1.EndpointPublishingStrategy
		records  [][]iov1.DNSZoneStatus // the zones of each record
		want     []string
		message  string // part of the last condition's
	}{
		{"no provider", effective.Defaults{}, nil, nil, []string{"DNSManaged=False NoDNSZones"}, "--dns"},
		{"no load balancer", effective.Defaults{DNS: true}, &operatorv1.EndpointPublishingStrategy{Type: operatorv1.HostNetworkStrategyType}, nil, []string{"DNSManaged=False UnsupportedEndpointPublishingStrategy"}, "HostNetwork"},
		{"unmanaged", effective.Defaults{DNS: true}, &unmanaged, nil, []string{"DNSManaged=False UnmanagedLoadBalancerDNS"}, "*.apps.example.com"},
		{"no record", effective.Defaults{DNS: true}, nil, nil, []string{managed, "DNSReady=False RecordNotFound"}, "has an address"},
		{"no zones", effective.Defaults{DNS: true}, nil, [][]iov1.DNSZoneStatus{{}}, []string{managed, "DNSReady=False NoZones"}, ""},
		{"well", effective.Defaults{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well}, {well}}, []string{managed, "DNSReady=True NoFailedZones"}, ""},
		{"one zone failed", effective.Defaults{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well, pending, open}, {failed}}, []string{managed, "DNSReady=False FailedZones"}, "because of Z4"},
		{"one zone is nobody's", effective.Defaults{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well, pending, open}}, []string{managed, "DNSReady=False UnknownZones"}, "because of Z3"},
		{"one zone is pending", effective.Defaults{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well}, {pending}}, []string{managed, "DNSReady=Unknown PublishPending"}, "because of Z2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := build.IngressController()
			if test.strategy != nil {
				ic = build.IngressController(build.Strategy(*test.strategy))
			}
			test.options.Domain = "apps.example.com"
			in := Input{IC: ic, Settings: effective.Of(ic, effective.Cluster{Provider: true}, test.options), DNS: test.options.DNS}
			for _, zones := range test.records {
				in.Records = append(in.Records, iov1.DNSRecord{Status: iov1.DNSRecordStatus{Zones: zones}})
			}
			var got []string
			last := ""
			for _, c := range dnsConditions(in) {
				got = append(got, c.kind+"="+string(c.status)+" "+string(c.reason))
				last = c.message
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !strings.Contains(last, test.message) {
				t.Errorf("(-want +got)\n%s\nmessage %q, want %q", diff, last, test.message)
			}
		})
	}
}
