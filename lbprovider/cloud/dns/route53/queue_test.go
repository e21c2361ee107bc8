package route53

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/dns"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// creating returns the changes that make a record.
func creating(name string) []types.Change {
	r := record(hook.RecordA, "198.18.0.1")
	r.Name = name
	return batchOf(nil, dns.Change{Create: dns.Sets(r)})
}

// TestChangesTravelTogether: what comes in one moment is one call, and what
// Route 53 refuses for one record is refused for that alone.
func TestChangesTravelTogether(t *testing.T) {
	b := newBed(t)
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	b.PutRecord("ZPUBLIC", fakeaws.Record{Name: "taken.example.com.", Type: "A", TTL: 60, Values: []string{"198.18.0.77"}})
	for _, test := range []struct {
		name   string
		labels []string
		calls  int
	}{
		{"all well", []string{"a", "b", "c"}, 1},
		{"one taken", []string{"d", "taken", "e"}, 4},
		{"one alone, taken", []string{"taken"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := &queue{}
			var open *batch
			for i, label := range test.labels {
				together, leads := b.provider.join(q, &part{changes: creating(label + ".example.com.")})
				if open = together; leads != (i == 0) {
					t.Errorf("%s leads is %v", label, leads)
				}
			}
			mark := b.Mark()
			b.provider.carry(t.Context(), zone, open)
			for i, label := range test.labels {
				if err := open.parts[i].err; (err != nil) != (label == "taken") {
					t.Errorf("%s: %v", label, err)
				}
			}
			if got := fakeaws.Count(b.Since(mark), "ChangeResourceRecordSets"); got != test.calls {
				t.Errorf("%d calls, want %d", got, test.calls)
			}
		})
	}
}

// TestGathered: many records at once are all written, and everyone hears of it.
func TestGathered(t *testing.T) {
	b := newBed(t)
	b.provider.gather = 20 * time.Millisecond
	zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
	const names = 20
	var all sync.WaitGroup
	for i := range names {
		all.Go(func() {
			r := record(hook.RecordA, "198.18.0.1")
			r.Name = fmt.Sprintf("n%d.example.com.", i)
			if got, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil || !got.Changed || got.Handle == "" {
				t.Errorf("%s: %+v, %v", r.Name, got, err)
			}
		})
	}
	all.Wait()
	if got := len(b.Records("ZPUBLIC")); got != 2*names {
		t.Errorf("%d records, want %d", got, 2*names)
	}
}

// TestFullBatch: what would be too much for one call begins another.
func TestFullBatch(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	long := record(hook.RecordCNAME, strings.Repeat("x", mostCharacters/3)+".example.net")
	many := record(hook.RecordA)
	for i := range mostRecords / 2 {
		many.Targets = append(many.Targets, fmt.Sprintf("198.18.%d.%d", i/256, i%256))
	}
	for _, test := range []struct {
		name   string
		record *hook.Record
		fit    int
	}{{"characters", long, 2}, {"records", many, 2}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := &queue{}
			changes := batchOf(nil, dns.Change{Create: dns.Sets(test.record)})
			for i := range 2 * test.fit {
				if _, leads := p.join(q, &part{changes: changes}); leads != (i%test.fit == 0) {
					t.Errorf("part %d leads is %v", i, leads)
				}
			}
			single, _ := weight(changes)
			changes[0].Action = types.ChangeActionUpsert
			if twice, _ := weight(changes); twice != 2*single {
				t.Errorf("an UPSERT counts %d, a CREATE %d", twice, single)
			}
		})
	}
}
