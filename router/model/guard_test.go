package model

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"
)

// TestGuardKnowsPolicies: each field of a policy is known to keep clients out, and then Guard
// says so, or not to. A field that Guard forgets could be passed by another spelling of
// the path, where a Route beside it is open.
func TestGuardKnowsPolicies(t *testing.T) {
	t.Parallel()
	rate := RateLimit{Requests: 1, Per: time.Second}
	keepsOut := map[string]func(*Policy){
		"Limits":                func(p *Policy) { p.Limits.Requests = 1 },
		"Rates":                 func(p *Policy) { p.Rates = []RateLimit{rate} },
		"IdentifiedConcurrents": func(p *Policy) { p.IdentifiedConcurrents = []ConcurrentLimit{{}} },
		"Identified":            func(p *Policy) { p.Identified = []RateLimit{rate} },
		"Concurrents":           func(p *Policy) { p.Concurrents = []ConcurrentLimit{{}} },
		"Shared":                func(p *Policy) { p.Shared = []RateLimit{rate} },
		"SharedIdentified":      func(p *Policy) { p.SharedIdentified = []RateLimit{rate} },
		"Restricted":            func(p *Policy) { p.Restricted = true },
		"Allow":                 func(p *Policy) { p.Restricted, p.Allow = true, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} },
		"Deny":                  func(p *Policy) { p.Deny = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} },
		"Sizes":                 func(p *Policy) { p.Sizes.Body = 1 },
		"Firewall": func(p *Policy) {
			p.Firewall = &Firewall{Rules: []FirewallRules{{Block: true, Paranoia: 1, Threshold: 5}}}
		},
		"Agent":       func(p *Policy) { p.Agent = &Agent{Content: "x"} },
		"APIKeys":     func(p *Policy) { p.APIKeys = &APIKeys{} },
		"Certificate": func(p *Policy) { p.Certificate = &ClientCertificate{CA: &CA{ID: "x"}} },
	}
	others := []string{
		"Timeouts", "Forwarded", "Counted", "Rewrite", "PodHost", "HSTS", "Redirects", "Maintenance", "Pages", "Unlogged", "RequestID", "CORS", "RetryAll", "Hash",
		"Fault", "Bandwidth", "Tracing", "Mirror", "Canary", "RequestHeaders", "BranchHeaders", "BranchRewrites", "ResponseHeaders", "Cookies", "Location", "ClientCertificate",
	}
	for f := range reflect.TypeFor[Policy]().Fields() {
		set, protects := keepsOut[f.Name]
		switch {
		case !protects && !slices.Contains(others, f.Name):
			t.Errorf("nothing says whether %s keeps clients out", f.Name)
		case protects:
			p := Policy{}
			set(&p)
			if c := (Claim{Backend: Backend{Asks: &p}}); c.Guard() == "" {
				t.Errorf("%s keeps clients out, and Guard does not know it", f.Name)
			}
		}
	}
}

// TestGuardKnowsCertificates: each field of what clients show tells claims apart, but for what
// only pods see.
func TestGuardKnowsCertificates(t *testing.T) {
	t.Parallel()
	guard := func(c ClientCertificate) string {
		return (&Claim{Backend: Backend{Asks: &Policy{Certificate: &c}}}).Guard()
	}
	base := ClientCertificate{CA: &CA{PEM: "x"}}
	for f := range reflect.TypeFor[ClientCertificate]().Fields() {
		other := base
		switch f.Name {
		case "CA":
			other.CA = &CA{PEM: "y"}
		case "Required":
			other.Required = true
		case "Subjects":
			other.Subjects = []Subject{{Value: "CN=a"}}
		case "SANs":
			other.SANs = []SAN{{Kind: SANDNS, Match: SANExact, Value: "a"}}
		case "Forward":
			continue
		default:
			t.Errorf("nothing says whether %s keeps clients out", f.Name)
		}
		if guard(other) == guard(base) {
			t.Errorf("%s keeps clients out, and Guard does not know it", f.Name)
		}
	}
}
