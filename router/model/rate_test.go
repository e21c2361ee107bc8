package model

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRateRecord: the clock of a limit does not come round while HAProxy remembers a
// key, a burst is at most a quarter of its round, and the rate is never above the one
// asked for.
func TestRateRecord(t *testing.T) {
	t.Parallel()
	for _, r := range []RateLimit{
		{Requests: 1, Per: time.Second, Burst: 1},
		{Requests: 20, Per: time.Second, Burst: 40},
		{Requests: 7, Per: time.Second, Burst: 7},
		{Requests: 1000, Per: time.Hour, Burst: 1000},
		{Requests: 1, Per: 24 * time.Hour, Burst: 1},
		{Requests: 1_000_000, Per: 24 * time.Hour, Burst: 1_000_000},
		{Requests: 24_000, Per: time.Second, Burst: 1_000_000},
		{Requests: 999_999, Per: time.Second, Burst: 1_000_000},
		{Requests: 1_000_000, Per: time.Second, Burst: 1},
	} {
		f := strings.Split(r.record(), rateSeparator)
		field := func(at RateField) float64 {
			n, err := strconv.ParseInt(f[at-1], 10, 64)
			if err != nil {
				t.Fatalf("%+v: %v", r, err)
			}
			return float64(n)
		}
		if len(f) != int(RateKey) {
			t.Fatalf("%+v: %d fields", r, len(f))
		}
		parts, part := field(RateParts), field(RateUnit)/ClockScale // in microseconds
		asked := float64(r.Per.Microseconds()) / float64(r.Requests)
		if got := parts * part; got < asked || got > asked*1.0002 {
			t.Errorf("%+v: %f us between requests, asked %f", r, got, asked)
		}
		if burst := parts * float64(r.Burst); burst > RateWeight {
			t.Errorf("%+v: a burst of %f parts", r, burst)
		}
		if round := part * (1 << 32); asked > 41 && round < 2*24*3600*1e6 {
			t.Errorf("%+v: the clock comes round after %fs", r, round/1e6)
		}
		if slack := (field(RateInvalid) - parts*float64(r.Burst+takenTooMuch)) * part; slack < 5e6 {
			t.Errorf("%+v: clocks may differ by %fs", r, slack/1e6)
		}
		if field(RatePartWeight)*parts != RateWeight {
			t.Errorf("%+v: a request weighs %f", r, field(RatePartWeight)*parts)
		}
	}
}

// TestRateIDs: limits that say the same count apart, and a change of what is told
// changes no ID of concurrent requests.
func TestRateIDs(t *testing.T) {
	t.Parallel()
	r := RateLimit{Name: "a", Requests: 5, Per: time.Second, Burst: 5, Status: 429}
	dry := r
	dry.DryRun = true
	ids := map[string]bool{}
	all := strings.Split(rates(&Policy{Rates: []RateLimit{r, r, dry}}), limitSeparator)
	for _, text := range all {
		id, _, _ := strings.Cut(text, rateSeparator)
		ids[id] = true
	}
	if len(all) != 3 || len(ids) != 3 {
		t.Errorf("three limits: %q", all)
	}
	a, _, _ := strings.Cut((&ConcurrentLimit{Count: 1, Status: 429}).record(), rateSeparator)
	b, _, _ := strings.Cut((&ConcurrentLimit{Count: 2, Status: 503}).record(), rateSeparator)
	if a != b {
		t.Errorf("what is under way is forgotten: %s, %s", a, b)
	}
}

// TestRecordsOfHostileNames: nothing of a name separates fields.
func TestRecordsOfHostileNames(t *testing.T) {
	t.Parallel()
	name := "A!#$%&'*+.^_`|~-9"
	p := Policy{
		Rates:       []RateLimit{{Name: "a", Requests: 5, Per: time.Second, Burst: 5, Status: 429, Key: LimitKey{Kind: KeyCookie, Name: name}}},
		Concurrents: []ConcurrentLimit{{Count: 3, Status: 429, Key: LimitKey{Kind: KeyQuery, Name: name}}},
	}
	record := p.Record()
	if got := RecordField(record, FieldConcurrents); strings.ContainsAny(got, "|+ ") || !strings.Contains(got, ":3:429:=q41") {
		t.Errorf("concurrent: %q", got)
	}
	if got := RecordField(record, FieldRates); strings.Count(got, rateSeparator) != int(RateKey)-1 || strings.Contains(got, limitSeparator) {
		t.Errorf("rates: %q", got)
	}
}

func TestRateText(t *testing.T) {
	t.Parallel()
	address := LimitKey{Kind: KeyAddress, IPv6Prefix: DefaultIPv6Prefix}
	for want, r := range map[string]RateLimit{
		"20/s burst 40 by address":                          {Requests: 20, Per: time.Second, Burst: 40, Key: address},
		"5/m burst 5 by header x-user":                      {Requests: 5, Per: time.Minute, Burst: 5, Key: LimitKey{Kind: KeyHeader, Name: "x-user"}},
		"5/90s burst 1 for all requests together (dry run)": {Requests: 5, Per: 90 * time.Second, Burst: 1, Key: LimitKey{Kind: KeyNone}, DryRun: true},
		"7/2h burst 7 by address, IPv6 by /56":              {Requests: 7, Per: 2 * time.Hour, Burst: 7, Key: LimitKey{Kind: KeyAddress, IPv6Prefix: 56}},
		"1/24h burst 1 by query parameter k":                {Requests: 1, Per: 24 * time.Hour, Burst: 1, Key: LimitKey{Kind: KeyQuery, Name: "k"}},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
