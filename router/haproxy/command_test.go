package haproxy

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

var (
	testLayout = render.Layout{Dir: "/d"}
	testCaps   = plan.Capabilities{DynamicBackends: true, AutoSNI: true, MaxPayload: 1 << 20}
)

func lines(steps ...plan.Step) string {
	var b strings.Builder
	for _, l := range encode(steps, testLayout, testCaps) {
		b.WriteString(l.text.String() + "\n--\n")
	}
	return b.String()
}

func TestEncode(t *testing.T) {
	t.Parallel()
	server := plan.Server{Address: netip.MustParseAddrPort("198.18.0.1:80"), Weight: 5, Options: model.ServerOptions{Cookie: "c", CheckInterval: "5000ms"}}
	for _, tt := range []struct {
		name  string
		steps []plan.Step
		want  string
	}{
		{"a route in one line", []plan.Step{
			plan.BackendAdd{Name: "b", Profile: "p"}, plan.ServerAdd{Backend: "b", Name: "s", Server: server}, plan.BackendPublish{Name: "b"},
		}, "add backend b from p;add server b/s 198.18.0.1:80 weight 5 cookie c check inter 5000ms;enable server b/s;enable health b/s;publish backend b\n--\n"},
		{"keys of one map in one payload", []plan.Step{
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: `h/a;b\`}, Value: "b"},
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: "h/c"}, Value: "b"},
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapSNI, Key: "h"}, Value: "b"},
		}, "add map /d/maps/http.map <<%FL%\nh/a;b\\ b\nh/c b\n%FL%\n--\nadd map /d/maps/sni.map <<%FL%\nh b\n%FL%\n--\n"},
		{"what separates commands is escaped", []plan.Step{
			plan.EntrySet{Entry: plan.Entry{Map: plan.MapHTTP, Key: `h/a;b\c d`}, Value: "v"},
		}, `set map /d/maps/http.map h/a\;b\\c\ d v` + "\n--\n"},
		{"removals share no line with other commands", []plan.Step{
			plan.BackendPublish{Name: "a"}, plan.EntryDel{Entry: plan.Entry{Map: plan.MapHTTP, Key: "k"}}, plan.BackendDel{Name: "b"}, plan.BackendPublish{Name: "c"},
		}, "publish backend a\n--\ndel map /d/maps/http.map k;del backend b\n--\npublish backend c\n--\n"},
		{"IPv6", []plan.Step{
			plan.ServerAddr{Backend: "b", Name: "s", Address: netip.MustParseAddrPort("[fd00::1]:80")},
		}, "set server b/s addr fd00::1 port 80\n--\n"},
		{
			"what somebody changed",
			[]plan.Step{
				plan.LimitSet{What: "maxconn frontend public", Value: 5},
				plan.FrontendEnable{Name: "public"},
				plan.ServerCheck{Backend: "b", Name: "s"},
				plan.ServerUp{Backend: "b", Name: "s"},
				plan.CASet{ID: "a:r:ca", PEM: "PEM"},
			},
			"set maxconn frontend public 5;enable frontend public;enable health b/s;set server b/s health up;" +
				"set ssl ca-file /d/certs/a_r_ca.ca <<%FL%\nPEM\n%FL%\n--\ncommit ssl ca-file /d/certs/a_r_ca.ca\n--\n",
		},
		{"nothing", nil, ""},
	} {
		if d := cmp.Diff(tt.want, lines(tt.steps...)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// TestEncodeBounds: no line may grow beyond what HAProxy takes, or keep its
// thread busy for long.
func TestEncodeBounds(t *testing.T) {
	t.Parallel()
	var steps []plan.Step
	for i := range 500 {
		b := fmt.Sprintf("be_http:%s:%d", strings.Repeat("n", 60), i)
		s := plan.Server{Address: netip.MustParseAddrPort("198.18.0.1:80")}
		s.Options.TLS = i%2 == 0
		steps = append(steps, plan.BackendAdd{Name: b, Profile: "p"}, plan.ServerAdd{Backend: b, Name: strings.Repeat("s", 250), Server: s},
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: strings.Repeat("k", 2300)}, Value: b})
	}
	for i := range 500 {
		steps = append(steps, plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: strings.Repeat("k", 2300)}, Value: fmt.Sprint(i)})
	}
	seen := 0
	for _, l := range encode(steps, testLayout, testCaps) {
		command, payload, _ := strings.Cut(l.text.String(), "<<")
		if len(command) > maxLine || len(payload) > testCaps.MaxPayload || l.cost > maxCommands {
			t.Errorf("a line of %d and a payload of %d bytes with cost %d", len(command), len(payload), l.cost)
		}
		seen += len(l.steps)
	}
	if seen != len(steps) {
		t.Errorf("%d of %d steps are in lines", seen, len(steps))
	}
}

// TestEncodePayload30: before 3.4 payload and command must fit one buffer.
func TestEncodePayload30(t *testing.T) {
	t.Parallel()
	var steps []plan.Step
	for i := range 200 {
		steps = append(steps, plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: fmt.Sprintf("%d%s", i, strings.Repeat("k", 2300))}, Value: "b"})
	}
	small := plan.Capabilities{MaxPayload: 15 << 10}
	for _, l := range encode(steps, testLayout, small) {
		if n := l.text.Len(); n > 16<<10 {
			t.Fatalf("a line of %d bytes with its payload; HAProxy 3.0 takes 16 KiB and resets the connection", n)
		}
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer  string
		removes bool
		want    string
	}{
		{"", false, ""},
		{"\n[5]: New empty certificate store 'x'!\n\n", false, ""},
		{"[3]: No such backend.\n", false, "No such backend."},
		{"[3]: No such backend.\n", true, ""},
		{"[3]: Backend still has connections.\n", true, "Backend still has connections."},
		{"[6]: done\n\n[2]: too bad\n", false, "too bad"},
		{"Inserting certificate 'x' in crt-list 'y'.\nee key too small.\nFailed!\n", false, "ee key too small."},
		{"Committing x\nSuccess!\n", false, ""},
	} {
		if got := failure(tt.answer, tt.removes); got != tt.want {
			t.Errorf("failure(%q, %v) = %q, want %q", tt.answer, tt.removes, got, tt.want)
		}
	}
}

// FuzzEscape undoes the escaping as HAProxy's command line does, and finds one
// word with what went in.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a", "a b", "a;b", `\`, `\\;`, `a\ b`, `';"`, "%[src]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Skip("refused before it gets here")
		}
		var out strings.Builder
		escaped := false
		for _, c := range []byte(escape(s)) {
			switch {
			case escaped:
				out.WriteByte(c)
				escaped = false
			case c == '\\':
				escaped = true
			case c == ' ' || c == ';':
				t.Fatalf("escape(%q) = %q has an open %q", s, escape(s), c)
			default:
				out.WriteByte(c)
			}
		}
		if out.String() != s || escaped {
			t.Fatalf("escape(%q) reads as %q", s, out.String())
		}
	})
}
