package dnsrecord

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/test/build"
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
			ic := build.IngressController()
			s := effective.Of(ic, effective.Cluster{Provider: true}, effective.Defaults{DNS: true, Domain: "apps.example.com"})
			balancer := &corev1.Service{}
			balancer.Status.LoadBalancer.Ingress = test.ingress
			var got []want
			for _, d := range Desired(s, ic, balancer) {
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
	ic := build.IngressController()
	balancer := &corev1.Service{}
	balancer.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.net"}}
	s := effective.Of(ic, effective.Cluster{Provider: true}, effective.Defaults{DNS: true, DNSTTL: 5 * time.Minute, Domain: "apps.example.com"})
	if records := Desired(s, ic, balancer); len(records) != 1 || records[0].Spec.RecordTTL != 300 {
		t.Errorf("records %+v", records)
	}
	s = effective.Of(ic, effective.Cluster{Provider: true}, effective.Defaults{DNSByService: true, DNSTTL: 5 * time.Minute, Domain: "apps.example.com"})
	asking, _ := service.DesiredLoadBalancer(s, ic, nil)
	if got := asking.Annotations[service.AnnotationExternalTTL]; got != "300" {
		t.Errorf("annotation %q", got)
	}
}

// TestDNSRecordKeepsTheTargetZone: what the load balancer's hook told stands in
// the record, so that it can be removed when the load balancer is gone.
func TestDNSRecordKeepsTheTargetZone(t *testing.T) {
	t.Parallel()
	ic := build.IngressController()
	ic.Annotations = map[string]string{api.AnnotationAdoptDNSRecord: "true"}
	s := effective.Of(ic, effective.Cluster{Provider: true}, effective.Defaults{DNS: true, Domain: "apps.example.com"})
	balancer := &corev1.Service{}
	balancer.Annotations = map[string]string{api.AnnotationTargetZone: "Z1", api.AnnotationTargetDualStack: "true", "other": "x"}
	balancer.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.net"}}
	records := Desired(s, ic, balancer)
	if len(records) != 1 {
		t.Fatalf("%d records", len(records))
	}
	want := map[string]string{api.AnnotationTargetZone: "Z1", api.AnnotationTargetDualStack: "true", api.AnnotationAdoptDNSRecord: "true"}
	if diff := cmp.Diff(want, records[0].Annotations); diff != "" {
		t.Errorf("annotations (-want +got)\n%s", diff)
	}
}
