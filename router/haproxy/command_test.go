package haproxy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
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
	encoded, err := encode(steps, testLayout, testCaps, minCommand)
	if err != nil {
		return err.Error()
	}
	for _, l := range encoded {
		b.WriteString(strings.ReplaceAll(l.text.String(), ";"+mark+";", "|") + "\n--\n")
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
		}, "add backend b from p|add server b/s 198.18.0.1:80 weight 5 cookie c check inter 5000ms;enable server b/s;enable health b/s|publish backend b\n--\n"},
		{"keys of one map in one payload", []plan.Step{
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: `h/a;b\`}, Value: "b"},
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: "h/c"}, Value: "b"},
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapSNI, Key: "h"}, Value: "b"},
		}, "add map /d/maps/http.map <<%FL%\nh/a;b\\ b\nh/c b\n%FL%\n--\nadd map /d/maps/sni.map h b\n--\n"},
		{"a new path, and the old one away, in one line", []plan.Step{
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: "h/new/"}, Value: "b; c <<"},
			plan.EntryDel{Entry: plan.Entry{Map: plan.MapHTTP, Key: "h/old/"}},
		}, `add map /d/maps/http.map h/new/ b\;\ c\ \<\<|del map /d/maps/http.map h/old/` + "\n--\n"},
		{"a long key in a payload", []plan.Step{
			plan.EntryAdd{Entry: plan.Entry{Map: plan.MapHTTP, Key: strings.Repeat("k", maxAlone)}, Value: "b"},
		}, "add map /d/maps/http.map <<%FL%\n" + strings.Repeat("k", maxAlone) + " b\n%FL%\n--\n"},
		{"what separates commands is escaped", []plan.Step{
			plan.EntrySet{Entry: plan.Entry{Map: plan.MapHTTP, Key: `h/a;b\c`}, Value: "v w"},
		}, `set map /d/maps/http.map h/a\;b\\c v\ w` + "\n--\n"},
		{"what would begin a payload, or end one, is escaped", []plan.Step{
			plan.EntryDel{Entry: plan.Entry{Map: plan.MapHTTP, Key: `<<x`}}, plan.EntrySet{Entry: plan.Entry{Map: plan.MapHTTP, Key: "k"}, Value: "a <<%FL%"},
		}, `del map /d/maps/http.map \<\<x|set map /d/maps/http.map k a\ \<\<%FL%` + "\n--\n"},
		{"removals among other commands", []plan.Step{
			plan.BackendPublish{Name: "a"}, plan.EntryDel{Entry: plan.Entry{Map: plan.MapHTTP, Key: "k"}}, plan.BackendDel{Name: "b"}, plan.BackendPublish{Name: "c"},
		}, "publish backend a|del map /d/maps/http.map k|del backend b|publish backend c\n--\n"},
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
				plan.ServerDown{Backend: "b", Name: "s"},
				plan.CASet{ID: "a:r:ca", PEM: "PEM"},
			},
			"set maxconn frontend public 5|enable frontend public|enable health b/s|set server b/s health up|set server b/s health down|" +
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
	encoded, err := encode(steps, testLayout, testCaps, minCommand)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range encoded {
		command, payload, _ := strings.Cut(strings.ReplaceAll(l.text.String(), ";"+mark, ""), "<<")
		if len(command) > maxLine || len(payload) > testCaps.MaxPayload || l.cost > maxCommands {
			t.Errorf("a line of %d and a payload of %d bytes with cost %d", len(command), len(payload), l.cost)
		}
		for _, u := range l.units {
			if u.last {
				seen += len(u.steps)
			}
		}
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
	encoded, err := encode(steps, testLayout, small, minCommand)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range encoded {
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

// TestUnsafe: a value that would not reach HAProxy as one word, whatever let it
// through, stops its own step, and the refusal names no other.
func TestUnsafe(t *testing.T) {
	t.Parallel()
	entry := func(key string) plan.Entry { return plan.Entry{Map: plan.MapHTTP, Key: key} }
	server := func(o model.ServerOptions) plan.ServerAdd {
		return plan.ServerAdd{Backend: "b", Name: "s", Server: plan.Server{Address: netip.MustParseAddrPort("198.18.0.1:80"), Options: o}}
	}
	for _, bad := range []string{"\n", "\t", "\r", "\x00", "\f", "\v", "\x1b", "\x7f"} {
		x := "x" + bad + "y"
		for _, s := range []plan.Step{
			plan.EntryAdd{Entry: entry(x), Value: "v"},
			plan.EntryAdd{Entry: entry("k"), Value: x},
			plan.EntrySet{Entry: entry(x), Value: "v"},
			plan.EntrySet{Entry: entry("k"), Value: x},
			plan.EntryDel{Entry: entry(x)},
			plan.BackendAdd{Name: x, Profile: "p"},
			plan.BackendAdd{Name: "b", Profile: x},
			plan.BackendPublish{Name: x},
			plan.BackendUnpublish{Name: x},
			plan.BackendDel{Name: x},
			plan.FrontendEnable{Name: x},
			plan.ServerAdd{Backend: x, Name: "s"},
			plan.ServerAdd{Backend: "b", Name: x},
			server(model.ServerOptions{Cookie: x}), server(model.ServerOptions{CheckInterval: x}), server(model.ServerOptions{SlowStart: x}),
			server(model.ServerOptions{TLS: true, VerifyHost: x}), server(model.ServerOptions{TLS: true, CAID: x}),
			plan.ServerAddr{Backend: x, Name: "s"},
			plan.ServerWeight{Backend: x, Name: "s"},
			plan.ServerMaxConn{Backend: "b", Name: x},
			plan.ServerReady{Backend: x, Name: "s"},
			plan.ServerCheck{Backend: x, Name: "s"},
			plan.ServerUp{Backend: x, Name: "s"},
			plan.ServerDown{Backend: x, Name: "s"},
			plan.ServerDrain{Backend: x, Name: "s"},
			plan.ServerDel{Backend: x, Name: "s"},
			plan.CertPut{ID: x, PEM: "p"},
			plan.CertSet{ID: x, PEM: "p"},
			plan.CertDel{ID: x},
			plan.CAPut{ID: x, PEM: "p"},
			plan.CASet{ID: x, PEM: "p"},
			plan.CADel{ID: x},
			plan.LineSet{Filter: x, CertID: "c"},
			plan.LineSet{Filter: "f", CertID: x},
			plan.LineSet{Filter: "f", CertID: "c", Old: x},
			plan.LineDel{CertID: x},
		} {
			refuses(t, s)
		}
		if bad != "\n" {
			refuses(t, plan.CertPut{ID: "c", PEM: x})
			refuses(t, plan.CAPut{ID: "c", PEM: x})
		}
	}
	for _, s := range []plan.Step{
		plan.CertPut{ID: "c", PEM: "a\n\nb"},
		plan.CertPut{ID: "c", PEM: "a\n%FL%\nshow info"},
		plan.CAPut{ID: "c", PEM: ""},
		plan.CAPut{ID: "c", PEM: strings.Repeat("a", testCaps.MaxPayload)},
		plan.EntryAdd{Entry: entry("#k"), Value: "v"},
		plan.EntryAdd{Entry: entry("k k"), Value: "v"},
		plan.EntryAdd{Entry: entry("k")},
		plan.EntryAdd{Entry: entry("k"), Value: " v"},
		plan.EntrySet{Entry: entry("k"), Value: "v "},
		plan.EntrySet{Entry: entry("k"), Value: strings.Repeat("v", minCommand)},
		plan.BackendAdd{Name: "b"},
	} {
		refuses(t, s)
	}
}

// TestParts: a CA bundle is sent in pieces that fit, each of whole certificates.
func TestParts(t *testing.T) {
	t.Parallel()
	const one = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
	for _, tt := range []struct {
		name, pem string
		most      int
		want      []int // bytes of each part
	}{
		{"all at once", one + one, 1000, []int{2 * len(one)}},
		{"one by one", one + one + one, 2*len(one) - 1, []int{len(one), len(one), len(one)}},
		{"two and one", one + one + one, 2*len(one) + 1, []int{2 * len(one), len(one)}},
		{"one that does not fit", one, 5, []int{len(one)}},
		{"no certificate", "x", 5, []int{1}},
		{"nothing", "", 5, []int{0}},
	} {
		got := parts(tt.pem, tt.most)
		var sizes []int
		for _, p := range got {
			sizes = append(sizes, len(p))
		}
		if !slices.Equal(sizes, tt.want) || strings.Join(got, "") != tt.pem {
			t.Errorf("%s: parts of %v bytes, want %v", tt.name, sizes, tt.want)
		}
	}
}

func refuses(t *testing.T, s plan.Step) {
	t.Helper()
	_, err := encode([]plan.Step{plan.BackendPublish{Name: "before"}, s, plan.BackendPublish{Name: "after"}}, testLayout, testCaps, minCommand)
	refusal, ok := errors.AsType[*RefusedError](err)
	if !ok || len(refusal.Steps) != 1 || refusal.Steps[0] != s {
		t.Errorf("%#v: %v; want a refusal of this step alone", s, err)
	}
}

// TestRead reads answers as HAProxy 3.4.7 and 3.0 give them.
func TestRead(t *testing.T) {
	t.Parallel()
	step, removal := unit{last: true}, unit{last: true, removes: true}
	for _, tt := range []struct {
		name, answer string
		units        []unit
		want         []string
	}{
		{"nothing", "", []unit{step}, nil},
		{"one command", "[6]: 3.4.7-1", []unit{step}, []string{""}},
		{"the second of three is refused", "\n\n[6]: 3.4.7-1\n\n\n[3]: entry not found.\n\n[6]: 3.4.7-1\n\n\n[6]: 3.4.7-1\n\n", []unit{step, step, step}, []string{"", "entry not found.", ""}},
		{"the last answer is missing", "[6]: 3.4.7-1\n\n[3]: entry", []unit{step, step}, []string{""}},
		{"cut within the mark", "[6]: 3.", []unit{step}, nil},
		{"what is gone already", "[3]: No such server.\n\n[3]: No such server.\n\n[6]: 3.0.11-1+deb13u3", []unit{removal}, []string{""}},
		{"a payload of 3.4", "[3]: entry not found.\n\n[6]: 3.4.7-1\n\n\n> [6]: 3.4.7-1\n\n>", []unit{step, step}, []string{"entry not found.", ""}},
		{"a payload of 3.0", "> \n> [6]: 3.0.11-1+deb13u3\n\n> + + + [3]: Unknown map identifier.\n\n> [6]: 3.0.11-1+deb13u3\n\n>", []unit{step, step}, []string{"", "Unknown map identifier."}},
		{"an unknown command is a notice for HAProxy", "[6]: Unknown command: 'includeSubDomains', but\n  help\n\n[6]: 3.4.7-1", []unit{step}, []string{"Unknown command: 'includeSubDomains', but"}},
		{"other notices are none", "[6]: New server registered.\n\n[5]: New backend\n\n[6]: 3.4.7-1", []unit{step}, []string{""}},
	} {
		l := line{units: tt.units}
		if d := cmp.Diff(tt.want, l.read(tt.answer)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// FuzzEscape undoes the escaping as HAProxy's command line does, and finds the
// words that went in, or a refusal for a reason.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{
		"a", "a b", "a;b", `\`, `\\;`, `a\ b`, `';"`, "%[src]", "<<x", " <<%FL%", "#", "",
		"a\nb", "a\tb", "a\rb", "a\x00b", "a\fb", "\n", "max-age=1;\nincludeSubDomains", "é",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := say("set map ? key ?", s, s)
		if unsafe := s == "" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }); unsafe != (c.err != nil) {
			t.Fatalf("say(%q): %v", s, c.err)
		} else if unsafe {
			return
		}
		if strings.Contains(c.text, " <<") {
			t.Fatalf("%q begins a payload", c.text)
		}
		words, escaped := []string{""}, false
		for _, b := range []byte(c.text) {
			last := &words[len(words)-1]
			switch {
			case escaped:
				*last += string([]byte{b})
				escaped = false
			case b == '\\':
				escaped = true
			case b == ' ':
				words = append(words, "")
			case b == ';' || b == '\n':
				t.Fatalf("%q has an open %q", c.text, b)
			default:
				*last += string([]byte{b})
			}
		}
		if d := cmp.Diff([]string{"set", "map", s, "key", s}, words); d != "" || escaped {
			t.Fatalf("%q reads otherwise (-want +got):\n%s", c.text, d)
		}
	})
}
