package plan_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/plan"
)

var caps34 = plan.Capabilities{DynamicBackends: true, AutoSNI: true, MaxPayload: 1 << 20}

// state builds a state: "backend NAME PROFILE server@address*weight…",
// "entry MAP KEY VALUE", "cert ID", "ca ID", "line FILTER ID". A name that
// begins with "-" is stopped, with "?" unchecked and with "!" down, a profile "-"
// unpublished. "altered cert ID" and "altered ca ID" have somebody else's text.
func state(t *testing.T, text string) *plan.State {
	t.Helper()
	st := plan.NewState()
	for l := range strings.Lines(text) {
		f := strings.Fields(l)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "backend":
			b := &plan.Backend{Profile: f[2], Unpublished: f[2] == "-"}
			for _, s := range f[3:] {
				name, rest, _ := strings.Cut(s, "@")
				addr, weight, _ := strings.Cut(rest, "*")
				server := &plan.Server{Address: netip.MustParseAddrPort(addr)}
				name, server.Stopped = strings.CutPrefix(name, "-")
				name, server.Unchecked = strings.CutPrefix(name, "?")
				name, server.Down = strings.CutPrefix(name, "!")
				if _, err := fmt.Sscan(weight, &server.Weight); err != nil {
					t.Fatal(err)
				}
				b.Servers.Set(name, server)
			}
			st.Backends[f[1]] = b
		case "entry":
			st.Entries[plan.Entry{Map: plan.Map(f[1]), Key: f[2]}] = f[3]
		case "cert":
			st.Certs[f[1]] = "PEM"
		case "ca":
			st.CAs[f[1]] = "PEM"
		case "altered":
			map[string]map[string]string{"cert": st.Certs, "ca": st.CAs}[f[1]][f[2]] = plan.Altered
		case "repair":
			st.Repairs = []plan.Step{plan.LimitSet{What: "maxconn frontend " + f[1], Value: 5}}
		case "broken":
			st.Broken = strings.Join(f[1:], " ")
		case "line":
			st.Lines[f[1]] = f[2]
		default:
			t.Fatalf("unknown %q", l)
		}
	}
	return st
}

func describe(p plan.Plan) string {
	var b strings.Builder
	if p.Reload != "" {
		fmt.Fprintf(&b, "reload: %s\n", p.Reload)
	}
	for _, part := range []struct {
		name  string
		steps []plan.Step
	}{{"", p.Steps}, {"later ", p.Removals}} {
		for _, s := range part.steps {
			name := strings.TrimPrefix(fmt.Sprintf("%T", s), "plan.")
			fmt.Fprintf(&b, "%s%s %+v\n", part.name, name, s)
		}
	}
	return b.String()
}

const route = `
ca a:r:ca
cert a:r:crt
line h.test a:r:crt
backend be:a:r:1 http_random s1@198.18.0.1:80*1
entry policy be:a:r:1 |||
entry https h.test/ be:a:r:1
entry sni h.test !t
`

// TestDiff fixes the order of steps: it is what keeps requests from failing.
func TestDiff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, live, want string
		caps             plan.Capabilities
		steps            string
	}{
		{"nothing", route, route, caps34, ""},
		{"a route appears: what it needs first, its key last", "", route, caps34, `
CAPut {ID:a:r:ca PEM:PEM}
CertPut {ID:a:r:crt PEM:PEM}
BackendAdd {Name:be:a:r:1 Profile:http_random}
ServerAdd {Backend:be:a:r:1 Name:s1 Server:{Address:198.18.0.1:80 Weight:1}}
EntryAdd {Entry:{Map:policy Key:be:a:r:1} Value:|||}
BackendPublish {Name:be:a:r:1}
LineSet {Filter:h.test CertID:a:r:crt Old:}
EntryAdd {Entry:{Map:https Key:h.test/} Value:be:a:r:1}
EntryAdd {Entry:{Map:sni Key:h.test} Value:!t}
`},
		{"a route goes: its key first, what it used later", route, "", caps34, `
LineDel {Filter:h.test CertID:a:r:crt}
EntryDel {Entry:{Map:https Key:h.test/}}
EntryDel {Entry:{Map:sni Key:h.test}}
later BackendDel {Name:be:a:r:1}
later EntryDel {Entry:{Map:policy Key:be:a:r:1}}
later CertDel {ID:a:r:crt}
later CADel {ID:a:r:ca}
`},
		{
			"an endpoint is replaced: the new one works before the old one is drained",
			"backend b p s1@198.18.0.1:80*1", "backend b p s2@198.18.0.2:80*1", caps34, `
ServerAdd {Backend:b Name:s2 Server:{Address:198.18.0.2:80 Weight:1}}
ServerDrain {Backend:b Name:s1}
later ServerDel {Backend:b Name:s1}
`,
		},
		{
			"weights and addresses change in place",
			"backend b p s1@198.18.0.1:80*1", "backend b p s1@198.18.0.2:81*256", caps34, `
ServerAddr {Backend:b Name:s1 Address:198.18.0.2:81}
ServerWeight {Backend:b Name:s1 Weight:256}
`,
		},
		{"a server that was on its way out comes back", "backend b p -s1@198.18.0.1:80*1", "backend b p s1@198.18.0.1:80*1", caps34, `
ServerReady {Backend:b Name:s1}
`},
		{"what is on its way out is no drift", "backend b p -s1@198.18.0.1:80*1\nbackend c - -s@198.18.0.2:80*1", "backend b p -s1@198.18.0.1:80*1\nbackend c - -s@198.18.0.2:80*1", caps34, ""},
		{"somebody enabled a server that was on its way out", "backend b p s1@198.18.0.1:80*1", "backend b p -s1@198.18.0.1:80*1", caps34, `
ServerDrain {Backend:b Name:s1}
`},
		{"somebody turned a health check off, and another server down", "backend b p ?s1@198.18.0.1:80*1 !s2@198.18.0.2:80*1", "backend b p s1@198.18.0.1:80*1 s2@198.18.0.2:80*1", caps34, `
ServerCheck {Backend:b Name:s1}
ServerUp {Backend:b Name:s2}
`},
		{"the router's probes say that a server is sick, also one that is new", "backend b p s1@198.18.0.1:80*1", "backend b p !s1@198.18.0.1:80*1 !s2@198.18.0.2:80*1", caps34, `
ServerDown {Backend:b Name:s1}
ServerAdd {Backend:b Name:s2 Server:{Address:198.18.0.2:80 Weight:1 Down:true}}
ServerDown {Backend:b Name:s2}
`},
		{"somebody replaced a certificate and a CA under their names", "altered cert c\naltered ca a", "cert c\nca a", caps34, `
CASet {ID:a PEM:PEM}
CertSet {ID:c PEM:PEM}
`},
		{"somebody changed what HAProxy started with", "repair public 5", "", caps34, `
LimitSet {What:maxconn frontend public Value:5}
`},
		{"somebody changed what only a new process puts right", "broken it is", "backend b p", caps34, "\nreload: it is\n"},
		{"a backend that was on its way out comes back", "backend b - s1@198.18.0.1:80*1", "backend b p s1@198.18.0.1:80*1", caps34, `
BackendPublish {Name:b}
`},
		{
			"another profile: a new backend, then the key, then the old one goes",
			"backend b1 p s@198.18.0.1:80*1\nentry http h/ b1", "backend b2 q s@198.18.0.1:80*1\nentry http h/ b2", caps34, `
BackendAdd {Name:b2 Profile:q}
ServerAdd {Backend:b2 Name:s Server:{Address:198.18.0.1:80 Weight:1}}
BackendPublish {Name:b2}
EntrySet {Entry:{Map:http Key:h/} Value:b2}
later BackendDel {Name:b1}
`,
		},
		{"a host is renamed: the new key before the old one goes", "backend b p\nentry http old/ b", "backend b p\nentry http new/ b", caps34, `
EntryAdd {Entry:{Map:http Key:new/} Value:b}
EntryDel {Entry:{Map:http Key:old/}}
`},
		{"paths below others come first, and go last", "entry http h/ a\nentry http h/a/ b", "entry http i/ a\nentry http i/a/ b\nentry http i/a/b/ c", caps34, `
EntryAdd {Entry:{Map:http Key:i/a/b/} Value:c}
EntryAdd {Entry:{Map:http Key:i/a/} Value:b}
EntryAdd {Entry:{Map:http Key:i/} Value:a}
EntryDel {Entry:{Map:http Key:h/}}
EntryDel {Entry:{Map:http Key:h/a/}}
`},
		{"a certificate is rotated", "cert c1\nline h c1", "cert c2\nline h c2", caps34, `
CertPut {ID:c2 PEM:PEM}
LineSet {Filter:h CertID:c2 Old:c1}
later CertDel {ID:c1}
`},
		{"before 3.4 a backend needs a reload", "", "backend b p s@198.18.0.1:80*1", plan.Capabilities{MaxPayload: 100}, `
reload: backend added, which HAProxy before 3.4 cannot do at run time
`},
		{"before 3.4 an unused backend stays, without servers", "backend b p s@198.18.0.1:80*1\nentry http h/ b", "", plan.Capabilities{MaxPayload: 100}, `
ServerDrain {Backend:b Name:s}
EntryDel {Entry:{Map:http Key:h/}}
later ServerDel {Backend:b Name:s}
`},
		{"before 3.4 servers, keys and certificates need none", "backend b p s@198.18.0.1:80*1", "backend b p t@198.18.0.2:80*1\nentry http h/ b\ncert c", plan.Capabilities{MaxPayload: 100}, `
CertPut {ID:c PEM:PEM}
ServerAdd {Backend:b Name:t Server:{Address:198.18.0.2:80 Weight:1}}
EntryAdd {Entry:{Map:http Key:h/} Value:b}
ServerDrain {Backend:b Name:s}
later ServerDel {Backend:b Name:s}
`},
		{"a route's certificate or CA too large for the socket needs none: it is refused", "", "cert c\nca a", plan.Capabilities{DynamicBackends: true, MaxPayload: 2}, `
CAPut {ID:a PEM:PEM}
CertPut {ID:c PEM:PEM}
`},
		{"a default certificate too large for the socket needs a reload", "", "cert " + plan.DefaultCertID, plan.Capabilities{DynamicBackends: true, MaxPayload: 2}, `
reload: default certificate larger than HAProxy takes at run time
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			live, want := state(t, tt.live), state(t, tt.want)
			p := plan.Diff(live, want, plan.FullScope(live, want), tt.caps)
			got := strings.NewReplacer(" MaxConn:0", "", " Stopped:false", "", " Unchecked:false", "", " Down:false", "", " Options:{}", "").Replace(withoutOptions(describe(p)))
			if d := cmp.Diff(strings.TrimPrefix(tt.steps, "\n"), got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// withoutOptions cuts the empty server options, whose fields come and go.
func withoutOptions(s string) string {
	for {
		before, rest, ok := strings.Cut(s, " Options:{")
		if !ok {
			return s
		}
		_, after, _ := strings.Cut(rest, "}")
		s = before + after
	}
}

// TestDiffReaches applies the plan of every pair of states and finds nothing
// left to do.
func TestDiffReaches(t *testing.T) {
	t.Parallel()
	states := []string{
		"", route, "backend be:a:r:1 p s2@198.18.0.2:80*5\nentry https h.test/ be:a:r:1", "cert a:r:crt\nline h.test a:r:crt",
		strings.ReplaceAll(route, "be:a:r:1", "be:a:r:2"), strings.ReplaceAll(route, "a:r:crt", "a:r:new"),
	}
	for _, from := range states {
		for _, to := range states {
			live, want := state(t, from), state(t, to)
			p := plan.Diff(live, want, plan.FullScope(live, want), caps34)
			for _, s := range p.Steps {
				live.Apply(s)
			}
			for _, s := range p.Removals {
				for _, r := range plan.Removal(live, s) {
					live.Apply(r)
				}
			}
			if rest := plan.Diff(live, want, plan.FullScope(live, want), caps34); !rest.Empty() {
				t.Errorf("from %q to %q: still to do:\n%s", from, to, describe(rest))
			}
		}
	}
}
