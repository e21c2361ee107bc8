package status

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/operator/dnsrecord"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/service"
	"github.com/fairlead/fairlead/test/build"
)

// TestForcedUnmanaged: the wish of the IngressController stays as it is, and
// the records and conditions say what happens.
func TestForcedUnmanaged(t *testing.T) {
	t.Parallel()
	ic := build.IngressController(build.Strategy(operatorv1.EndpointPublishingStrategy{
		Type:         operatorv1.LoadBalancerServiceStrategyType,
		LoadBalancer: &operatorv1.LoadBalancerStrategy{Scope: operatorv1.ExternalLoadBalancer, DNSManagementPolicy: operatorv1.ManagedLoadBalancerDNS},
	}))
	ic.Spec.Domain = "apps.example.org"
	s := effective.Of(ic, effective.Cluster{DNS: &configv1.DNSSpec{BaseDomain: "example.com"}}, effective.Defaults{DNS: true})
	if got := s.Strategy.LoadBalancer.DNSManagementPolicy; got != operatorv1.UnmanagedLoadBalancerDNS {
		t.Errorf("effective policy %s", got)
	}
	if got := ic.Spec.EndpointPublishingStrategy.LoadBalancer.DNSManagementPolicy; got != operatorv1.ManagedLoadBalancerDNS {
		t.Errorf("the wish became %s", got)
	}
	in := well()
	in.Settings, in.DNS = s, true
	c := dnsConditions(in)
	if len(c) != 1 || c[0].status != operatorv1.ConditionFalse || c[0].reason != "UnmanagedLoadBalancerDNS" || !strings.Contains(c[0].message, "apps.example.org") {
		t.Errorf("conditions %+v", c)
	}
}

// TestUnmanagedEnds: what was forced does not stay in the status for ever.
func TestUnmanagedEnds(t *testing.T) {
	t.Parallel()
	ic := build.IngressController()
	options := effective.Defaults{DNS: true, Domain: "apps.example.com"}
	outside := effective.Of(ic, effective.Cluster{Provider: true, DNS: &configv1.DNSSpec{BaseDomain: "example.org"}}, options)
	ic.Status.EndpointPublishingStrategy = &outside.Strategy
	again := effective.Of(ic, effective.Cluster{Provider: true, DNS: &configv1.DNSSpec{BaseDomain: "example.com"}}, options)
	before, after := outside.Strategy.LoadBalancer.DNSManagementPolicy, again.Strategy.LoadBalancer.DNSManagementPolicy
	if before != operatorv1.UnmanagedLoadBalancerDNS || after != operatorv1.ManagedLoadBalancerDNS {
		t.Errorf("outside %s, then inside %s", before, after)
	}
}

// TestNameByService: external-dns is asked by annotations, which go again with
// the wish for them; an administrator's own stay.
func TestNameByService(t *testing.T) {
	t.Parallel()
	ic := build.IngressController()
	options := effective.Defaults{DNSByService: true, Domain: "apps.example.com"}
	s := effective.Of(ic, effective.Cluster{Provider: true}, options)
	first, _ := service.DesiredLoadBalancer(s, ic, nil)
	if got := first.Annotations[service.AnnotationExternalName]; got != "*.apps.example.com" {
		t.Errorf("annotation %q", got)
	}
	first.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "198.18.0.1"}}
	if records := dnsrecord.Desired(s, ic, first); len(records) != 1 || records[0].Spec.DNSManagementPolicy != iov1.UnmanagedDNS {
		t.Errorf("records %+v", records)
	}
	in := well()
	in.Settings = s
	if c := dnsConditions(in); len(c) != 1 || c[0].status != operatorv1.ConditionFalse || !strings.Contains(c[0].message, service.AnnotationExternalName) {
		t.Errorf("conditions %+v", c)
	}

	theirs := first.DeepCopy()
	theirs.Annotations = map[string]string{service.AnnotationExternalName: "www.example.com"}
	desired, _ := service.DesiredLoadBalancer(s, ic, theirs)
	if updated, _ := service.ChangedLoadBalancer(s, theirs, desired); updated.Annotations[service.AnnotationExternalName] != "www.example.com" {
		t.Errorf("the administrator's annotation became %q", updated.Annotations[service.AnnotationExternalName])
	}

	off := effective.Of(ic, effective.Cluster{Provider: true}, effective.Defaults{Domain: "apps.example.com"})
	desired, _ = service.DesiredLoadBalancer(off, ic, first)
	if updated, _ := service.ChangedLoadBalancer(s, first, desired); updated.Annotations[service.AnnotationExternalName] != "" {
		t.Errorf("the annotation stays: %q", updated.Annotations[service.AnnotationExternalName])
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
