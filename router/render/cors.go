package render

import (
	"fmt"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// corsRules look up the origin of a request, as it is, as one of several of its
// domain, and as any: txn.cors has the record of the one that is admitted
// (model.CORS.OriginRecord). They come first, so that what the router itself answers
// can be read, too.
func corsRules(l Layout) []string {
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }
	const origin, unknown = "{ var(txn.origin) -m found }", "!{ var(txn.cors) -m found }"
	in := ",map_str(" + l.MapFile(plan.MapCORS) + ")"
	add("set-var(txn.cors_route) bool(true) if %s", asks(model.FlagCORS))
	add("set-var(txn.after) bool(true) if %s", asks(model.FlagCORS))
	add("set-var(txn.origin) req.fhdr(origin) if %s", asks(model.FlagCORS))
	add("set-var(txn.cors) var(txn.backend),concat(/,txn.origin)%s if %s", in, origin)
	add(`set-var(txn.origin_domain) 'var(txn.origin),regsub("^(https?://)[a-z0-9-]+\.","\1*.")' if %s %s`, origin, unknown)
	add("set-var(txn.cors) var(txn.backend),concat(/,txn.origin_domain)%s if { var(txn.origin_domain) -m found }", in)
	rules = append(rules, domainRules(l, in)...)
	add("set-var(txn.cors) var(txn.backend),concat(/*)%s if %s %s", in, origin, unknown)
	add("set-var(txn.preflight) bool(true) if %s METH_OPTIONS { req.fhdr(access-control-request-method) -m found } !%s", origin, asks(model.FlagForwardPreflight))
	add("set-var(txn.cors_method) req.fhdr(access-control-request-method) if { var(txn.preflight) -m found }")
	add("set-var(txn.cors_headers) req.fhdr(access-control-request-headers) if { var(txn.preflight) -m found }")
	return rules
}

// domainRules look up an origin by its domain, of any number of labels (model.DomainKey).
func domainRules(l Layout, in string) []string {
	rules := []string{
		"http-request set-var(txn.origin_host) var(txn.origin),field(3,/) if { var(txn.origin) -m found } !{ var(txn.cors) -m found } " +
			"{ var(txn.backend),concat(/" + model.DomainsKey + ")" + in + " -m found } { var(txn.origin) -m reg ^https?://[a-z0-9.-]+(:[0-9]+)?$ }",
		"http-request set-var(txn.origin_name) var(txn.origin_host),field(1,:) if { var(txn.origin_host) -m found }",
	}
	const of = " if { var(txn.origin_name) -m found }"
	return append(rules,
		`http-request set-var-fmt(txn.origin_labels) "`+lastLabels("txn.origin_name")+`"`+of,
		"http-request set-var(txn.origin_labels) var(txn.origin_labels),rtrim(.)"+of,
		`http-request set-var-fmt(txn.origin_key) "%[var(txn.backend)]/~%[var(txn.origin),field(1,:)]:%[var(txn.origin_host),field(2,:)]/%[var(txn.origin_labels)]/"`+of,
		"http-request set-var(txn.cors) var(txn.origin_key),map_beg("+l.MapFile(plan.MapCORS)+")"+of,
	)
}

// preflightRule answers preflights, before anything that wants to know who asks,
// because these carry no credentials.
const preflightRule = "http-request return status 204 if { var(txn.preflight) -m found }"

// mostRepeated is how long a list may be that a preflight asks for and the answer repeats.
const mostRepeated = 4096

// corsResponseRules give all answers of a route with CORS its headers, the router's
// own ones included, in place of those that a pod has.
func corsResponseRules() []string {
	field := func(n int) string { return fmt.Sprintf("var(txn.cors),field(%d,|)", n) }
	const preflight = "{ var(txn.preflight) -m found }"
	rules := []string{
		"http-after-response allow if !{ var(txn.cors_route) -m found }",
		"http-after-response del-header '^access-control-(allow-(origin|methods|headers|credentials|private-network)|expose-headers|max-age)$' -m reg",
		"http-after-response add-header Vary Origin if !{ var(txn.cors) -m beg * }",
		// No origin, or none that is admitted; and most requests of those that are, are no preflights.
		"http-after-response allow if !{ var(txn.cors) -m found }",
		"http-after-response set-header Access-Control-Allow-Origin * if { var(txn.cors) -m beg * }",
		"http-after-response set-header Access-Control-Allow-Origin %[var(txn.origin)] if { var(txn.cors) -m beg e }",
		"http-after-response set-header Access-Control-Allow-Credentials true if { " + field(2) + " -m str c }",
		fmt.Sprintf("http-after-response set-header Access-Control-Expose-Headers %%[%s] if { %s -m len gt 0 }", field(5), field(5)),
		"http-after-response allow if !" + preflight,
	}
	for _, h := range []struct {
		name  string
		field int
	}{
		{"Access-Control-Allow-Methods", 3},
		{"Access-Control-Allow-Headers", 4},
		{"Access-Control-Max-Age", 6},
	} {
		rules = append(rules, fmt.Sprintf("http-after-response set-header %s %%[%s] if { %s -m len gt 0 }", h.name, field(h.field), field(h.field)))
	}
	for _, h := range []struct {
		name, asked string
		field       int
	}{
		{"Access-Control-Allow-Methods", "txn.cors_method", 3},
		{"Access-Control-Allow-Headers", "txn.cors_headers", 4},
	} {
		repeated := fmt.Sprintf("if { %s -m str %s }", field(h.field), model.Repeated)
		rules = append(rules,
			fmt.Sprintf("http-after-response del-header %s %s", h.name, repeated),
			fmt.Sprintf("http-after-response set-header %s %%[var(%s)] %s { var(%s) -m len 1:%d }", h.name, h.asked, repeated, h.asked, mostRepeated))
	}
	return rules
}
