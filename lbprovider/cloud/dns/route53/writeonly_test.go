package route53

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// mute takes the right to list records away, as OpenShift's credentials are.
func (b bed) mute() {
	b.Script(fakeaws.Fault{Service: "route53", Action: "ListResourceRecordSets", Effect: fakeaws.Refuse(http.StatusForbidden, "AccessDenied", "not authorized to perform: route53:ListResourceRecordSets")})
}

func TestRecordLifeWithoutReading(t *testing.T) {
	b := newBed(t)
	b.mute()
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	ensure := func(r *hook.Record, want ...fakeaws.Record) {
		t.Helper()
		if _, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil {
			t.Fatal(err)
		}
		b.want(t, "ZPUBLIC", want...)
	}
	address := func(values ...string) fakeaws.Record {
		return fakeaws.Record{Name: "*.apps.example.com.", Type: "A", TTL: 30, Values: values}
	}
	ensure(record(hook.RecordA, "198.18.0.1"), address("198.18.0.1"), owner("a"))
	ensure(record(hook.RecordA, "198.18.0.1"), address("198.18.0.1"), owner("a"))
	ensure(record(hook.RecordA, "198.18.0.2"), address("198.18.0.2"), owner("a"))
	b.PutRecord("ZPUBLIC", address("198.18.0.9")) // somebody's change is put right
	ensure(record(hook.RecordA, "198.18.0.2"), address("198.18.0.2"), owner("a"))
	remove := func(r *hook.Record) {
		t.Helper()
		for range 2 {
			if err := b.provider.DeleteRecord(t.Context(), r, zone); err != nil {
				t.Fatal(err)
			}
			b.want(t, "ZPUBLIC")
		}
	}
	remove(record(hook.RecordA, "198.18.0.2"))

	alias := record(hook.RecordCNAME, b.target)
	alias.TargetZone = fakeaws.HostedZone
	ensure(alias, b.alias("A"), owner("cname"))
	alias.DualStack = true
	ensure(alias, b.alias("A"), b.alias("AAAA"), owner("aaaa"), owner("cname"))
	remove(alias)
}

func TestRecordsOfOthersStayUnread(t *testing.T) {
	b := newBed(t)
	b.mute()
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	theirs := owner("a")
	theirs.Values = []string{`"heritage=external-dns,external-dns/owner=other,external-dns/resource=service/x/y"`}
	r := record(hook.RecordA, "198.18.0.1")
	for name, there := range map[string][]fakeaws.Record{
		"nobody's address": {{Name: "*.apps.example.com.", Type: "A", TTL: 60, Values: []string{"198.18.0.77"}}},
		"another owner's":  {{Name: "*.apps.example.com.", Type: "A", TTL: 60, Values: []string{"198.18.0.77"}}, theirs},
		"a name":           {{Name: "*.apps.example.com.", Type: "CNAME", TTL: 60, Values: []string{"elsewhere.example.net."}}},
	} {
		t.Run(name, func(t *testing.T) {
			id := "Z" + strings.ToUpper(strings.ReplaceAll(strings.ReplaceAll(name, " ", ""), "'", ""))
			b.AddZone(id, "example.com.", false, nil)
			for _, rec := range there {
				b.PutRecord(id, rec)
			}
			zone := hook.Zone{ID: id, Name: "example.com."}
			_, err := b.provider.EnsureRecord(t.Context(), r, zone)
			if hook.ClassOf(err) != hook.ClassConflict || !strings.Contains(err.Error(), rightToRead) {
				t.Errorf("got %v", err)
			}
			b.want(t, id, there...)
		})
	}
	if _, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil {
		t.Fatal(err)
	}
	changed := fakeaws.Record{Name: "*.apps.example.com.", Type: "A", TTL: 30, Values: []string{"198.18.0.99"}}
	b.PutRecord("ZPUBLIC", changed)
	if err := b.provider.DeleteRecord(t.Context(), r, zone); hook.ClassOf(err) != hook.ClassDenied || !strings.Contains(err.Error(), "by hand") {
		t.Errorf("to delete what was changed: %v", err)
	}
	b.want(t, "ZPUBLIC", changed, owner("a"))
	r.Adopt = true
	if _, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil {
		t.Fatal(err)
	}
	b.want(t, "ZPUBLIC", fakeaws.Record{Name: "*.apps.example.com.", Type: "A", TTL: 30, Values: []string{"198.18.0.1"}}, owner("a"))
}
