package operator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
)

// TestDesiredDNSRecords: the name follows what the load balancer has.
func TestDesiredDNSRecords(t *testing.T) {
	t.Parallel()
	ip := func(a string) corev1.LoadBalancerIngress { return corev1.LoadBalancerIngress{IP: a} }
	host := corev1.LoadBalancerIngress{Hostname: "r-0123.elb.eu-central-1.amazonaws.com"}
	type want struct {
		name    string
		kind    iov1.DNSRecordType
		targets []string
	}
	for _, test := range []struct {
		name    string
		ingress []corev1.LoadBalancerIngress
		want    []want
	}{
		{"no address yet", nil, nil},
		{"a host name", []corev1.LoadBalancerIngress{host}, []want{{"a-wildcard", iov1.CNAMERecordType, []string{host.Hostname + "."}}}},
		{"addresses", []corev1.LoadBalancerIngress{ip("198.18.0.2"), ip("198.18.0.1")}, []want{{"a-wildcard", iov1.ARecordType, []string{"198.18.0.1", "198.18.0.2"}}}},
		{"IPv6 alone", []corev1.LoadBalancerIngress{ip("2001:db8::1")}, []want{{"a-wildcard", iov1.AAAARecordType, []string{"2001:db8::1"}}}},
		{"both families", []corev1.LoadBalancerIngress{ip("2001:db8::1"), ip("198.18.0.1")}, []want{
			{"a-wildcard", iov1.ARecordType, []string{"198.18.0.1"}}, {"a-wildcard-ipv6", iov1.AAAARecordType, []string{"2001:db8::1"}},
		}},
		{"name and address", []corev1.LoadBalancerIngress{host, ip("198.18.0.1")}, []want{{"a-wildcard", iov1.ARecordType, []string{"198.18.0.1"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := ingressController()
			s := settingsOf(ic, cluster{provider: true}, Options{DNS: true, Domain: "apps.example.com"})
			service := &corev1.Service{}
			service.Status.LoadBalancer.Ingress = test.ingress
			var got []want
			for _, d := range desiredDNSRecords(s, ic, service) {
				got = append(got, want{d.Name, d.Spec.RecordType, d.Spec.Targets})
				if d.Namespace != api.OperatorNamespace || d.Spec.DNSName != "*.apps.example.com." || d.Spec.RecordTTL != 30 || d.Spec.DNSManagementPolicy != iov1.ManagedDNS {
					t.Errorf("%+v", d)
				}
				if o := d.OwnerReferences; len(o) != 1 || o[0].Kind != "IngressController" || o[0].Name != ic.Name {
					t.Errorf("owners %+v", o)
				}
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestDNSTTL: the operator's setting stands in the record, or in what external-dns
// is asked by.
func TestDNSTTL(t *testing.T) {
	t.Parallel()
	ic := ingressController()
	service := &corev1.Service{}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.net"}}
	s := settingsOf(ic, cluster{provider: true}, Options{DNS: true, DNSTTL: 5 * time.Minute, Domain: "apps.example.com"})
	if records := desiredDNSRecords(s, ic, service); len(records) != 1 || records[0].Spec.RecordTTL != 300 {
		t.Errorf("records %+v", records)
	}
	s = settingsOf(ic, cluster{provider: true}, Options{DNSByService: true, DNSTTL: 5 * time.Minute, Domain: "apps.example.com"})
	asking, _ := desiredLoadBalancerService(s)
	namedService(asking, nil, s)
	if got := asking.Annotations[annotationExternalTTL]; got != "300" {
		t.Errorf("annotation %q", got)
	}
}

// TestDNSRecordKeepsTheTargetZone: what the load balancer's hook told stands in
// the record, so that it can be removed when the load balancer is gone.
func TestDNSRecordKeepsTheTargetZone(t *testing.T) {
	t.Parallel()
	ic := ingressController()
	ic.Annotations = map[string]string{api.AnnotationAdoptDNSRecord: "true"}
	s := settingsOf(ic, cluster{provider: true}, Options{DNS: true, Domain: "apps.example.com"})
	service := &corev1.Service{}
	service.Annotations = map[string]string{api.AnnotationTargetZone: "Z1", api.AnnotationTargetDualStack: "true", "other": "x"}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.net"}}
	records := desiredDNSRecords(s, ic, service)
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	want := map[string]string{api.AnnotationTargetZone: "Z1", api.AnnotationTargetDualStack: "true", api.AnnotationAdoptDNSRecord: "true"}
	if diff := cmp.Diff(want, records[0].Annotations); diff != "" {
		t.Errorf("annotations (-want +got)\n%s", diff)
	}
}

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
		options  Options
		strategy *operatorv1.EndpointPublishingStrategy
		records  [][]iov1.DNSZoneStatus // the zones of each record
		want     []string
		message  string // part of the last condition's
	}{
		{"no provider", Options{}, nil, nil, []string{"DNSManaged=False NoDNSZones"}, "--dns"},
		{"no load balancer", Options{DNS: true}, &operatorv1.EndpointPublishingStrategy{Type: operatorv1.HostNetworkStrategyType}, nil, []string{"DNSManaged=False UnsupportedEndpointPublishingStrategy"}, "HostNetwork"},
		{"unmanaged", Options{DNS: true}, &unmanaged, nil, []string{"DNSManaged=False UnmanagedLoadBalancerDNS"}, "*.apps.example.com"},
		{"no record", Options{DNS: true}, nil, nil, []string{managed, "DNSReady=False RecordNotFound"}, "has an address"},
		{"no zones", Options{DNS: true}, nil, [][]iov1.DNSZoneStatus{{}}, []string{managed, "DNSReady=False NoZones"}, ""},
		{"well", Options{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well}, {well}}, []string{managed, "DNSReady=True NoFailedZones"}, ""},
		{"one zone failed", Options{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well, pending, open}, {failed}}, []string{managed, "DNSReady=False FailedZones"}, "because of Z4"},
		{"one zone is nobody's", Options{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well, pending, open}}, []string{managed, "DNSReady=False UnknownZones"}, "because of Z3"},
		{"one zone is pending", Options{DNS: true}, nil, [][]iov1.DNSZoneStatus{{well}, {pending}}, []string{managed, "DNSReady=Unknown PublishPending"}, "because of Z2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ic := ingressController()
			if test.strategy != nil {
				ic = ingressController(withStrategy(*test.strategy))
			}
			test.options.Domain = "apps.example.com"
			in := statusInput{ic: ic, s: settingsOf(ic, cluster{provider: true}, test.options), dns: test.options.DNS}
			for _, zones := range test.records {
				in.records = append(in.records, iov1.DNSRecord{Status: iov1.DNSRecordStatus{Zones: zones}})
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
