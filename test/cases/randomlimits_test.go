package cases

import (
	"net/http"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/agent/snapshot"
	"github.com/fairlead/fairlead/router/match"
)

// sentRequest is a request that was sent, and its answer.
type sentRequest struct {
	began, ended time.Time
	got          response
	// line is what the access log says about it.
	line logged
}

// sharedOracle knows what is left of limits over all replicas, as far as that is certain: what
// is earned between two requests depends on when exactly the owner of a key gets them.
type sharedOracle struct {
	buckets map[string]*sharedBucket
	// exhausted are the requests that a limit refused for certain, late those that were not
	// counted in time.
	exhausted, late int
}

// sharedBucket has from least to most tokens.
type sharedBucket struct {
	least, most float64
	// began and ended are those of the last request.
	began, ended time.Time
}

// take counts a request by limits, one after the other, as the agent does. A limit that nothing
// has counted yet is full. What an owner does not count within 5 ms gets 503, which a busy
// machine may need; then it is not known whether it was counted.
//
// Who has 16 digits for each limit by identity.
func (o *sharedOracle) take(t *testing.T, limits []snapshot.Counted, r *request, sent *sentRequest, who string) (verdict, bool) {
	t.Helper()
	refused := sent.line.group == "limits"
	for i := range limits {
		l := &limits[i]
		path, plain := match.Normal(r.client().Path)
		if len(l.Exempt) > 0 || !l.Match.Has(r.method, path, plain) { // which are those of all clients of this test
			continue
		}
		key := l.ID
		if l.By == "Header" {
			key += " " + r.kind()
		}
		if who != "" {
			key += " " + who[16*i:][:16]
		}
		b := o.buckets[key]
		if b == nil {
			b = &sharedBucket{least: float64(l.Burst), most: float64(l.Burst), began: sent.began, ended: sent.ended}
			o.buckets[key] = b
		}
		b.earn(l, sent)
		switch {
		case refused && sent.got.status == http.StatusServiceUnavailable && l.Status != http.StatusServiceUnavailable && !l.DryRun:
			o.late++
			b.least = max(b.least-1, 0)
			return verdict{http.StatusServiceUnavailable, "limits", "it was not counted in time"}, true
		case b.least >= 1:
			b.least, b.most = b.least-1, b.most-1
		case b.most < 1 && !l.DryRun:
			o.exhausted++
			return verdict{l.Status, "limits", "too many requests for limit " + l.Title}, true
		case b.most < 1:
		case refused && sent.got.status == l.Status && !l.DryRun:
			b.most = 1 // less than one
			return verdict{l.Status, "limits", "too many requests for limit " + l.Title + ", or just not"}, true
		default: // it was counted, unless in a dry run
			b.least, b.most = 0, max(b.most-1, 0)
		}
	}
	return verdict{}, false
}

// earn adds what a bucket gets between two requests.
func (b *sharedBucket) earn(l *snapshot.Counted, sent *sentRequest) {
	earned := func(d time.Duration) float64 { return max(d.Seconds(), 0) * float64(l.Requests) / l.Per.Seconds() }
	b.least = min(b.least+earned(sent.began.Sub(b.ended)), float64(l.Burst))
	b.most = min(b.most+earned(sent.ended.Sub(b.began)), float64(l.Burst))
	b.began, b.ended = sent.began, sent.ended
}

// TestSharedOracle: the test's own idea of a bucket.
func TestSharedOracle(t *testing.T) {
	t.Parallel()
	o := &sharedOracle{buckets: map[string]*sharedBucket{}}
	limits := []snapshot.Counted{{ID: "a", Requests: 2, Per: 10 * time.Second, Burst: 2, By: "None", Status: 429, Title: "few"}}
	at := time.Now()
	send := func(after time.Duration, took time.Duration, status int, group string) (int, bool) {
		at = at.Add(after)
		x := &sentRequest{began: at, ended: at.Add(took), got: response{status: status}, line: logged{group: group}}
		v, refused := o.take(t, limits, &request{}, x, "")
		return v.status, refused
	}
	for i, want := range []struct {
		after, took time.Duration
		got         int
		group       string
		refused     bool
	}{
		{0, time.Millisecond, 200, "-", false},
		{time.Millisecond, time.Millisecond, 200, "-", false},
		{time.Millisecond, time.Millisecond, 429, "limits", true},
		{time.Millisecond, time.Millisecond, 200, "-", true},              // which is wrong
		{4990 * time.Millisecond, 10 * time.Millisecond, 200, "-", false}, // either way: the window just ends
		{time.Millisecond, time.Millisecond, 429, "limits", true},
		{time.Minute, time.Millisecond, 429, "limits", false}, // which is wrong
	} {
		if status, refused := send(want.after, want.took, want.got, want.group); refused != want.refused || refused && status != 429 {
			t.Errorf("%d: %d, %v", i, status, refused)
		}
	}
}
