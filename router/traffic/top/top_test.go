package top

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const first = `# HELP fairlead_route_requests_total x
# TYPE fairlead_route_requests_total counter
fairlead_route_requests_total{class="2xx",namespace="web",route="shop"} 100
fairlead_route_requests_total{class="5xx",namespace="web",route="shop"} 10
fairlead_route_requests_total{class="2xx",namespace="_other",route="_other"} 1000
# TYPE fairlead_route_connections gauge
fairlead_route_connections{namespace="web",route="shop"} 3
# TYPE fairlead_route_endpoints gauge
fairlead_route_endpoints{namespace="web",route="shop"} 2
# TYPE fairlead_route_received_bytes_total counter
fairlead_route_received_bytes_total{namespace="web",route="shop"} 5000
# TYPE fairlead_route_sent_bytes_total counter
fairlead_route_sent_bytes_total{namespace="web",route="shop"} 1e6
# TYPE other gauge
other{x="\x00"} 5
`

// second is 2 s later: 40 more requests, a Route that is new, and one router that began again.
const second = `# TYPE fairlead_route_requests_total counter
fairlead_route_requests_total{class="2xx",namespace="web",route="shop"} 130
fairlead_route_requests_total{class="5xx",namespace="web",route="shop"} 20
fairlead_route_requests_total{class="2xx",namespace="web",route="new"} 8
fairlead_route_requests_total{class="none",namespace="db",route="pass"} 2
fairlead_route_requests_total{class="2xx",namespace="_other",route="_other"} 20
# TYPE fairlead_route_connections gauge
fairlead_route_connections{namespace="web",route="shop"} 4
# TYPE fairlead_route_endpoints gauge
fairlead_route_endpoints{namespace="web",route="shop"} 1
# TYPE fairlead_route_received_bytes_total counter
fairlead_route_received_bytes_total{namespace="web",route="shop"} 7000
# TYPE fairlead_route_sent_bytes_total counter
fairlead_route_sent_bytes_total{namespace="web",route="shop"} 5e6
`

func parsed(t *testing.T, page string, at time.Time) *Reading {
	t.Helper()
	r, err := Parse(strings.NewReader(page), at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRates(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	a, b := parsed(t, strings.Replace(first, `\x00`, "", 1), now), parsed(t, second, now.Add(2*time.Second))
	lines, total, rest := Rates([]Pair{{a, b}, {a, a}, {b, b}})
	if rest == nil || rest.Requests != 10 {
		t.Errorf("the rest, whose counter fell: %+v", rest)
	}
	Sort(lines, "req", false)
	v := &View{Schema: Schema, Router: "default", Seconds: 2, Routers: 1, Unread: []string{"pod-b: no answer"}, Routes: lines, Total: total, Rest: rest, Hidden: 7}
	v.Routes[0].Host = "www.example.com/shop"
	var text strings.Builder
	if err := v.Text(&text); err != nil {
		t.Fatal(err)
	}
	want := `router default, 1 replica, over 2 s
not asked: pod-b: no answer
ROUTE               HOST                  REQ/S  2xx  3xx  4xx  5xx   ERR%  CONN  PODS  IN/S  OUT/S
web/shop            www.example.com/shop   20.0   15    0    0  5.0  25.00     4     1   1 k    2 M
web/new                                     4.0  4.0    0    0    0   0.00     0     0     0      0
db/pass                                     1.0    0    0    0    0   0.00     0     0     0      0
… and 7 more
all without series                         10.0   10    0    0    0   0.00     0     0     0      0
total                                      35.0   29    0    0  5.0  14.29     4     1   1 k    2 M
`
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Error(d)
	}
}

func TestSort(t *testing.T) {
	t.Parallel()
	lines := []Line{{Namespace: "a", Route: "1", Requests: 1, Server: 3}, {Namespace: "b", Route: "1", Requests: 2, Server: 1}, {Namespace: "a", Route: "2", Requests: 2}}
	for key, want := range map[string]string{"req": "a/2 b/1 a/1", "5xx": "a/1 b/1 a/2", "name": "a/1 a/2 b/1"} {
		for reverse, want := range map[bool]string{false: want, true: reversed(want)} {
			Sort(lines, key, reverse)
			var got []string
			for _, l := range lines {
				got = append(got, l.Namespace+"/"+l.Route)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("by %s, reverse %t: %v, want %s", key, reverse, got, want)
			}
		}
	}
}

func reversed(words string) string {
	all := strings.Fields(words)
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return strings.Join(all, " ")
}

// FuzzParse: whatever a page says, it is read or refused.
func FuzzParse(f *testing.F) {
	f.Add(first)
	f.Add(second)
	f.Fuzz(func(_ *testing.T, page string) {
		a, err := Parse(strings.NewReader(page), time.Unix(0, 0))
		if err != nil {
			return
		}
		b, _ := Parse(strings.NewReader(page), time.Unix(1, 0))
		Rates([]Pair{{a, b}})
	})
}
