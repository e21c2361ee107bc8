package operator

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNotOurName(t *testing.T) {
	t.Parallel()
	of := func(base string) *configv1.DNSSpec { return &configv1.DNSSpec{BaseDomain: base} }
	for _, test := range []struct {
		name    string
		domain  string
		options Options
		cluster *configv1.DNSSpec
		want    string // part of the reason, empty if the name is ours
	}{
		{"below", "apps.c1.example.com", Options{DNS: true}, of("c1.example.com"), ""},
		{"the base domain itself", "c1.example.com", Options{DNS: true}, of("c1.example.com."), ""},
		{"letters and dots", "apps.C1.example.com.", Options{DNS: true}, of(".c1.Example.com"), ""},
		{"outside", "apps.example.org", Options{DNS: true}, of("c1.example.com"), "does not lie in c1.example.com, which dns.config"},
		{"only looks like it", "apps.xc1.example.com", Options{DNS: true}, of("c1.example.com"), "does not lie in"},
		{"no base domain", "apps.example.com", Options{DNS: true}, of(""), "has no baseDomain"},
		{"no such object", "apps.example.com", Options{DNS: true}, nil, ""},
		{"nobody publishes anyway", "apps.example.org", Options{}, of("c1.example.com"), ""},
		{"zones are named", "apps.example.org", Options{DNS: true, DNSZones: true}, of("c1.example.com"), ""},
		{"by flag", "apps.example.org", Options{DNS: true, DNSZones: true, DNSBaseDomain: "example.com"}, nil, "--dns-base-domain"},
		{"by flag, below", "apps.example.com", Options{DNS: true, DNSBaseDomain: "example.com"}, of("example.org"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := notOurName(test.domain, test.options, test.cluster)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestForcedUnmanaged: the wish of the IngressController stays as it is, and
// the records and conditions say what happens.
func TestForcedUnmanaged(t *testing.T) {
	t.Parallel()
	ic := ingressController(withStrategy(operatorv1.EndpointPublishingStrategy{
		Type:         operatorv1.LoadBalancerServiceStrategyType,
		LoadBalancer: &operatorv1.LoadBalancerStrategy{Scope: operatorv1.ExternalLoadBalancer, DNSManagementPolicy: operatorv1.ManagedLoadBalancerDNS},
	}))
	ic.Spec.Domain = "apps.example.org"
	s := settingsOf(ic, cluster{dns: &configv1.DNSSpec{BaseDomain: "example.com"}}, Options{DNS: true})
	if got := s.strategy.LoadBalancer.DNSManagementPolicy; got != operatorv1.UnmanagedLoadBalancerDNS {
		t.Errorf("effective policy %s", got)
	}
	if got := ic.Spec.EndpointPublishingStrategy.LoadBalancer.DNSManagementPolicy; got != operatorv1.ManagedLoadBalancerDNS {
		t.Errorf("the wish became %s", got)
	}
	in := well()
	in.s, in.dns = s, true
	c := dnsConditions(in)
	if len(c) != 1 || c[0].status != operatorv1.ConditionFalse || c[0].reason != "UnmanagedLoadBalancerDNS" || !strings.Contains(c[0].message, "apps.example.org") {
		t.Errorf("conditions %+v", c)
	}
}

// TestUnmanagedEnds: what was forced does not stay in the status for ever.
func TestUnmanagedEnds(t *testing.T) {
	t.Parallel()
	ic := ingressController()
	options := Options{DNS: true, Domain: "apps.example.com"}
	outside := settingsOf(ic, cluster{provider: true, dns: &configv1.DNSSpec{BaseDomain: "example.org"}}, options)
	ic.Status.EndpointPublishingStrategy = &outside.strategy
	again := settingsOf(ic, cluster{provider: true, dns: &configv1.DNSSpec{BaseDomain: "example.com"}}, options)
	before, after := outside.strategy.LoadBalancer.DNSManagementPolicy, again.strategy.LoadBalancer.DNSManagementPolicy
	if before != operatorv1.UnmanagedLoadBalancerDNS || after != operatorv1.ManagedLoadBalancerDNS {
		t.Errorf("outside %s, then inside %s", before, after)
	}
}

// TestNameByService: external-dns is asked by annotations, which go again with
// the wish for them; an administrator's own stay.
func TestNameByService(t *testing.T) {
	t.Parallel()
	ic := ingressController()
	options := Options{DNSByService: true, Domain: "apps.example.com"}
	s := settingsOf(ic, cluster{provider: true}, options)
	first, _ := desiredLoadBalancerService(s)
	namedService(first, nil, s)
	if got := first.Annotations[annotationExternalName]; got != "*.apps.example.com" {
		t.Errorf("annotation %q", got)
	}
	first.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}
	if records := desiredDNSRecords(s, ic, first); len(records) != 1 || records[0].Spec.DNSManagementPolicy != iov1.UnmanagedDNS {
		t.Errorf("records %+v", records)
	}
	in := well()
	in.s = s
	if c := dnsConditions(in); len(c) != 1 || c[0].status != operatorv1.ConditionFalse || !strings.Contains(c[0].message, annotationExternalName) {
		t.Errorf("conditions %+v", c)
	}

	theirs := first.DeepCopy()
	theirs.Annotations = map[string]string{annotationExternalName: "www.example.com"}
	desired, _ := desiredLoadBalancerService(s)
	namedService(desired, theirs, s)
	if updated, _ := changedLoadBalancerService(theirs, desired); updated.Annotations[annotationExternalName] != "www.example.com" {
		t.Errorf("the administrator's annotation became %q", updated.Annotations[annotationExternalName])
	}

	off := settingsOf(ic, cluster{provider: true}, Options{Domain: "apps.example.com"})
	desired, _ = desiredLoadBalancerService(off)
	namedService(desired, first, off)
	if updated, _ := changedLoadBalancerService(first, desired); updated.Annotations[annotationExternalName] != "" {
		t.Errorf("the annotation stays: %q", updated.Annotations[annotationExternalName])
	}
}

// TestPendingNameIsNoAlarm: while a DNS service spreads a name it is not
// Degraded, for a while; a name that is refused is, soon.
func TestPendingNameIsNoAlarm(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name     string
		status   operatorv1.ConditionStatus
		age      time.Duration
		degraded bool
	}{
		{"spreads", operatorv1.ConditionUnknown, 4 * time.Minute, false},
		{"does not spread", operatorv1.ConditionUnknown, 5 * time.Minute, true},
		{"refused just now", operatorv1.ConditionFalse, 29 * time.Second, false},
		{"refused", operatorv1.ConditionFalse, 30 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			list := []operatorv1.OperatorCondition{{Type: conditionDNSReady, Status: test.status, LastTransitionTime: metav1.NewTime(now.Add(-test.age))}}
			for _, kind := range withDNS() {
				list = append(list, operatorv1.OperatorCondition{Type: kind, Status: operatorv1.ConditionTrue})
			}
			if c, again := degradedCondition(list, now); (c.status == operatorv1.ConditionTrue) != test.degraded || again <= 0 {
				t.Errorf("Degraded is %s, again in %v", c.status, again)
			}
		})
	}
}
