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
		return model.ListenerCertificate{Certificate: &model.Certificate{ID: algorithm + strings.Join(names, " "), PEM: algorithm}, Algorithm: algorithm, Names: names}
	}
	all := []model.Listener{
		{Owner: gateway, Hostname: "", Certificates: []model.ListenerCertificate{held("RSA", "a.test", "shop.example.com"), held("ECDSA"), held("RSA", "b.test")}},
		{Owner: gateway, Hostname: "*.example.com", Certificates: []model.ListenerCertificate{held("ECDSA", "*.example.com", "shop.example.com", "deep.a.example.com")}},
		{Owner: gateway, Hostname: "bare.example.com"},
		{Owner: set, Hostname: "shop.example.com", Certificates: []model.ListenerCertificate{held("RSA", "shop.example.com", "www.example.com", "a.test")}},
		{Owner: set, Hostname: "both.example.com", Certificates: []model.ListenerCertificate{held("RSA"), held("ECDSA")}},
	}
	s := certificate.NewShown(21000)
	for i := range all {
		s.Add(&all[i])
	}
	var lines []certificate.Line
	for i := range all {
		lines = append(lines, s.Lines(&all[i])...)
	}
	var got []string
	ids := map[string]bool{}
	for _, l := range lines {
		got = append(got, fmt.Sprint(l.Owner.Kind, " ", strings.Join(l.Names, " ")))
		ids[l.ID] = true
	}
	want := []string{
		"Gateway * a.test", "Gateway *", "Gateway b.test",
		"Gateway *.example.com !shop.example.com deep.a.example.com",
		"ListenerSet shop.example.com", "ListenerSet both.example.com", "ListenerSet both.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(ids) != len(lines) {
		t.Errorf("%d IDs for %d lines: %s", len(ids), len(lines), diff)
	}
}

// TestExcludedBound: however many hosts are below a wildcard, its line is one that HAProxy takes.
func TestExcludedBound(t *testing.T) {
	t.Parallel()
	s := certificate.NewShown(21000)
	held := func(algorithm string) []model.ListenerCertificate {
		return []model.ListenerCertificate{{Certificate: &model.Certificate{PEM: algorithm}, Algorithm: algorithm}}
	}
	wild := &model.Listener{Hostname: "*.example.com", Certificates: held("ECDSA")}
	s.Add(wild)
	for n := range 4096 {
		s.Add(&model.Listener{Hostname: fmt.Sprintf("%063d.example.com", n), Certificates: held("RSA")})
	}
	lines := s.Lines(wild)
	if len(lines) != 1 || len(lines[0].Names) < 50 || len(strings.Join(lines[0].Names, " ")) > 10<<10 {
		t.Errorf("%d lines, the first of %d names", len(lines), len(lines[0].Names))
	}
}
