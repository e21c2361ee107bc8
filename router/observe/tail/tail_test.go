package tail

import (
	"strings"
	"testing"
	"time"

	"github.com/fairlead/fairlead/router/observe"
)

func TestText(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 12, 4, 31, 118_000_000, time.UTC)
	reached := observe.Timers{Queue: 0.012, Connect: 0, Response: 0.167, Data: 0.001, Total: 0.18}
	failed := observe.Timers{Queue: 0, Connect: -1, Response: -1, Data: -1, Total: 0.001}
	for want, r := range map[string]observe.Record{
		"12:04:31.118  x7k    POST /cart/items               503      1 ms  -                 198.51.100.7     no pod was ready  HTTP/1": {
			Time: at, Method: "POST", Path: "/cart/items", PathBytes: 11, Status: 503, Protocol: "HTTP/1", Client: "198.51.100.7", Ended: "SC", Words: "no pod was ready", Timers: failed,
		},
		"12:04:31.118  x7k    GET  /cart                     200    180 ms  cart-b            203.0.113.9        HTTP/2, TLSv1.3  queue 12  connect 0  answer 167  data 1  trace 0af7651916cd43dd8448eb211c80319c": {
			Time: at, Method: "GET", Path: "/cart", PathBytes: 5, Status: 200, Protocol: "HTTP/2", TLS: "TLSv1.3", Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Client: "203.0.113.9", Pod: "cart-b", Ended: "--", Timers: reached,
		},
		`12:04:31.118  x7k    GET  /\u001b[2J\u000a… (9 bytes)  200    180 ms  cart-b            203.0.113.9        HTTP/1  queue 12  connect 0  answer 167  data 1  2 retries, at last another pod`: {
			Time: at, Method: "GET", Path: "/\x1b[2J\n", PathBytes: 9, Status: 200, Protocol: "HTTP/1", Client: "203.0.113.9", Pod: "cart-b", Timers: reached, Retries: 2, Moved: true,
		},
		"12:04:31.118  x7k    GET  /admin                    403      1 ms  -                 203.0.113.9      the router refused the request  HTTP/1  answered by policy access": {
			Time: at, Method: "GET", Path: "/admin", PathBytes: 6, Status: 403, Protocol: "HTTP/1", Client: "203.0.113.9", Ended: "PR", Words: "the router refused the request", Policy: "access", Timers: failed,
		},
		"12:04:31.118  x7k    TCP  bank.example.com            -    12.5 s  bank-a            203.0.113.9        TCP": {
			Time: at, Protocol: "TCP", ServerName: "bank.example.com", Client: "203.0.113.9", Pod: "bank-a", Timers: observe.Timers{Queue: -1, Connect: -1, Response: -1, Data: -1, Total: 12.5},
		},
	} {
		if got := (Text{Zone: time.UTC}).Line("router-default-7c9-x7k", &r); got != want {
			t.Errorf("\n%s, want\n%s", got, want)
		}
	}
	hosts := (Text{Zone: time.UTC, Hosts: true}).Line("r", &observe.Record{Method: "GET", Host: "www.example.com", Path: "/"})
	if !strings.Contains(hosts, "GET  www.example.com/ ") {
		t.Error(hosts)
	}
}

// TestOrder: records of two routers come in the order of their times, unless one is later than
// the others wait.
func TestOrder(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	var o Order
	add := func(path string, time, came int) {
		o.Add(Shown{Record: observe.Record{Path: path, Time: at(time)}}, at(came))
	}
	paths := func(all []Shown) string {
		var text strings.Builder
		for _, s := range all {
			text.WriteString(s.Path)
		}
		return text.String()
	}
	add("b", 20, 21)
	add("d", 200, 201)
	add("a", 10, 250)
	add("c", 20, 251)
	if got := paths(o.Due(at(320))); got != "" {
		t.Errorf("%q before its time", got)
	}
	if got := paths(o.Due(at(321))); got != "ab" {
		t.Errorf("%q, want ab", got)
	}
	add("e", 5, 330)
	if got := paths(o.Due(at(551))); got != "ecd" && got != "ec" {
		t.Errorf("%q, want ec", got)
	}
	if rest := paths(o.Rest()) + paths(o.Rest()); rest != "d" && rest != "" {
		t.Errorf("%q", rest)
	}
}
