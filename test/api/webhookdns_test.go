package api

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns/rfc2136"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/lbprovider/cloud/webhook"
	"github.com/fairlead/fairlead/operator/dns"
	"github.com/fairlead/fairlead/test/hookconformance"
	"github.com/fairlead/fairlead/test/nameserver"
)

// nameServer is a webhook that publishes names on a real DNS server. It says
// that they are pending while slow is set, and does nothing while away is.
type nameServer struct {
	hook.DNSHook
	slow, away atomic.Bool
}

func (s *nameServer) EnsureRecord(ctx context.Context, r *hook.Record, zone hook.Zone) (*hook.RecordResult, error) {
	if s.away.Load() {
		return nil, hook.Errorf(hook.ClassDenied, "the name service is being repaired")
	}
	result, err := s.DNSHook.EnsureRecord(ctx, r, zone)
	if err == nil && s.slow.Load() {
		result.Pending, result.RetryAfter, result.Handle, result.Message = true, hook.Duration(time.Second), "change-1", "the zone is being signed"
	}
	return result, err
}

func startNameServer(t *testing.T, n nameserver.Server) (*nameServer, *webhook.Client) {
	t.Helper()
	provider, err := rfc2136.New(rfc2136.Options{
		Server: n.Address, Timeout: 2 * time.Second,
		Key: func() (*rfc2136.Key, error) {
			return &rfc2136.Key{Name: nameserver.Key + ".", Algorithm: mdns.HmacSHA256, Secret: nameserver.Secret}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{DNSHook: provider}
	token := func() (string, error) { return "secret", nil }
	server := httptest.NewTLSServer(&webhook.Handler{Names: s, Token: token})
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c, err := webhook.New(webhook.Options{URL: server.URL, CA: ca, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// TestNamesByWebhook publishes an IngressController's name by a webhook: it
// keeps the promises, is pending, is published, fails, and is removed even
// though the last write failed.
func TestNamesByWebhook(t *testing.T) {
	n := nameserver.Start(t)
	s, remote := startNameServer(t, n)
	if c, err := remote.Capabilities(t.Context()); err != nil || !c.DNS {
		t.Fatalf("capabilities: %+v, %v", c, err)
	}
	for _, f := range hookconformance.RunNames(t.Context(), hookconformance.NameOptions{Hook: remote, Name: "probe.example.com."}) {
		t.Log(f)
		if f.Broken != "" {
			t.Errorf("broken: %s", f.Promise)
		}
	}
	s.slow.Store(true)
	c, _ := startOperatorWithDNS(t, dns.Options{
		Hook: remote, Owner: "fairlead-test", Retry: 200 * time.Millisecond, Drain: time.Second,
		Zones: []dns.Zone{{DNSZone: configv1.DNSZone{ID: "example.com"}}},
	})
	eventually(t, func() error { return get(t, c, operandKey("router-default"), &corev1.Service{}) })
	publish(t, c, corev1.LoadBalancerIngress{IP: "198.18.77.5"})
	eventually(t, func() error {
		return wantCondition(c, "default", "DNSReady", operatorv1.ConditionUnknown, "the zone is being signed")
	})
	wantZone := func(kind, status, reason, message string) {
		t.Helper()
		eventually(t, func() error {
			d := &iov1.DNSRecord{}
			if err := get(t, c, icKey("default-wildcard"), d); err != nil {
				return err
			}
			for _, z := range d.Status.Zones {
				for _, have := range z.Conditions {
					if have.Type == kind && have.Status == status && have.Reason == reason && strings.Contains(have.Message, message) {
						return nil
					}
				}
			}
			return fmt.Errorf("%+v, want %s=%s %s %q", d.Status, kind, status, reason, message)
		})
	}
	wantZone("Published", "Unknown", "PublishPending", "signed")
	wantZone("Written", "True", "RecordWritten", "change-1")

	s.slow.Store(false)
	eventually(t, func() error { return wantCondition(c, "default", "DNSReady", operatorv1.ConditionTrue, "all zones") })
	n.Want(t, "shop.apps.example.com.", mdns.TypeA, "198.18.77.5")

	s.away.Store(true)
	publish(t, c, corev1.LoadBalancerIngress{IP: "198.18.77.6"})
	eventually(t, func() error {
		return wantCondition(c, "default", "DNSReady", operatorv1.ConditionFalse, "being repaired")
	})
	wantZone("Written", "True", "RecordWritten", "")
	ic := &operatorv1.IngressController{}
	if err := get(t, c, icKey("default"), ic); err != nil {
		t.Fatal(err)
	}
	if err := createDefault(t.Context(), c, "false"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), ic); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		err := get(t, c, icKey("default"), ic)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("the IngressController is still there"), err)
	})
	n.Want(t, "shop.apps.example.com.", mdns.TypeA)
}
