package collect

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/traffic/top"
)

// TestTraffic: rates are of replicas that were read twice, and others are counted as silent.
func TestTraffic(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	page := func(good, bad string, at time.Time) *top.Reading {
		r, err := top.Parse(strings.NewReader("# TYPE fairlead_route_requests_total counter\n"+
			`fairlead_route_requests_total{class="2xx",namespace="a",route="b"} `+good+"\n"+`fairlead_route_requests_total{class="5xx",namespace="_other",route="_other"} `+bad+"\n"+
			"# TYPE fairlead_route_connections gauge\n"+`fairlead_route_connections{namespace="a",route="b"} 4`+"\n"), at)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	later := began.Add(2 * time.Second)
	got := trafficOf("default",
		map[string]*top.Reading{"a": page("10", "0", began), "b": page("100", "7", began)},
		map[string]*top.Reading{"a": page("30", "10", later), "b": page("106", "11", later), "c": page("1000", "1000", later)}, []string{"d: no answer"})
	if got.Router != "default" || got.Requests != 20 || got.ErrorPercent != 35 || got.Connections != 8 || got.Replicas != 2 || got.Silent != 2 {
		t.Errorf("%+v", got)
	}
}
