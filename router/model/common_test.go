package model

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCommonPolicies: a policy has FlagCommon only if each group of it is known to package
// render's rules for common policies. A field that is forgotten here and there would not be
// applied at all.
func TestCommonPolicies(t *testing.T) {
	t.Parallel()
	rate := RateLimit{Requests: 1, Per: time.Second, Burst: 1, Status: 429, Key: LimitKey{Kind: KeyAddress, IPv6Prefix: DefaultIPv6Prefix}}
	header, prefix := []HeaderAction{{Name: "X", Value: "1"}}, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	common := map[string]func(*Policy){
		"Limits":          func(p *Policy) { p.Limits = Limits{Concurrent: 1, Connections: 2, Requests: 3} },
		"Rates":           func(p *Policy) { p.Rates = []RateLimit{rate} },
		"Restricted":      func(p *Policy) { p.Restricted = true },
		"Allow":           func(p *Policy) { p.Restricted, p.Allow = true, prefix },
		"Deny":            func(p *Policy) { p.Deny = prefix },
		"Timeouts":        func(p *Policy) { p.Timeouts = Timeouts{Server: 1, Tunnel: 2} },
		"Forwarded":       func(p *Policy) { p.Forwarded = ForwardedIfNone },
		"Rewrite":         func(p *Policy) { p.Rewrite = &Rewrite{Strip: 2, To: "/a", Empty: "/a"} },
		"HSTS":            func(p *Policy) { p.HSTS = "max-age=1" },
		"CORS":            func(p *Policy) { p.CORS = &CORS{Forward: true} },
		"RetryAll":        func(p *Policy) { p.RetryAll = true },
		"RequestHeaders":  func(p *Policy) { p.RequestHeaders = header },
		"ResponseHeaders": func(p *Policy) { p.ResponseHeaders = header },
		"Cookies":         func(p *Policy) { p.Cookies = &CookieChanges{} },
		"Location":        func(p *Policy) { p.Location = &LocationChange{} },
	}
	others := map[string]func(*Policy){
		"Concurrents":           func(p *Policy) { p.Concurrents = []ConcurrentLimit{{}} },
		"IdentifiedConcurrents": func(p *Policy) { p.IdentifiedConcurrents = []ConcurrentLimit{{}} },
		"Identified":            func(p *Policy) { p.Identified = []RateLimit{rate} },
		"Shared":                func(p *Policy) { p.Shared = []RateLimit{rate} },
		"SharedIdentified":      func(p *Policy) { p.SharedIdentified = []RateLimit{rate} },
		"PodHost":               func(p *Policy) { p.PodHost = "x" },
		"Sizes":                 func(p *Policy) { p.Sizes.Body = 1 },
		"Redirects":             func(p *Policy) { p.Redirects = []Redirect{{}} },
		"Maintenance":           func(p *Policy) { p.Maintenance = &Maintenance{} },
		"Pages":                 func(p *Policy) { p.Pages = &Pages{Router: map[int]PageUse{404: {Page: &Page{}}}} },
		"Unlogged":              func(p *Policy) { p.Unlogged = 1 },
		"RequestID":             func(p *Policy) { p.RequestID = RequestIDKeep },
		"Hash":                  func(p *Policy) { p.Hash = &HashKey{} },
		"Firewall":              func(p *Policy) { p.Firewall = &Firewall{} },
		"Fault":                 func(p *Policy) { p.Fault = &Fault{} },
		"Bandwidth":             func(p *Policy) { p.Bandwidth.Upload = 1 },
		"Tracing":               func(p *Policy) { p.Tracing.On = true },
		"Mirror":                func(p *Policy) { p.Mirror = &Mirror{Agent: &Agent{}} },
		"Canary":                func(p *Policy) { p.Canary = &Canary{} },
		"Agent":                 func(p *Policy) { p.Agent = &Agent{Content: "x"} },
		"APIKeys":               func(p *Policy) { p.APIKeys = &APIKeys{} },
		"Certificate":           func(p *Policy) { p.Certificate = &ClientCertificate{CA: &CA{ID: "x"}} },
		"BranchHeaders":         func(p *Policy) { p.BranchHeaders = map[string][]HeaderAction{"": header} },
		"BranchRewrites":        func(p *Policy) { p.BranchRewrites = map[string]BranchRewrite{"": {Host: "x"}} },
		// Parts of those above.
		"Timeouts.Idle":    func(p *Policy) { p.Timeouts.Idle = 1 },
		"Timeouts.Connect": func(p *Policy) { p.Timeouts.Connect = 1 },
		"Timeouts.Queue":   func(p *Policy) { p.Timeouts.Queue = 1 },
		"Timeouts.Total":   func(p *Policy) { p.Timeouts.Total = 1 },
		"Rewrite.Regex":    func(p *Policy) { p.Rewrite = &Rewrite{Regex: &PathRegex{}} },
		"two Rates":        func(p *Policy) { p.Rates = []RateLimit{rate, rate} },
		"a dry run":        func(p *Policy) { p.Rates = []RateLimit{rate}; p.Rates[0].DryRun = true },
		"exempt clients":   func(p *Policy) { p.Rates = []RateLimit{rate}; p.Rates[0].Exempt = prefix },
		"some requests":    func(p *Policy) { p.Rates = []RateLimit{rate}; p.Rates[0].Match.Methods = []string{"POST"} },
		"other keys":       func(p *Policy) { p.Rates = []RateLimit{rate}; p.Rates[0].Key.Kind = KeyHost },
		"other networks": func(p *Policy) {
			p.Rates = []RateLimit{rate}
			p.Rates[0].Key = LimitKey{Kind: KeyAddress, IPv6Prefix: 48}
		},
	}
	says := func(p *Policy) bool { return strings.Contains(RecordField(p.Record(), FieldMode), FlagCommon) }
	for name, set := range common {
		if p := (Policy{}); !says(with(&p, set)) {
			t.Errorf("%s: the record %q has no %s", name, p.Record(), FlagCommon)
		}
	}
	for name, set := range others {
		if p := (Policy{}); says(with(&p, set, common["CORS"])) {
			t.Errorf("%s: the record %q has %s", name, p.Record(), FlagCommon)
		}
	}
	if r := (&Policy{}).Record(); r != "" {
		t.Errorf("the record of no policy is %q", r)
	}
	neither := []string{"Counted", "ClientCertificate"} // of Shared, and the servers'
	for f := range reflect.TypeFor[Policy]().Fields() {
		if common[f.Name] == nil && others[f.Name] == nil && !slices.Contains(neither, f.Name) {
			t.Errorf("nothing says whether %s is common", f.Name)
		}
	}
}

func with(p *Policy, changes ...func(*Policy)) *Policy {
	for _, change := range changes {
		change(p)
	}
	return p
}
