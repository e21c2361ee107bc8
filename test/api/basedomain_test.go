package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"

	names "github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/test/nameserver"
)

// TestBaseDomain: a name outside of the cluster's base domain is not published
// and it is said why; when it lies in it, it is.
func TestBaseDomain(t *testing.T) {
	n := nameserver.Start(t)
	_, remote := startNameServer(t, n)
	newClient(t)
	if err := server.Apply(t.Context(), "../cluster/kinds/dnses.config.openshift.io.yaml"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := server.Kubectl(context.Background(), "delete", "crd", "dnses.config.openshift.io"); err != nil {
			t.Error(out, err)
		}
	})
	domain := func(base string) {
		t.Helper()
		eventually(t, func() error {
			return apply(t, "apiVersion: config.openshift.io/v1\nkind: DNS\nmetadata: {name: cluster}\nspec: {baseDomain: "+base+"}\n")
		})
	}
	domain("example.org")
	c, _ := startOperatorWithDNS(t, dns.Options{Hook: remote, Owner: "fairlead-test", Retry: 200 * time.Millisecond, ClusterPoll: 200 * time.Millisecond})
	eventually(t, func() error { return get(t, c, operandKey("router-default"), &corev1.Service{}) })
	publish(t, c, corev1.LoadBalancerIngress{IP: "198.18.77.5"})
	eventually(t, func() error {
		return wantCondition(c, "default", "DNSManaged", operatorv1.ConditionFalse, "apps.example.com does not lie in example.org")
	})
	eventually(t, func() error {
		ic := &operatorv1.IngressController{}
		if err := get(t, c, icKey("default"), ic); err != nil {
			return err
		}
		if s := ic.Status.EndpointPublishingStrategy; s == nil || s.LoadBalancer == nil || s.LoadBalancer.DNSManagementPolicy != operatorv1.UnmanagedLoadBalancerDNS {
			return fmt.Errorf("strategy in use: %+v", s)
		}
		out, err := server.Kubectl(t.Context(), "get", "events", "-n", names.OperatorNamespace, "-o", "jsonpath={.items[*].reason}")
		if err == nil && !strings.Contains(out, "DomainNotMatching") {
			err = errors.New("no event DomainNotMatching: " + out)
		}
		return err
	})
	eventually(t, func() error {
		out, err := server.Kubectl(t.Context(), "get", "dnsrecord", "-n", names.OperatorNamespace, "default-wildcard", "-o", "jsonpath={.spec.dnsManagementPolicy} {.status.zones[0].conditions[0].reason}")
		if err == nil && out != "Unmanaged UnmanagedDNS" {
			err = errors.New(out)
		}
		return err
	})
	n.Want(t, "shop.apps.example.com.", mdns.TypeA)

	domain("example.com")
	eventually(t, func() error { return wantCondition(c, "default", "DNSReady", operatorv1.ConditionTrue, "all zones") })
	n.Want(t, "shop.apps.example.com.", mdns.TypeA, "198.18.77.5")
}
