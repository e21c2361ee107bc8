package policy_test

import (
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/policy"
)

// TestObjectives: objectives are read exactly, and all or none.
func TestObjectives(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]model.Measure{
		"availability=99.9, latency=300ms@99": {Availability: 99_900, LatencyShare: 99_000, Latency: 300 * time.Millisecond},
		"latency=1s@95.55,availability=50":    {Availability: 50_000, LatencyShare: 95_550, Latency: time.Second},
		"availability=99.999":                 {Availability: 99_999},
		"latency=60s@50.001":                  {LatencyShare: 50_001, Latency: time.Minute},
	} {
		got, problems := policy.Measured(map[string]string{"fairlead.dev/slo": text}, false)
		if got != want || len(problems) > 0 {
			t.Errorf("%s: %+v, %v", text, got, problems)
		}
	}
	for _, text := range []string{
		"", ",", "availability", "availability=", "availability=100", "availability=99.9%", "availability=49.999", "availability=9", "availability=099.9", "availability=99.", "availability=99.9999",
		"availability=+99", "availability=99.9,availability=99.9", "availability=99.9,", "availability=99.9;latency=1s@99", "latency=1s", "latency=1s@", "latency=@99", "latency=0ms@99", "latency=500us@99",
		"latency=61s@99", "latency=1s@99@99", "latency=1s@99,latency=2s@98", "latency=1s@99,availability=99,latency=1s@99", "errors=1", "availability=99.9\nlatency=1s@99", "availability=９９", "Availability=99",
	} {
		got, problems := policy.Measured(map[string]string{"fairlead.dev/slo": text, "fairlead.dev/metrics": "detail"}, false)
		if got != (model.Measure{Detail: true}) || len(problems) != 1 || problems[0].Closes || problems[0].Key != "fairlead.dev/slo" {
			t.Errorf("%q: %+v, %v", text, got, problems)
		}
	}
}

// TestMeasuredOfStreams: connections that are handed on whole have no objectives.
func TestMeasuredOfStreams(t *testing.T) {
	t.Parallel()
	got, problems := policy.Measured(map[string]string{"fairlead.dev/slo": "availability=99.9", "fairlead.dev/metrics": "detail"}, true)
	if got != (model.Measure{Detail: true}) || len(problems) != 1 {
		t.Errorf("%+v, %v", got, problems)
	}
	spec, problems := policy.Read(map[string]string{"fairlead.dev/slo": "availability=99.9", "fairlead.dev/metrics": "no"}, policy.Spec{}, model.Passthrough, false)
	if spec.Measure != (model.Measure{}) || len(problems) != 2 {
		t.Errorf("%+v, %v", spec.Measure, problems)
	}
}

func FuzzObjectives(f *testing.F) {
	for _, text := range []string{"availability=99.9, latency=300ms@99", "latency=1s@95.55", "availability=99.9\n", "\t\r\x00\f", "availability=99.9,,"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, problems := policy.Measured(map[string]string{"fairlead.dev/slo": text}, false)
		good := len(problems) == 0
		if good != m.Asks() {
			t.Fatalf("%q: %+v, %v", text, m, problems)
		}
		within := func(n int32) bool { return n == 0 || n >= model.Whole/2 && n < model.Whole }
		if !within(m.Availability) || !within(m.LatencyShare) || (m.LatencyShare > 0) != (m.Latency > 0) || m.Latency > time.Minute {
			t.Fatalf("%q: %+v", text, m)
		}
	})
}
