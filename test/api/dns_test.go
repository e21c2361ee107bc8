package api

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/dns/rfc2136"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/test/nameserver"
)

// TestWildcardNameIsPublished follows an IngressController's name on a real
// DNS server: it comes with the address, follows it, and goes before it.
func TestWildcardNameIsPublished(t *testing.T) {
	n := nameserver.Start(t)
	provider, err := rfc2136.New(rfc2136.Options{
		Server: n.Address, Timeout: 2 * time.Second,
		Key: func() (*rfc2136.Key, error) {
			return &rfc2136.Key{Name: nameserver.Key + ".", Algorithm: mdns.HmacSHA256, Secret: nameserver.Secret}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := startOperatorWithDNS(t, dns.Options{
		Hook: provider, Owner: "fairlead-test", Retry: 200 * time.Millisecond, Drain: time.Second,
		Zones: []dns.Zone{{DNSZone: configv1.DNSZone{ID: "example.com"}}},
	})
	resolves := func(kind uint16, want ...string) {
		t.Helper()
		eventually(t, func() error {
			got, err := n.Ask("shop.apps.example.com.", kind)
			if err == nil && strings.Join(got, " ") != strings.Join(want, " ") {
				err = fmt.Errorf("shop.apps.example.com is %v, want %v", got, want)
			}
			return err
		})
	}
	eventually(t, func() error { return get(t, c, operandKey("router-default"), &corev1.Service{}) })
	eventually(t, func() error {
		return wantCondition(c, "default", "DNSReady", operatorv1.ConditionFalse, "was not found")
	})

	publish(t, c, corev1.LoadBalancerIngress{IP: "198.18.77.5"})
	resolves(mdns.TypeA, "198.18.77.5")
	eventually(t, func() error { return wantCondition(c, "default", "DNSReady", operatorv1.ConditionTrue, "all zones") })
	eventually(t, func() error {
		out, err := server.Kubectl(t.Context(), "get", "dnsrecord", "-n", names.OperatorNamespace, "default-wildcard")
		for _, want := range []string{"PUBLISHED", "*.apps.example.com.", "198.18.77.5", "True"} {
			if err == nil && !strings.Contains(out, want) {
				err = fmt.Errorf("%q is missing in:\n%s", want, out)
			}
		}
		return err
	})

	publish(t, c, corev1.LoadBalancerIngress{IP: "198.18.77.6"}, corev1.LoadBalancerIngress{IP: "2001:db8::6"})
	resolves(mdns.TypeA, "198.18.77.6")
	resolves(mdns.TypeAAAA, "2001:db8::6")

	publish(t, c, corev1.LoadBalancerIngress{Hostname: "lb.example.net"})
	resolves(mdns.TypeCNAME, "lb.example.net.")
	resolves(mdns.TypeA, "lb.example.net.")

	publish(t, c) // The name stays: the address may come back.
	eventually(t, func() error { return wantCondition(c, "default", "LoadBalancerReady", operatorv1.ConditionFalse, "") })
	resolves(mdns.TypeCNAME, "lb.example.net.")

	t.Run("duplicate", func(t *testing.T) { waitsForTheOlder(t, c, n) })
	t.Run("not written", func(t *testing.T) { notWritten(t, c, n) })

	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: "default"}}
	if err := createDefault(t.Context(), c, "false"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), ic); err != nil {
		t.Fatal(err)
	}
	resolves(mdns.TypeCNAME)
	eventually(t, func() error {
		err := get(t, c, icKey("default"), ic)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("still there: %w", err)
	})
}

// publish writes the addresses of the default load balancer, as a provider does.
func publish(t *testing.T, c client.Client, ingress ...corev1.LoadBalancerIngress) {
	t.Helper()
	s := &corev1.Service{}
	if err := get(t, c, operandKey("router-default"), s); err != nil {
		t.Fatal(err)
	}
	patch := client.MergeFrom(s.DeepCopy())
	s.Status.LoadBalancer.Ingress = ingress
	if err := c.Status().Patch(t.Context(), s, patch); err != nil {
		t.Fatal(err)
	}
}

// waitsForTheOlder makes two records of one name: the second is published when
// the first is gone.
func waitsForTheOlder(t *testing.T, c client.Client, n nameserver.Server) {
	for i, address := range []string{"198.18.77.21", "198.18.77.22"} {
		d := &iov1.DNSRecord{
			ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: fmt.Sprintf("twice-%d", i)},
			Spec:       iov1.DNSRecordSpec{DNSName: "twice.example.com.", RecordType: iov1.ARecordType, Targets: []string{address}, RecordTTL: 30, DNSManagementPolicy: iov1.ManagedDNS},
		}
		if err := c.Create(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(context.Background(), d)) })
	}
	condition := func(name, status, reason string) {
		t.Helper()
		eventually(t, func() error { return isPublished(t, c, name, status, reason) })
	}
	condition("twice-0", "True", "ProviderSuccess")
	condition("twice-1", "False", "DomainAlreadyInUse")
	n.Want(t, "twice.example.com.", mdns.TypeA, "198.18.77.21")
	if err := c.Delete(t.Context(), &iov1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: "twice-0"}}); err != nil {
		t.Fatal(err)
	}
	condition("twice-1", "True", "ProviderSuccess")
	n.Want(t, "twice.example.com.", mdns.TypeA, "198.18.77.22")

	// A name of another owner stays as it is.
	taken := &iov1.DNSRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: "taken"},
		Spec:       iov1.DNSRecordSpec{DNSName: "taken.example.com.", RecordType: iov1.ARecordType, Targets: []string{"198.18.77.23"}, RecordTTL: 30, DNSManagementPolicy: iov1.ManagedDNS},
	}
	if err := c.Create(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	condition("taken", "False", "DomainAlreadyInUse")
	n.Want(t, "taken.example.com.", mdns.TypeA, "198.18.0.77")
	if err := c.Delete(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	n.Want(t, "taken.example.com.", mdns.TypeA, "198.18.0.77")
}

// isPublished returns an error unless the condition Published of a DNSRecord is
// so.
func isPublished(t *testing.T, c client.Client, name, status, reason string) error {
	t.Helper()
	d := &iov1.DNSRecord{}
	if err := get(t, c, icKey(name), d); err != nil {
		return err
	}
	for _, z := range d.Status.Zones {
		for _, have := range z.Conditions {
			if have.Type == "Published" && have.Status == status && have.Reason == reason && d.Status.ObservedGeneration == d.Generation {
				return nil
			}
		}
	}
	return fmt.Errorf("%s: %+v, want %s %s", name, d.Status, status, reason)
}

// notWritten: what must not be written is not, an event says so, and it goes
// without a look at the zone. What was written before stays then.
func notWritten(t *testing.T, c client.Client, n nameserver.Server) {
	for _, test := range []struct {
		name, status, reason string
		change               func(*iov1.DNSRecordSpec)
	}{
		{"zero-ttl", "False", "ZeroTTL", func(s *iov1.DNSRecordSpec) { s.RecordTTL = 0 }},
		{"left-alone", "Unknown", "UnmanagedDNS", func(s *iov1.DNSRecordSpec) { s.DNSManagementPolicy = iov1.UnmanagedDNS }},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &iov1.DNSRecord{
				ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: test.name},
				Spec:       iov1.DNSRecordSpec{DNSName: test.name + ".example.com.", RecordType: iov1.ARecordType, Targets: []string{"198.18.77.31"}, RecordTTL: 30, DNSManagementPolicy: iov1.ManagedDNS},
			}
			test.change(&d.Spec)
			if err := c.Create(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(context.Background(), d)) })
			eventually(t, func() error { return isPublished(t, c, test.name, test.status, test.reason) })
			n.Want(t, d.Spec.DNSName, mdns.TypeA)
			eventually(t, func() error {
				out, err := server.Kubectl(t.Context(), "get", "events", "-n", names.OperatorNamespace, "--field-selector=reason="+test.reason, "-o=jsonpath={.items[*].message}{.items[*].note}")
				if err == nil && !strings.Contains(out, d.Spec.DNSName) {
					err = fmt.Errorf("events with the reason %s: %q", test.reason, out)
				}
				return err
			})

			// Now it may be written, and then not any more.
			patch := client.MergeFrom(d.DeepCopy())
			d.Spec.RecordTTL, d.Spec.DNSManagementPolicy = 30, iov1.ManagedDNS
			if err := c.Patch(t.Context(), d, patch); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() error { return isPublished(t, c, test.name, "True", "ProviderSuccess") })
			if !controllerutil.ContainsFinalizer(d, names.FinalizerDNSRecord) {
				t.Error("no finalizer")
			}
			patch = client.MergeFrom(d.DeepCopy())
			d.Spec.DNSManagementPolicy = iov1.UnmanagedDNS
			if err := c.Patch(t.Context(), d, patch); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() error { return isPublished(t, c, test.name, "Unknown", "UnmanagedDNS") })
			if err := c.Delete(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() error {
				if err := get(t, c, icKey(test.name), d); !apierrors.IsNotFound(err) {
					return fmt.Errorf("still there: %w", err)
				}
				return nil
			})
			n.Want(t, d.Spec.DNSName, mdns.TypeA, "198.18.77.31")
		})
	}
}
