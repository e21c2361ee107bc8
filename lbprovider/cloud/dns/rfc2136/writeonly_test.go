package rfc2136

import (
	"context"
	"testing"

	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/nameserver"
)

// unread follows a record in a zone whose server takes our updates and no
// questions.
func unread(t *testing.T, n nameserver.Server) {
	front := n.Mute(t)
	p := provider(t, front, goodKey())
	ctx := context.Background()
	if _, err := p.ResolveZone(ctx, hook.ZoneSelector{Suffix: "*.apps.example.com."}); hook.ClassOf(err) != hook.ClassInvalidConfig {
		t.Errorf("a zone that must be asked for: %v", err)
	}
	zone, err := p.ResolveZone(ctx, hook.ZoneSelector{ID: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ResolveZone(ctx, hook.ZoneSelector{ID: "example.org"}); hook.ClassOf(err) != hook.ClassInvalidConfig {
		t.Errorf("a zone that the server has not: %v", err)
	}
	const shop = "shop.apps.example.com."
	wildcard := func(kind hook.RecordType, targets ...string) *hook.Record {
		r := record("*.apps.example.com.", kind, targets...)
		r.Resource = "dnsrecord/ns/default-wildcard"
		return r
	}
	ensure := func(r *hook.Record) {
		t.Helper()
		got, err := p.EnsureRecord(ctx, r, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got.Message == "" {
			t.Error("users do not hear that nothing is read")
		}
	}
	ensure(wildcard(hook.RecordA, "198.18.0.1"))
	n.Want(t, shop, mdns.TypeA, "198.18.0.1")
	ensure(wildcard(hook.RecordA, "198.18.0.2"))
	n.Want(t, shop, mdns.TypeA, "198.18.0.2")

	six := record("*.apps.example.com.", hook.RecordAAAA, "2001:db8::2")
	six.Resource += "-ipv6"
	ensure(six)
	n.Want(t, shop, mdns.TypeAAAA, "2001:db8::2")
	remove := func(r *hook.Record) {
		t.Helper()
		for range 2 {
			if err := p.DeleteRecord(ctx, r, zone); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove(six)
	n.Want(t, shop, mdns.TypeAAAA)

	ensure(wildcard(hook.RecordCNAME, "lb.example.net"))
	n.Want(t, shop, mdns.TypeCNAME, "lb.example.net.")
	n.Want(t, "a-wild.apps.example.com.", mdns.TypeTXT, "lb.example.net.") // The wildcard's.
	ensure(wildcard(hook.RecordA, "198.18.0.4"))
	n.Want(t, shop, mdns.TypeA, "198.18.0.4")
	remove(wildcard(hook.RecordA, "198.18.0.4"))
	n.Want(t, shop, mdns.TypeA)
	n.Want(t, "a-wild.apps.example.com.", mdns.TypeTXT)

	for _, name := range []string{"taken.example.com.", "taken-name.example.com."} {
		theirs := record(name, hook.RecordA, "198.18.0.5")
		if _, err := p.EnsureRecord(ctx, theirs, zone); hook.ClassOf(err) != hook.ClassConflict {
			t.Errorf("%s: %v", name, err)
		}
		if err := p.DeleteRecord(ctx, theirs, zone); err != nil {
			t.Error(err)
		}
	}
	n.Want(t, "taken.example.com.", mdns.TypeA, "198.18.0.77")
	adopted := record("taken-name.example.com.", hook.RecordA, "198.18.0.5")
	adopted.Adopt = true
	ensure(adopted)
	n.Want(t, "taken-name.example.com.", mdns.TypeA, "198.18.0.5")
	if err := p.DeleteRecord(ctx, adopted, zone); err != nil {
		t.Error(err)
	}
	plain := record("taken-name.example.com.", hook.RecordCNAME, "ns.example.com.")
	if _, err := provider(t, n, goodKey()).EnsureRecord(ctx, plain, zone); err != nil {
		t.Fatal(err)
	}
	unregistered(t, n, provider(t, front, goodKey()))
}

// registries: who owns a name is noted as the operator is told to.
func registries(t *testing.T, n nameserver.Server) {
	ctx := context.Background()
	example := hook.Zone{ID: "example.com.", Name: "example.com."}
	p := provider(t, n, goodKey())

	p.registry = dns.Registry{Prefix: "%{record_type}-owner."}
	top := record("example.com.", hook.RecordA, "198.18.0.1")
	if _, err := p.EnsureRecord(ctx, top, example); err != nil {
		t.Fatal(err)
	}
	n.Want(t, "a-owner.example.com.", mdns.TypeTXT, `"heritage=external-dns,external-dns/owner=fairlead-c1,external-dns/resource=dnsrecord/ns/example.com."`)
	if err := p.DeleteRecord(ctx, top, example); err != nil {
		t.Fatal(err)
	}
	n.Want(t, "example.com.", mdns.TypeA)
	n.Want(t, "a-owner.example.com.", mdns.TypeTXT)

	p.registry = dns.Registry{}
	if _, err := p.EnsureRecord(ctx, top, example); hook.ClassOf(err) != hook.ClassInvalidConfig {
		t.Errorf("a note outside of the zone: %v", err)
	}

	unregistered(t, n, p)
}

// unregistered: where nothing is noted, a name is written over, and only what
// leads where it says is removed.
func unregistered(t *testing.T, n nameserver.Server, p *Provider) {
	ctx := context.Background()
	p.registry = dns.Registry{None: true}
	zone := hook.Zone{ID: "example.com.", Name: "example.com."}
	taken := record("taken-name.example.com.", hook.RecordA, "198.18.0.1")
	if _, err := p.EnsureRecord(ctx, taken, zone); err != nil {
		t.Fatal(err)
	}
	n.Want(t, taken.Name, mdns.TypeA, "198.18.0.1")
	other := record(taken.Name, hook.RecordA, "198.18.0.2")
	if err := p.DeleteRecord(ctx, other, zone); err != nil {
		t.Fatal(err)
	}
	n.Want(t, taken.Name, mdns.TypeA, "198.18.0.1") // It leads elsewhere: not ours.
	if err := p.DeleteRecord(ctx, taken, zone); err != nil {
		t.Fatal(err)
	}
	n.Want(t, taken.Name, mdns.TypeA)
}
