package dns

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

const (
	ours   = "heritage=external-dns,external-dns/owner=fairlead-c1,external-dns/resource=dnsrecord/ns/default-wildcard"
	second = "heritage=external-dns,external-dns/owner=fairlead-c1,external-dns/resource=dnsrecord/ns/default-wildcard-ipv6"
	theirs = "heritage=external-dns,external-dns/owner=other,external-dns/resource=service/x/y"
)

func a(values ...string) RRSet {
	return RRSet{Name: "*.apps.example.com.", Type: hook.RecordA, TTL: 30, Values: values}
}

func aaaa(values ...string) RRSet {
	return RRSet{Name: "*.apps.example.com.", Type: hook.RecordAAAA, TTL: 30, Values: values}
}

func cname(target string) RRSet {
	return RRSet{Name: "*.apps.example.com.", Type: hook.RecordCNAME, TTL: 30, Values: []string{target}}
}

func alias(target string) RRSet {
	return RRSet{Name: "*.apps.example.com.", Type: hook.RecordA, Alias: &Alias{Zone: "Z1", Target: target}}
}

func txt(kind, text string) RRSet {
	return RRSet{Name: kind + "-wild.apps.example.com.", Type: TypeTXT, TTL: 300, Values: []string{text}}
}

func sets(s ...RRSet) []RRSet { return s }

func TestEnsure(t *testing.T) {
	t.Parallel()
	record := &hook.Record{Name: "*.apps.example.com", Owner: "fairlead-c1", Resource: "dnsrecord/ns/default-wildcard"}
	tests := []struct {
		name     string
		have     []RRSet
		wanted   RRSet
		adopt    bool
		want     Change
		conflict string // part of the message
	}{
		{
			name: "nothing there", wanted: a("198.18.0.1"),
			want: Change{Create: sets(a("198.18.0.1"), txt("a", ours))},
		},
		{
			name: "all there", have: sets(a("198.18.0.2", "198.18.0.1"), txt("a", ours)), wanted: a("198.18.0.1", "198.18.0.2"),
		},
		{
			name: "new address", have: sets(a("198.18.0.1"), txt("a", ours)), wanted: a("198.18.0.9"),
			want: Change{Update: sets(a("198.18.0.9"))},
		},
		{
			name: "somebody else's", have: sets(a("198.18.0.1"), txt("a", theirs)), wanted: a("198.18.0.9"),
			conflict: "owner=other",
		},
		{
			name: "nobody's", have: sets(a("198.18.0.1")), wanted: a("198.18.0.9"),
			conflict: "no owner record",
		},
		{
			name: "nobody's, with leave", have: sets(a("198.18.0.1")), wanted: a("198.18.0.9"), adopt: true,
			want: Change{Create: sets(txt("a", ours)), Update: sets(a("198.18.0.9"))},
		},
		{
			name: "nobody's, leads to us already", have: sets(a("198.18.0.1")), wanted: a("198.18.0.1"),
			want: Change{Create: sets(txt("a", ours))},
		},
		{
			name: "address becomes name", have: sets(a("198.18.0.1"), txt("a", ours)), wanted: cname("lb.example.net."),
			want: Change{Delete: sets(a("198.18.0.1"), txt("a", ours)), Create: sets(cname("lb.example.net."), txt("cname", ours))},
		},
		{
			name: "name becomes alias", have: sets(cname("lb.example.net."), txt("cname", ours)), wanted: alias("lb.example.net."),
			want: Change{Delete: sets(cname("lb.example.net.")), Create: sets(alias("lb.example.net."))},
		},
		{
			name: "address becomes alias", have: sets(a("198.18.0.1"), txt("a", ours)), wanted: alias("lb.example.net."),
			want: Change{Delete: sets(txt("a", ours)), Create: sets(txt("cname", ours)), Update: sets(alias("lb.example.net."))},
		},
		{
			name: "alias as Route 53 writes it back", have: sets(alias("dualstack.LB.example.net"), txt("cname", ours)), wanted: alias("lb.example.net."),
		},
		{
			name: "beside a name of somebody else", have: sets(cname("lb.example.net.")), wanted: a("198.18.0.1"),
			conflict: "leads to lb.example.net.",
		},
		{
			name: "beside the other family of ours", have: sets(aaaa("2001:db8::1"), txt("aaaa", second)), wanted: a("198.18.0.1"),
			want: Change{Create: sets(a("198.18.0.1"), txt("a", ours))},
		},
		{
			name: "beside the other family of somebody else", have: sets(aaaa("2001:db8::1")), wanted: a("198.18.0.1"),
			want: Change{Create: sets(a("198.18.0.1"), txt("a", ours))},
		},
		{
			name: "change of family", have: sets(aaaa("2001:db8::1"), txt("aaaa", ours)), wanted: a("198.18.0.1"),
			want: Change{Delete: sets(aaaa("2001:db8::1"), txt("aaaa", ours)), Create: sets(a("198.18.0.1"), txt("a", ours))},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := *record
			r.Adopt = test.adopt
			got, err := Registry{}.Ensure(test.have, sets(test.wanted), &r)
			if test.conflict != "" {
				e := (*hook.Error)(nil)
				if !errors.As(err, &e) || e.Class != hook.ClassConflict || !strings.Contains(e.Message, test.conflict) {
					t.Errorf("got %v, want a conflict with %q", err, test.conflict)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	r := &hook.Record{Name: "*.apps.example.com.", Owner: "fairlead-c1", Resource: "dnsrecord/ns/default-wildcard"}
	tests := []struct {
		name string
		have []RRSet
		want []RRSet
	}{
		{"nothing there", nil, nil},
		{"ours", sets(a("198.18.0.1"), txt("a", ours)), sets(a("198.18.0.1"), txt("a", ours))},
		{"ours, changed by hand", sets(a("198.18.0.7"), txt("a", ours)), sets(a("198.18.0.7"), txt("a", ours))},
		{"of another object of ours", sets(a("198.18.0.1"), txt("a", second)), nil},
		{"somebody else's", sets(a("198.18.0.1"), txt("a", theirs)), nil},
		{"owner record lost", sets(a("198.18.0.1")), sets(a("198.18.0.1"))},
		{"nobody's", sets(a("198.18.0.7")), nil},
		{"other family stays", sets(a("198.18.0.1"), txt("a", ours), aaaa("2001:db8::1"), txt("aaaa", second)), sets(a("198.18.0.1"), txt("a", ours))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(Change{Delete: test.want}, Registry{}.Remove(test.have, sets(a("198.18.0.1")), r)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`\052.Apps.example.com.`: "*.apps.example.com.",
		`apps.example.com`:       "apps.example.com.",
		`a\.b.example.com.`:      `a\.b.example.com.`,
		"":                       ".",
	} {
		if got := Name(in); got != want {
			t.Errorf("Name(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`plain`:           "plain",
		`"one" "two"`:     "onetwo",
		`"with \"this\""`: `with "this"`,
		`"open`:           `"open`,
	} {
		if got := Unquote(in); got != want {
			t.Errorf("Unquote(%q) = %q, want %q", in, got, want)
		}
	}
	for _, test := range []struct {
		name, zone string
		want       bool
	}{
		{"a.example.com.", "example.com.", true},
		{"example.com.", "example.com.", true},
		{"anexample.com.", "example.com.", false},
		{"a.org.", ".", true},
	} {
		if got := Within(test.name, test.zone); got != test.want {
			t.Errorf("Within(%q, %q) = %v", test.name, test.zone, got)
		}
	}
}
