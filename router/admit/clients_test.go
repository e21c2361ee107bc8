package admit_test

import (
	"strings"
	"testing"

	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// TestClients: a host asks for certificates of the CA of its oldest claim, and requires one
// if all paths do; younger claims with another CA are closed.
func TestClients(t *testing.T) {
	t.Parallel()
	required := func(ca string) *model.ClientCertificate {
		return &model.ClientCertificate{CA: &model.CA{ID: ca, PEM: ca}, Required: true}
	}
	optional := func(ca string) *model.ClientCertificate {
		return &model.ClientCertificate{CA: &model.CA{ID: ca, PEM: ca}}
	}
	named := optional("x")
	named.Subjects = []model.Subject{{Value: "CN=a"}}
	for _, tt := range []struct {
		name, claims string
		asks         map[string]*model.ClientCertificate
		ca           string // of the host; empty for none
		required     bool
		closed       string
	}{
		{"nothing", "1 a/x h / edge", nil, "", false, ""},
		{"one", "1 a/x h / edge", map[string]*model.ClientCertificate{"x": required("x")}, "x", true, ""},
		{"re-encrypt", "1 a/x h / reencrypt", map[string]*model.ClientCertificate{"x": required("x")}, "x", true, ""},
		{"optional", "1 a/x h / edge", map[string]*model.ClientCertificate{"x": optional("x")}, "x", false, ""},
		{"subjects", "1 a/x h / edge", map[string]*model.ClientCertificate{"x": named}, "x", false, ""},
		{"beside a path that asks for nothing", "1 a/x h / edge\n2 a/y h /y edge", map[string]*model.ClientCertificate{"x": required("x")}, "x", false, ""},
		{"beside an older path that asks for nothing", "2 a/x h / edge\n1 a/y h /y edge", map[string]*model.ClientCertificate{"x": required("x")}, "x", false, ""},
		{"beside plain HTTP", "1 a/x h / edge\n2 a/y h /y", map[string]*model.ClientCertificate{"x": required("x")}, "x", true, ""},
		{"the same CA", "1 a/x h / edge\n2 a/y h /y edge", map[string]*model.ClientCertificate{"x": required("x"), "y": required("x")}, "x", true, ""},
		{"two modes", "1 a/x h / edge\n2 a/y h /y edge", map[string]*model.ClientCertificate{"x": required("x"), "y": optional("x")}, "x", false, ""},
		{"two CAs", "1 a/x h / edge\n2 a/y h /y edge", map[string]*model.ClientCertificate{"x": required("x"), "y": required("y")}, "x", true, "y"},
		{"two CAs, the other way", "2 a/x h / edge\n1 a/y h /y edge", map[string]*model.ClientCertificate{"x": required("x"), "y": required("y")}, "y", true, "x"},
		{"any host", "1 a/x * / edge", map[string]*model.ClientCertificate{"x": required("x")}, "", false, ""},
	} {
		cs := claims(tt.claims)
		for _, all := range cs {
			for _, c := range all {
				if certificate := tt.asks[c.Owner.Name]; certificate != nil {
					c.Backend.Asks = &model.Policy{Certificate: certificate}
				}
			}
		}
		for host, h := range admit.Decide(cs, false) {
			ca, mark := "", ""
			if k := h.Table.Clients; k != nil {
				ca, mark = k.CA.PEM, k.Mark
				if k.Required != tt.required || h.Table.SNI != mark || !model.IsClientMark(mark) {
					t.Errorf("%s: %+v, %s", tt.name, k, h.Table.SNI)
				}
			}
			if ca != tt.ca || ca == "" && model.IsClientMark(h.Table.SNI) {
				t.Errorf("%s: host %s asks for %q", tt.name, host, ca)
			}
			closed := ""
			for id, f := range h.Closed {
				closed += id.Owner.Name
				if !strings.Contains(f.Message, "another CA") {
					t.Errorf("%s: %s", tt.name, f.Message)
				}
			}
			for _, w := range h.Winners {
				if w.Closed != (w.Owner.Name == tt.closed) {
					t.Errorf("%s: %s closed: %v", tt.name, w.Owner.Name, w.Closed)
				}
			}
			if closed != tt.closed {
				t.Errorf("%s: %q is closed", tt.name, closed)
			}
		}
	}
}

// TestClientsBelowWildcard: names below a wildcard host that asks for certificates, which
// have a route of their own, are not led where it asks.
func TestClientsBelowWildcard(t *testing.T) {
	t.Parallel()
	cs := claims("1 a/w *.d / edge\n2 a/x x.d / edge")
	cs["*.d"][0].Backend.Asks = &model.Policy{Certificate: &model.ClientCertificate{CA: &model.CA{ID: "x", PEM: "x"}}}
	hosts := admit.Decide(cs, false)
	if sni := hosts["x.d"].Table.SNI; sni != match.Terminate {
		t.Errorf("x.d: %q", sni)
	}
	if sni := hosts["*.d"].Table.SNI; !model.IsClientMark(sni) {
		t.Errorf("*.d: %q", sni)
	}
}
