package dns

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func TestEnsureUnread(t *testing.T) {
	t.Parallel()
	record := &hook.Record{Name: "*.apps.example.com.", Owner: "fairlead-c1", Resource: "dnsrecord/ns/default-wildcard"}
	none := func(t hook.RecordType) RRSet { return RRSet{Name: "*.apps.example.com.", Type: t} }
	v4, six := alias("lb.example.net."), alias("lb.example.net.")
	six.Type = hook.RecordAAAA
	for _, test := range []struct {
		name   string
		wanted []RRSet
		adopt  bool
		want   []ConditionalChange
	}{
		{"addresses", sets(a("198.18.0.1")), false, []ConditionalChange{
			{Proof: sets(txt("a", ours)), Absent: sets(none("CNAME")), Put: sets(a("198.18.0.1"))},
			{Absent: sets(none("CNAME"), a("198.18.0.1"), txt("a", ours)), Put: sets(a("198.18.0.1"), txt("a", ours))},
		}},
		{"name", sets(cname("lb.example.net.")), false, []ConditionalChange{
			{Proof: sets(txt("cname", ours)), Absent: sets(none("A"), none("AAAA")), Put: sets(cname("lb.example.net."))},
			{Absent: sets(none("A"), none("AAAA"), cname("lb.example.net."), txt("cname", ours)), Put: sets(cname("lb.example.net."), txt("cname", ours))},
		}},
		{"both families", sets(v4, six), false, []ConditionalChange{
			{Proof: sets(txt("cname", ours), txt("aaaa", ours)), Absent: sets(none("CNAME")), Put: sets(v4, six)},
			{Proof: sets(txt("aaaa", ours)), Absent: sets(none("CNAME"), v4, txt("cname", ours)), Put: sets(v4, six, txt("cname", ours))},
			{Proof: sets(txt("cname", ours)), Absent: sets(none("CNAME"), six, txt("aaaa", ours)), Put: sets(v4, six, txt("aaaa", ours))},
			{
				Absent: sets(none("CNAME"), v4, txt("cname", ours), six, txt("aaaa", ours)),
				Put:    sets(v4, six, txt("cname", ours), txt("aaaa", ours)),
			},
		}},
		{"adopted", sets(a("198.18.0.1")), true, []ConditionalChange{{Put: sets(a("198.18.0.1"), txt("a", ours))}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := *record
			r.Adopt = test.adopt
			if diff := cmp.Diff(test.want, Registry{}.EnsureUnread(test.wanted, &r)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
