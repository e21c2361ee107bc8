package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// TestClientLines: no server name leads to the list for client certificates before its
// line is there, nor after it has gone; and a line is replaced without a gap.
func TestClientLines(t *testing.T) {
	t.Parallel()
	ca, other := &model.CA{ID: "ns:r:1", PEM: "PEM"}, &model.CA{ID: "ns:r:2", PEM: "PEM"}
	sni := plan.Entry{Map: plan.MapSNI, Key: "h"}
	with := func(ca *model.CA, required bool, mark string) *plan.State {
		s := plan.NewState()
		l := plan.NewClientLine("h", "ns:r:c", ca, required, false)
		s.CAs[ca.ID], s.Certs[l.CertID], s.ClientLines["h"], s.Entries[sni] = ca.PEM, "PEM", l, mark
		return s
	}
	for _, tt := range []struct {
		name       string
		live, want *plan.State
		steps      string
	}{
		{"new", plan.NewState(), with(ca, true, "!c/1"), "CAPut CertPut ClientLineSet EntryAdd"},
		{"gone", with(ca, true, "!c/1"), plan.NewState(), "EntryDel ClientLineDel"},
		{"another CA", with(ca, true, "!c/1"), with(other, true, "!c/2"), "CAPut CertPut ClientLineSet EntrySet"},
		{"another mode", with(ca, true, "!c/1"), with(ca, false, "!c/1"), "CertPut ClientLineSet"},
		{"nothing", with(ca, true, "!c/1"), with(ca, true, "!c/1"), ""},
	} {
		p := plan.Diff(tt.live, tt.want, plan.FullScope(tt.live, tt.want), caps34)
		var steps []string
		for _, s := range p.Steps {
			steps = append(steps, strings.TrimPrefix(fmt.Sprintf("%T", s), "plan."))
		}
		if got := strings.Join(steps, " "); got != tt.steps {
			t.Errorf("%s: %s", tt.name, got)
		}
		live := tt.live.Clone()
		for _, s := range append(p.Steps, p.Removals...) {
			live.Apply(s)
		}
		if again := plan.Diff(live, tt.want, plan.FullScope(live, tt.want), caps34); !again.Empty() {
			t.Errorf("%s: then %v", tt.name, again)
		}
	}
}

// TestClientLineNames: all that a line does is in the name of its certificate.
func TestClientLineNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, host := range []string{"h", "*.h"} {
		for _, ca := range []string{"a:b:1", "a:b:2"} {
			for _, required := range []bool{true, false} {
				for _, http2 := range []bool{true, false} {
					l := plan.NewClientLine(host, "default:default:1", &model.CA{ID: ca}, required, http2)
					if seen[l.CertID] || plan.HTTP2(l.CertID) || l.CertID == plan.DefaultCertID {
						t.Errorf("%s: %s", host, l.CertID)
					}
					seen[l.CertID] = true
				}
			}
		}
	}
}
