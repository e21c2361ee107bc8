package rfc2136

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mdns "github.com/miekg/dns"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

const (
	secret      = "c2VjcmV0IG9mIGEgdGVzdCwgbm90aGluZyBlbHNl"
	wrongSecret = "YW5vdGhlciBzZWNyZXQgb2YgYSB0ZXN0LCB0b28="
)

// named is a BIND that serves example.com and child.example.com, which the key
// "fairlead" may update, and fixed.example.com, which nobody may.
type named struct{ address string }

func startNamed(t *testing.T) named {
	t.Helper()
	program, err := exec.LookPath("named")
	if err != nil {
		program = "/usr/sbin/named"
		if _, err := os.Stat(program); err != nil {
			t.Skip("no BIND (run \"make tools\")")
		}
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `options {
  directory %q; pid-file %q; session-keyfile %q; listen-on port %d { 127.0.0.1; }; listen-on-v6 { none; };
  recursion no; dnssec-validation no; notify no; managed-keys-directory %q;
};
controls { };
key "fairlead" { algorithm hmac-sha256; secret %q; };
`, dir, filepath.Join(dir, "pid"), filepath.Join(dir, "session.key"), port, dir, secret)
	for zone, policy := range map[string]string{"example.com": `allow-update { key "fairlead"; };`, "child.example.com": `allow-update { key "fairlead"; };`, "fixed.example.com": ""} {
		file := filepath.Join(dir, zone)
		content := fmt.Sprintf("$TTL 60\n@ IN SOA ns.%s. root.%s. 1 60 60 600 60\n@ IN NS ns.%s.\nns IN A 127.0.0.1\ntaken IN A 198.18.0.77\ntaken-name IN CNAME ns\n", zone, zone, zone)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "zone %q { type primary; file %q; %s };\n", zone, file, policy)
	}
	config := filepath.Join(dir, "named.conf")
	if err := os.WriteFile(config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-g", "-n", "1", "-c", config)
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(out.String())
		}
	})
	n := named{address: address}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := n.ask("ns.example.com.", mdns.TypeA); err == nil {
			return n
		} else if time.Now().After(deadline) {
			t.Fatalf("BIND does not answer: %v\n%s", err, out.String())
		}
		<-time.After(20 * time.Millisecond)
	}
}

// ask returns what a resolver would see.
func (n named) ask(name string, t uint16) ([]string, error) {
	c := mdns.Client{Net: "tcp", Timeout: 2 * time.Second}
	answer, _, err := c.Exchange(new(mdns.Msg).SetQuestion(name, t), n.address)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, rr := range answer.Answer {
		found = append(found, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	return found, nil
}

func (n named) want(t *testing.T, name string, kind uint16, want ...string) {
	t.Helper()
	got, err := n.ask(name, kind)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s %s: (-want +got)\n%s", name, mdns.TypeToString[kind], diff)
	}
}

func (n named) provider(t *testing.T, key *Key) *Provider {
	t.Helper()
	p, err := New(Options{Server: n.address, Key: key, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func goodKey() *Key { return &Key{Name: "fairlead.", Algorithm: mdns.HmacSHA256, Secret: secret} }

func record(name string, kind hook.RecordType, targets ...string) *hook.Record {
	return &hook.Record{Name: name, Type: kind, Targets: targets, TTL: 30, Owner: "fairlead-c1", Resource: "dnsrecord/ns/" + name}
}

func TestRecordLifeWithBIND(t *testing.T) {
	t.Parallel()
	n := startNamed(t)
	p := n.provider(t, goodKey())
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
	n.want(t, shop, mdns.TypeA, "198.18.0.1")
	ensure(record("*.apps.example.com.", hook.RecordA, "198.18.0.1"), false)
	ensure(record("*.apps.example.com.", hook.RecordA, "198.18.0.2"), true)
	n.want(t, shop, mdns.TypeA, "198.18.0.2")

	second := record("*.apps.example.com.", hook.RecordAAAA, "2001:db8::2")
	second.Resource += "-ipv6"
	ensure(second, true)
	n.want(t, shop, mdns.TypeAAAA, "2001:db8::2")
	n.want(t, shop, mdns.TypeA, "198.18.0.2")
	if err := p.DeleteRecord(ctx, second, zone); err != nil {
		t.Fatal(err)
	}
	n.want(t, shop, mdns.TypeAAAA)

	ensure(record("*.apps.example.com.", hook.RecordCNAME, "lb.example.net"), true)
	n.want(t, shop, mdns.TypeCNAME, "lb.example.net.")
	n.want(t, "a-wild.apps.example.com.", mdns.TypeTXT, "lb.example.net.") // The wildcard's; the owner record is gone.
	n.want(t, "cname-wild.apps.example.com.", mdns.TypeTXT,
		`"heritage=external-dns,external-dns/owner=fairlead-c1,external-dns/resource=dnsrecord/ns/*.apps.example.com."`)

	for range 2 { // The second time there is nothing to remove.
		if err := p.DeleteRecord(ctx, record("*.apps.example.com.", hook.RecordCNAME, "lb.example.net"), zone); err != nil {
			t.Fatal(err)
		}
		n.want(t, shop, mdns.TypeCNAME)
		n.want(t, "cname-wild.apps.example.com.", mdns.TypeTXT)
	}
}

func TestRefusalsOfBIND(t *testing.T) {
	t.Parallel()
	n := startNamed(t)
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
		{"no key", nil, example, record("*.a.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassDenied, "update policy"},
		{"wrong key", wrong, example, record("*.a.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassDenied, "key"},
		{"zone that nobody may change", goodKey(), hook.Zone{Name: "fixed.example.com."}, record("*.fixed.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassDenied, "update policy"},
		{"other zone", goodKey(), example, record("*.a.example.org.", hook.RecordA, "198.18.0.1"), hook.ClassInvalidConfig, "zone example.com."},
		{"taken", goodKey(), example, record("taken.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassConflict, "198.18.0.77"},
		{"taken by a name", goodKey(), example, record("taken-name.example.com.", hook.RecordA, "198.18.0.1"), hook.ClassConflict, "ns.example.com."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := n.provider(t, test.key).EnsureRecord(ctx, test.record, test.zone)
			if got := hook.ClassOf(err); got != test.class || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %s (%v), want %s with %q", got, err, test.class, test.text)
			}
		})
	}
	n.want(t, "taken.example.com.", mdns.TypeA, "198.18.0.77")
}

func TestZonesOfBIND(t *testing.T) {
	t.Parallel()
	n := startNamed(t)
	p := n.provider(t, goodKey())
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
func TestRaceWithBIND(t *testing.T) {
	t.Parallel()
	n := startNamed(t)
	p := n.provider(t, goodKey())
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
		{"default algorithm", map[string]string{"name": "fairlead\n", "secret": secret}, goodKey()},
		{"other algorithm", map[string]string{"name": "k.", "secret": secret, "algorithm": "HMAC-SHA512"}, &Key{Name: "k.", Algorithm: mdns.HmacSHA512, Secret: secret}},
		{"unknown algorithm", map[string]string{"name": "k.", "secret": secret, "algorithm": "hmac-md5"}, nil},
		{"no base64", map[string]string{"name": "k.", "secret": "not secret"}, nil},
		{"no name", map[string]string{"secret": secret}, nil},
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
