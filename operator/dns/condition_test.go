package dns

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func TestOutcomeOfAWrite(t *testing.T) {
	t.Parallel()
	type want struct {
		status  operatorv1.ConditionStatus
		reason  api.Reason
		written bool
		change  string
		retry   time.Duration
	}
	denied := &hook.Error{Class: hook.ClassDenied, Message: "no", RetryAfter: 7 * time.Second}
	for _, test := range []struct {
		name   string
		before outcome
		result *hook.RecordResult
		err    error
		want   want
	}{
		{"published", outcome{}, &hook.RecordResult{Changed: true, Handle: "C1"}, nil, want{"True", api.ReasonDNSPublished, true, "C1", 0}},
		{"published before", outcome{written: true, change: "C1"}, &hook.RecordResult{}, nil, want{"True", api.ReasonDNSPublished, true, "C1", 0}},
		{"taken only", outcome{}, &hook.RecordResult{Pending: true, RetryAfter: hook.Duration(time.Second)}, nil, want{"Unknown", api.ReasonDNSPending, true, "", time.Second}},
		{"taken only, no time", outcome{}, &hook.RecordResult{Pending: true}, nil, want{"Unknown", api.ReasonDNSPending, true, "", pendingRetry}},
		{"refused", outcome{}, nil, denied, want{"False", api.ReasonDNSProviderError, false, "", 7 * time.Second}},
		{"refused later", outcome{written: true, change: "C1"}, nil, errors.New("no"), want{"False", api.ReasonDNSProviderError, true, "C1", 0}},
		{"somebody else's", outcome{}, nil, hook.Errorf(hook.ClassConflict, "taken"), want{"False", api.ReasonDomainAlreadyInUse, false, "", 0}},
		{"throttled", outcome{}, nil, hook.Errorf(hook.ClassThrottled, "slow down"), want{"False", api.ReasonDNSProviderError, false, "", slowRetry}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := test.before.with(test.result, test.err)
			got := want{o.status, o.reason, o.written, o.change, o.retry}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestWritten: what was once written is remembered while writes fail, and for
// as long as resolvers remember it.
func TestWritten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	zone := configv1.DNSZone{ID: "Z1"}
	d := &iov1.DNSRecord{}
	next := func(change func(o *outcome)) {
		o := observed(d, zone)
		change(&o)
		d.Status = statusOf(d, []outcome{o}, now)
		now = now.Add(10 * time.Second)
	}
	next(func(o *outcome) { *o = o.with(nil, errors.New("away")) })
	if observed(d, zone).written || forgotten(d.Status, time.Minute, time.Minute, now) != 0 {
		t.Errorf("never written: %+v", d.Status)
	}
	next(func(o *outcome) { *o = o.with(&hook.RecordResult{Handle: "C1"}, nil) })
	next(func(o *outcome) { *o = o.with(nil, errors.New("away")) })
	if got := observed(d, zone); !got.written || got.change != "C1" || got.status != operatorv1.ConditionFalse {
		t.Errorf("written, then away: %+v", got)
	}
	next(func(o *outcome) { o.written, o.reason = false, api.ReasonDNSRemoved })
	for _, test := range []struct{ ttl, limit, want time.Duration }{
		{30 * time.Second, time.Minute, 20 * time.Second},
		{time.Hour, time.Minute, 50 * time.Second},
		{30 * time.Second, 0, 0},
		{5 * time.Second, time.Minute, 0},
	} {
		if got := forgotten(d.Status, test.ttl, test.limit, now); got != test.want {
			t.Errorf("forgotten(%v, %v) = %v, want %v", test.ttl, test.limit, got, test.want)
		}
	}
	old := iov1.DNSZoneStatus{DNSZone: zone, Conditions: []iov1.DNSZoneCondition{{Type: iov1.DNSRecordPublishedConditionType, Status: "True", LastTransitionTime: metav1.NewTime(now)}}}
	if !isWritten(old) {
		t.Error("a record that an earlier version published does not count as written")
	}
}
