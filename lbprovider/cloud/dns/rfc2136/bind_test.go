package rfc2136

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/nameserver"
)

const wrongSecret = "YW5vdGhlciBzZWNyZXQgb2YgYSB0ZXN0LCB0b28="

func provider(t *testing.T, n nameserver.Server, key *Key) *Provider {
	t.Helper()
	o := Options{Server: n.Address, Timeout: 5 * time.Second}
	if key != nil {
		o.Key = func() (*Key, error) { return key, nil }
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func goodKey() *Key {
	return &Key{Name: "fairlead.", Algorithm: mdns.HmacSHA256, Secret: nameserver.Secret}
}

func record(name string, kind hook.RecordType, targets ...string) *hook.Record {
	return &hook.Record{Name: name, Type: kind, Targets: targets, TTL: 30, Owner: "fairlead-c1", Resource: "dnsrecord/ns/" + name}
}

// TestServers: every server keeps us apart from others in the same way.
func TestServers(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*testing.T, nameserver.Server){"life of a record": recordLife, "refusals": refusals, "zones": zones, "race": race, "unread": unread, "registries": registries}
	for server, start := range map[string]func(*testing.T) nameserver.Server{"BIND": nameserver.Start, "Knot": nameserver.StartKnot} {
		for name, test := range tests {
			t.Run(server+" "+name, func(t *testing.T) {
				t.Parallel()
				test(t, start(t))
			})
		}
	}
}

func recordLife(t *testing.T, n nameserver.Server) {
	p := provider(t, n, goodKey())
	ctx := context.Background()
	zone, err := p.ResolveZone(ctx, hook.ZoneSelector{Suffix: "apps.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if zone.Name != "example.com." {
		t.Fatalf("zone %+v", zone)
	}
	ensure := func(r *hook.Record, changed bool) {
		t.Helper()
		got, err := p.EnsureRecord(ctx, r, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got.Changed != changed {
			t.Errorf("%v: changed is %v, want %v", r, got.Changed, changed)
		}
	}
	const shop = "shop.apps.example.com."
	ensure(record("*.apps.example.com.", hook.RecordA, "198.18.0.1"), true)
	n.Want(t, shop, mdns.TypeA, "198.18.0.1")
	ensure(record("*.apps.example.com.", hook.RecordA, "198.18.0.1"), false)
	ensure(record("*.apps.example.com.", hook.RecordA, "198.18.0.2"), true)
	n.Want(t, shop, mdns.TypeA, "198.18.0.2")

	second := record("*.apps.example.com.", hook.RecordAAAA, "2001:db8::2")
	second.Resource += "-ipv6"
	ensure(second, true)
	n.Want(t, shop, mdns.TypeAAAA, "2001:db8::2")
	n.Want(t, shop, mdns.TypeA, "198.18.0.2")
	if err := p.DeleteRecord(ctx, second, zone); err != nil {
		t.Fatal(err)
	}
	n.Want(t, shop, mdns.TypeAAAA)

	ensure(record("*.apps.example.com.", hook.RecordCNAME, "lb.example.net"), true)
	n.Want(t, shop, mdns.TypeCNAME, "lb.example.net.")
	n.Want(t, "a-wild.apps.example.com.", mdns.TypeTXT, "lb.example.net.") // The wildcard's; the owner record is gone.
	n.Want(t, "cname-wild.apps.example.com.", mdns.TypeTXT,
		`"heritage=external-dns,external-dns/owner=fairlead-c1,external-dns/resource=dnsrecord/ns/*.apps.example.com."`)

	for range 2 { // The second time there is nothing to remove.
		if err := p.DeleteRecord(ctx, record("*.apps.example.com.", hook.RecordCNAME, "lb.example.net"), zone); err != nil {
			t.Fatal(err)
		}
		n.Want(t, shop, mdns.TypeCNAME)
		n.Want(t, "cname-wild.apps.example.com.", mdns.TypeTXT)
	}
}

func refusals(t *testing.T, n nameserver.Server) {
	ctx := context.Background()
	wrong := goodKey()
	wrong.Secret = wrongSecret
	example := hook.Zone{ID: "example.com.", Name: "example.com."}
	tests := []struct {
		name   string
		key    *Key
		zone   hook.Zone
		record *hook.Record
		class  hook.Class
		text   string
	}{
		{"no key", nil, example, record("*.a.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassDenied, "key"},
		{"wrong key", wrong, example, record("*.a.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassDenied, "key"},
		{"zone that nobody may change", goodKey(), hook.Zone{Name: "fixed.example.com."}, record("*.fixed.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassDenied, "key"},
		{"other zone", goodKey(), example, record("*.a.example.org.", hook.RecordA, "198.18.0.1"), hook.ClassInvalidConfig, "zone example.com."},
		{"taken", goodKey(), example, record("taken.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassConflict, "198.18.0.77"},
		{"taken by a name", goodKey(), example, record("taken-name.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassConflict, "ns.example.com."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := provider(t, n, test.key).EnsureRecord(ctx, test.record, test.zone)
			if got := hook.ClassOf(err); got != test.class || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %s (%v), want %s with %q", got, err, test.class, test.text)
			}
		})
	}
	n.Want(t, "taken.example.com.", mdns.TypeA, "198.18.0.77")
}

func zones(t *testing.T, n nameserver.Server) {
	p := provider(t, n, goodKey())
	for _, test := range []struct {
		name     string
		selector hook.ZoneSelector
		want     string
		class    hook.Class
	}{
		{"by name", hook.ZoneSelector{ID: "Example.com"}, "example.com.", ""},
		{"no zone of that name", hook.ZoneSelector{ID: "apps.example.com"}, "", hook.ClassInvalidConfig},
		{"not served", hook.ZoneSelector{ID: "example.org"}, "", hook.ClassInvalidConfig},
		{"longest", hook.ZoneSelector{Suffix: "*.x.child.example.com."}, "child.example.com.", ""},
		{"tags", hook.ZoneSelector{Tags: map[string]string{"a": "b"}}, "", hook.ClassInvalidConfig},
		{"nothing", hook.ZoneSelector{}, "", hook.ClassInvalidConfig},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			zone, err := p.ResolveZone(context.Background(), test.selector)
			if got := hook.ClassOf(err); got != test.class {
				t.Fatalf("got %v, want class %q", err, test.class)
			}
			if err == nil && zone.Name != test.want {
				t.Errorf("got %s, want %s", zone.Name, test.want)
			}
		})
	}
}

// What somebody writes between our look and our update is not overwritten.
func race(t *testing.T, n nameserver.Server) {
	p := provider(t, n, goodKey())
	ctx := context.Background()
	zone := hook.Zone{ID: "example.com.", Name: "example.com."}
	for _, other := range []*hook.Record{record("r.example.com.", hook.RecordA, "198.18.0.9"), record("r.example.com.", hook.RecordCNAME, "x.example.net.")} {
		if _, err := p.EnsureRecord(ctx, other, zone); err != nil {
			t.Fatal(err)
		}
		stale := update("example.com.", nil, dns.Change{Create: dns.Sets(record("r.example.com.", hook.RecordA, "198.18.0.1"))})
		answer, err := p.exchange(ctx, stale)
		if err != nil {
			t.Fatal(err)
		}
		if class := hook.ClassOf(p.refusal("Update", answer.Rcode)); answer.Rcode == mdns.RcodeSuccess || class != hook.ClassBusy {
			t.Errorf("beside %s: %s, class %s", other.Type, mdns.RcodeToString[answer.Rcode], class)
		}
	}
}

func TestServerAway(t *testing.T) {
	t.Parallel()
	p, err := New(Options{Server: "127.0.0.1:1", Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.ResolveZone(context.Background(), hook.ZoneSelector{ID: "example.com"})
	if hook.ClassOf(err) != hook.ClassUnavailable {
		t.Errorf("got %v", err)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a Provider without a server")
	}
}

func TestReadKey(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		files map[string]string
		want  *Key
	}{
		{"default algorithm", map[string]string{"name": "fairlead\n", "secret": nameserver.Secret}, goodKey()},
		{"other algorithm", map[string]string{"name": "k.", "secret": nameserver.Secret, "algorithm": "HMAC-SHA512"}, &Key{Name: "k.", Algorithm: mdns.HmacSHA512, Secret: nameserver.Secret}},
		{"unknown algorithm", map[string]string{"name": "k.", "secret": nameserver.Secret, "algorithm": "hmac-md5"}, nil},
		{"no base64", map[string]string{"name": "k.", "secret": "not secret"}, nil},
		{"no name", map[string]string{"secret": nameserver.Secret}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := ReadKey(dir)
			if (err == nil) != (test.want != nil) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
