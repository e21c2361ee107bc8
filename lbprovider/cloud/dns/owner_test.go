package dns

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// TestOwnerName: the names are those of external-dns with --txt-prefix,
// --txt-suffix and --txt-wildcard-replacement.
func TestOwnerName(t *testing.T) {
	t.Parallel()
	plain, top := a("198.18.0.1"), a("198.18.0.1")
	top.Name = "example.com."
	for _, test := range []struct {
		name     string
		registry Registry
		set      RRSet
		want     string
	}{
		{"default", Registry{}, plain, "a-wild.apps.example.com."},
		{"alias", Registry{}, alias("lb.example.net."), "cname-wild.apps.example.com."},
		{"prefix", Registry{Prefix: "Owner-"}, plain, "owner-a-wild.apps.example.com."},
		{"suffix", Registry{Suffix: "-owner"}, plain, "a-wild-owner.apps.example.com."},
		{"type in the prefix", Registry{Prefix: "%{record_type}-owner."}, plain, "a-owner.wild.apps.example.com."},
		{"top of a zone", Registry{Prefix: "%{record_type}-owner."}, top, "a-owner.example.com."},
		{"type in the suffix", Registry{Suffix: "-%{record_type}"}, alias("lb.example.net."), "wild-cname.apps.example.com."},
		{"another word", Registry{Wildcard: "any"}, plain, "a-any.apps.example.com."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.registry.OwnerName(test.set); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestNoRegistry: without notes, what has the name is written over, and only
// what leads where the Record says is removed.
func TestNoRegistry(t *testing.T) {
	t.Parallel()
	r := &hook.Record{Name: "*.apps.example.com.", Owner: "fairlead-c1", Resource: "dnsrecord/ns/default-wildcard"}
	none := Registry{None: true}
	for _, test := range []struct {
		name         string
		have, wanted []RRSet
		want         Change
	}{
		{"nothing there", nil, sets(a("198.18.0.1")), Change{Create: sets(a("198.18.0.1"))}},
		{"as it is", sets(a("198.18.0.1")), sets(a("198.18.0.1")), Change{}},
		{"another address", sets(a("198.18.0.7")), sets(a("198.18.0.1")), Change{Update: sets(a("198.18.0.1"))}},
		{"another type", sets(cname("x.example.net.")), sets(a("198.18.0.1")), Change{Delete: sets(cname("x.example.net.")), Create: sets(a("198.18.0.1"))}},
		{"another family", sets(aaaa("2001:db8::1")), sets(a("198.18.0.1")), Change{Create: sets(a("198.18.0.1"))}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := none.Ensure(test.have, test.wanted, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	have := sets(a("198.18.0.1"), aaaa("2001:db8::1"))
	if got, want := none.Remove(have, sets(a("198.18.0.1")), r), (Change{Delete: sets(a("198.18.0.1"))}); !cmp.Equal(want, got) {
		t.Errorf("removed %+v", got)
	}
	if got := none.Remove(sets(a("198.18.0.7")), sets(a("198.18.0.1")), r); !got.Empty() {
		t.Errorf("removed %+v, which leads elsewhere", got)
	}
	if got, want := none.EnsureUnread(sets(a("198.18.0.1")), r), []ConditionalChange{{Put: sets(a("198.18.0.1"))}}; !cmp.Equal(want, got) {
		t.Errorf("unread: %+v", got)
	}
}

// TestFits: a note outside of the zone is refused before anything is written.
func TestFits(t *testing.T) {
	t.Parallel()
	zone := hook.Zone{ID: "Z1", Name: "example.com"}
	for _, test := range []struct {
		name, record string
		registry     Registry
		fits         bool
	}{
		{"below", "*.apps.example.com.", Registry{}, true},
		{"wildcard of the zone", "*.example.com.", Registry{}, true},
		{"outside", "*.apps.example.org.", Registry{}, false},
		{"top", "example.com.", Registry{}, false},
		{"top, with a prefix", "example.com.", Registry{Prefix: "%{record_type}-owner."}, true},
		{"top, without notes", "example.com.", Registry{None: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := test.registry.Fits(&hook.Record{Name: test.record}, zone)
			if (err == nil) != test.fits || err != nil && hook.ClassOf(err) != hook.ClassInvalidConfig {
				t.Errorf("got %v", err)
			}
		})
	}
}
