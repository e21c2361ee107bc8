package certificate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
)

// TestLines: names lead to the most specific listener of a slot that has certificates,
// whichever object has it.
func TestLines(t *testing.T) {
	t.Parallel()
	gateway := model.Object{Kind: "Gateway", Namespace: "ns", Name: "gw"}
	set := model.Object{Kind: "ListenerSet", Namespace: "other", Name: "set"}
	held := func(algorithm string, names ...string) model.ListenerCertificate {
		return model.ListenerCertificate{Certificate: &model.Certificate{PEM: algorithm + strings.Join(names, " ")}, Algorithm: algorithm, Names: names}
	}
	lines := certificate.Lines(21000, []model.Listener{
		{Owner: gateway, Hostname: "", Certificates: []model.ListenerCertificate{held("RSA", "a.test", "shop.example.com"), held("ECDSA"), held("RSA", "b.test")}},
		{Owner: gateway, Hostname: "*.example.com", Certificates: []model.ListenerCertificate{held("ECDSA", "*.example.com", "shop.example.com", "deep.a.example.com")}},
		{Owner: gateway, Hostname: "bare.example.com"},
		{Owner: set, Hostname: "shop.example.com", Certificates: []model.ListenerCertificate{held("RSA", "shop.example.com", "www.example.com", "a.test")}},
	})
	var got []string
	ids := map[string]bool{}
	for _, l := range lines {
		got = append(got, fmt.Sprint(l.Owner.Kind, " ", strings.Join(l.Names, " ")))
		ids[l.ID] = true
	}
	want := []string{
		"Gateway * a.test", "Gateway *", "Gateway b.test",
		"Gateway *.example.com !shop.example.com deep.a.example.com",
		"ListenerSet shop.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(ids) != len(lines) {
		t.Errorf("%d IDs for %d lines: %s", len(ids), len(lines), diff)
	}
}
