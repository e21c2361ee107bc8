package observe

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// line is a record as HAProxy 3.4 writes it.
const line = "h|1796000000123456|be_edge_http:web:cart_canary_next:1a2b3c4d|pod:cart-b:next:http:198.18.0.7:8080:0f0f0f0f|504|sH--|+2|1/0/2/12/0/-1/-1/30014|" +
	"312|0|203.0.113.9|id%2D1|POST|2|TLSv1.3|www.example.com|www.example.com%3A8443|14|%2Fcart%2Fit%1B%5B2J|00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01|00f067aa0ba902b7|access"

func TestParse(t *testing.T) {
	t.Parallel()
	want := Record{
		Time: time.UnixMicro(1796000000123456).UTC(), ID: "id-1", Kind: "Route", Namespace: "web", Route: "cart", Pod: "cart-b", Service: "next",
		Protocol: "HTTP/2", Method: "POST", Host: "www.example.com:8443", Path: "/cart/it\x1b[2J", PathBytes: 14, Status: 504, Received: 312,
		Timers: Timers{0.001, 0, 0.002, 0.012, 0, -1, -1, 30.014}, Ended: "sH", Words: "the pod did not answer within the timeout",
		Retries: 2, Moved: true, Client: "203.0.113.9", TLS: "TLSv1.3", ServerName: "www.example.com",
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", ParentSpan: "00f067aa0ba902b7", Policy: "access", Endpoint: netip.MustParseAddrPort("198.18.0.7:8080"),
	}
	got, ok := Parse([]byte(line))
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); !ok || d != "" {
		t.Errorf("%t (-want +got):\n%s", ok, d)
	}
	tcp, ok := Parse([]byte("t|1796000000123456|be_tcp:web:HTTPRoute_x_0:1a2b3c4d|<NOSRV>|0|SC|3|-1/-1/-1/0/-1/-1/-1/3|10|0|2001:db8::1||||" + "0||bank.example.com||0||||"))
	if ok {
		t.Errorf("a field too many: %+v", tcp)
	}
	tcp, ok = Parse([]byte("t|1796000000123456|be_tcp:web:HTTPRoute_x_0:1a2b3c4d|<NOSRV>|0|SC|3|-1/-1/-1/0/-1/-1/-1/3|10|0|2001:db8::1|||0||bank.example.com||0||||"))
	if !ok || tcp.Kind != "HTTPRoute" || tcp.Route != "x" || tcp.Protocol != "TCP" || tcp.ServerName != "bank.example.com" || tcp.Words != "no pod was ready (4 attempts)" && tcp.Words != "no pod was ready" {
		t.Errorf("%t %+v", ok, tcp)
	}
	for _, bad := range []string{"", "x", strings.Replace(line, "h|", "x|", 1), strings.Replace(line, "1796", "x", 1), strings.Replace(line, "/30014", "", 1), line + "|"} {
		if r, ok := Parse([]byte(bad)); ok {
			t.Errorf("%q is read as %+v", bad, r)
		}
	}
	for text, want := range map[string]int{"1 event dropped": 1, "27 events dropped": 27, "x events dropped": 0, "3 events": 0, "-3 events dropped": 0} {
		if n, ok := Dropped([]byte(text)); n != want && ok || ok != (want > 0) {
			t.Errorf("%q: %d %t", text, n, ok)
		}
	}
}

// TestTraces: only what is a traceparent is one, and addresses are found in all names of servers.
func TestTraces(t *testing.T) {
	t.Parallel()
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]bool{
		"00-" + trace + "-" + span + "-01": true, "00-" + trace + "-" + span + "-00": false, "-": false, "": false, "00-" + trace + "-" + span + "-ff": false,
		"01-" + trace + "-" + span + "-01": false, "00-" + strings.ToUpper(trace) + "-" + span + "-01": false, "00-" + trace + "-" + span + "-01\n": false,
	} {
		var r Record
		r.trace(header, "00f067aa0ba902b7")
		if known := want || strings.HasSuffix(header, "-00"); r.Sampled() != want || (r.Traceparent == header) != (known || header == "") || (r.ParentSpan != "") != known {
			t.Errorf("%q is read as %+v", header, r)
		}
	}
	for server, want := range map[string]string{
		"pod:a:web:http:198.18.0.7:8080": "198.18.0.7:8080", "pod:a:web:http:198.18.0.7:8080:00001234": "198.18.0.7:8080", "pod:a:web::2001:db8::1:8080": "[2001:db8::1]:8080",
		"pod:a:web:http:2001:db8::1:8080:deadbeef": "[2001:db8::1]:8080", "ept:web:http:198.18.0.7:8080": "198.18.0.7:8080", "ept:web::2001:db8::1:80:deadbeef": "[2001:db8::1]:80",
		"<NOSRV>": "", "pod:a": "", "pod:::::": "", "ept:web:http:x:80": "", "": "", "pod:a:web:http:198.18.0.7:99999": "", "server:1:2:3:198.18.0.7:80": "",
	} {
		if got := endpointOf(server); got.IsValid() != (want != "") || want != "" && got.String() != want {
			t.Errorf("%s is at %s, want %s", server, got, want)
		}
	}
}

// TestWords: each letter and pair has words, and no pair has two.
func TestWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range States() {
		if seen[s.Code] || len(s.Code) != 2 || s.Meaning == "" {
			t.Errorf("%+v", s)
		}
		seen[s.Code] = true
	}
	for _, cause := range Causes() {
		for _, phase := range Phases() {
			if words := Words(&Record{Ended: cause.Code + phase.Code}); words == "" || strings.Contains(words, "state") {
				t.Errorf("%s%s: %q", cause.Code, phase.Code, words)
			}
		}
	}
	for want, r := range map[string]Record{
		"":                               {Ended: "--", Pod: "a"},
		"no pod was ready":               {Ended: "SC"},
		"the pod refused the connection": {Ended: "SC", Pod: "a"},
		"the router refused it at the end of the answer": {Ended: "PL"},
		"HAProxy's state ?!":                             {Ended: "?!"},
		"the pod refused the connection (4 attempts)":    {Ended: "SC", Pod: "a", Retries: 3},
	} {
		if got := Words(&r); got != want {
			t.Errorf("%+v: %q, want %q", r, got, want)
		}
	}
}

// FuzzParse: whatever HAProxy's ring has, the reader survives, and a record comes of a line
// with all fields only.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{line, "12 events dropped", "h|1|!302|||||0/0/0/0/0/0/0/0||||||||||||||", "h|\n|\t|\r|\x00|\f||||||||||||||||", strings.ReplaceAll(line, "%2F", "%zz"), strings.Repeat("|", 21)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		Dropped(text)
		r, ok := Parse(text)
		if ok && strings.Count(string(text), "|") != fields-1 {
			t.Fatalf("%q is no record, and read as %+v", text, r)
		}
		if len(r.Ended) > 2 || r.Kind == "" != (r.Namespace == "") && r.Namespace != "" {
			t.Fatalf("%q is read as %+v", text, r)
		}
		if failed := Failed(text); ok && failed && r.Status > 0 && r.Status < 400 {
			t.Fatalf("%q counts as failed, and is read as %+v", text, r)
		}
		(&Filter{Host: "h", Status: "5xx", Path: "/"}).Takes(&r)
	})
}

// TestDocs: the page has all words, and no others.
func TestDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tail.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range slices.Concat(States(), Causes(), Phases()) {
		want = append(want, "| `"+s.Code+"` | "+s.Meaning+" |")
	}
	_, tables, _ := strings.Cut(string(page), "## How requests end")
	var got []string
	for l := range strings.Lines(tables) {
		if strings.HasPrefix(l, "| `") {
			got = append(got, strings.TrimSpace(l))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-code +docs/tail.md:\n%s", d)
	}
}
