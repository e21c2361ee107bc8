package route53

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// TestPendingUntilInSync: a record is published when all of Route 53's servers
// have it, or when that cannot be told.
func TestPendingUntilInSync(t *testing.T) {
	getChange := func(effect fakeaws.Effect) *fakeaws.Fault {
		return &fakeaws.Fault{Service: "route53", Action: "GetChange", Effect: effect}
	}
	for _, test := range []struct {
		name    string
		sync    time.Duration // how long AWS takes
		fault   *fakeaws.Fault
		after   time.Duration // when the record is looked at again
		pending bool
		message string
	}{
		{"in sync", 40 * time.Second, nil, time.Minute, false, ""},
		{"not yet", 40 * time.Second, nil, 10 * time.Second, true, "not all of its servers"},
		{"never", time.Hour, nil, syncLimit, false, "after 3m0s"},
		{"must not ask", time.Hour, getChange(fakeaws.Refuse(http.StatusForbidden, "AccessDenied", "no")), time.Second, false, "route53:GetChange"},
		{"change forgotten", time.Hour, getChange(fakeaws.Refuse(http.StatusNotFound, "NoSuchChange", "no")), time.Second, false, ""},
		{"no answer", time.Hour, getChange(fakeaws.Throttle()), time.Second, true, "not all of its servers"},
		{"no answer for long", time.Hour, getChange(fakeaws.Throttle()), syncLimit, false, "after 3m0s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			b := newBedWith(t, fakeaws.Options{Now: func() time.Time { return now }, Delays: fakeaws.Delays{Sync: test.sync}})
			b.provider.now = func() time.Time { return now }
			zone := hook.Zone{ID: "ZPUBLIC", Name: "example.com."}
			r := record(hook.RecordA, "198.18.0.1")
			first, err := b.provider.EnsureRecord(t.Context(), r, zone)
			if err != nil || !first.Changed || !first.Pending || first.RetryAfter == 0 || first.Handle == "" {
				t.Fatalf("written: %+v, %v", first, err)
			}
			if test.fault != nil {
				b.Script(*test.fault)
			}
			now = now.Add(test.after)
			got, err := b.provider.EnsureRecord(t.Context(), r, zone)
			if err != nil || got.Changed || got.Pending != test.pending || got.Handle != first.Handle {
				t.Fatalf("looked at again: %+v, %v", got, err)
			}
			if !strings.Contains(got.Message, test.message) || test.message == "" && got.Message != "" {
				t.Errorf("message %q, want %q", got.Message, test.message)
			}
			mark := b.Mark()
			if !test.pending {
				if got, err := b.provider.EnsureRecord(t.Context(), r, zone); err != nil || got.Pending || got.Message != "" {
					t.Errorf("for the third time: %+v, %v", got, err)
				}
				if fakeaws.Count(b.Since(mark), "GetChange") != 0 {
					t.Error("what landed is asked for again")
				}
			}
		})
	}
}
