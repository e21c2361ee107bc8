package render

import (
	"fmt"
	"slices"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Listeners of protocol TLS and TCP hand connections on whole. Their claims have scopes and
// keys as those of requests have (slotLookupRules), for the path of all requests.

// streamSlotFrontends are the frontends of the blocks for such listeners that there are.
func streamSlotFrontends(s Settings, l Layout) (all []slotSection) {
	if s.TLSSlots.Count > 0 {
		all = append(all, slotSection{
			Name: tlsSlotFrontend, Binds: slotBinds(s, s.TLSSlots), ConnectionRules: connectionRules(s, l, tlsSlotFrontend),
			SessionRules: slotRules(s.TLSSlots, l), LookupRules: slices.Concat(helloRules(s), streamLookupRules(l), streamRules()),
		})
	}
	if s.TCPSlots.Count > 0 {
		all = append(all, slotSection{
			Name: tcpSlotFrontend, Binds: slotBinds(s, s.TCPSlots), ConnectionRules: connectionRules(s, l, tcpSlotFrontend),
			SessionRules: slotRules(s.TCPSlots, l), LookupRules: append(tcpLookupRules(l), streamRules()...),
		})
	}
	return all
}

// helloRules wait for the TLS hello of a client, and refuse connections without a server name:
// all claims have one. What no name has must not become a part of a key.
func helloRules(s Settings) []string {
	return []string{
		"tcp-request inspect-delay " + milliseconds(s.Timeouts.Inspect),
		"tcp-request content set-var(sess.name) req.ssl_sni,lower,rtrim(.) if { req.ssl_hello_type 1 }",
		"tcp-request content reject if !{ var(sess.name) -m reg ^[a-z0-9._-]+$ }",
	}
}

// streamLookupRules find the listener of a server name, and in its scope the backend: for the
// name, then for the wildcards that cover it, then for any name.
func streamLookupRules(l Layout) []string {
	listeners, suffixes, routes := l.MapFile(plan.MapListeners), l.MapFile(plan.MapSuffixes), l.MapFile(plan.MapHTTP)
	const unscoped, missed = "!{ var(sess.scope) -m found }", "!{ var(sess.backend) -m found }"
	reverse := func(condition string) []string {
		return []string{
			`tcp-request content set-var-fmt(sess.labels) "` + lastLabels("sess.name") + `" if ` + condition,
			`tcp-request content set-var(sess.reversed) "var(sess.labels),rtrim(.)" if ` + condition,
		}
	}
	rules := []string{`tcp-request content set-var(sess.scope) "var(sess.slot),concat(/,sess.name),map_str(` + listeners + `)"`}
	rules = append(rules, reverse(unscoped+` { var(sess.slot),concat(/+),map_str(`+listeners+`) -m found }`)...)
	rules = append(rules,
		`tcp-request content set-var(sess.scope) "var(sess.slot),concat(/,sess.reversed,/),map_beg(`+suffixes+`)" if { var(sess.reversed) -m found }`,
		`tcp-request content set-var(sess.scope) "var(sess.slot),concat(/*),map_str(`+listeners+`)" if `+unscoped,
		"tcp-request content reject if "+unscoped,
		`tcp-request content set-var(sess.backend) "var(sess.scope),concat(,sess.name,/#),map_beg(`+routes+`)"`,
	)
	rules = append(rules, reverse(missed+" !{ var(sess.reversed) -m found }")...)
	rules = append(rules, `tcp-request content set-var(sess.suffix) "var(sess.scope),concat(,sess.reversed,/),map_beg(`+suffixes+`)" if `+missed)
	look := func(host, condition string) {
		rules = append(rules,
			`tcp-request content set-var-fmt(sess.key) "%[var(sess.scope)]`+host+`/#" if `+condition+missed,
			"tcp-request content set-var(sess.backend) var(sess.key),map_beg("+routes+") if "+condition+missed)
	}
	look("%[var(sess.suffix),field(1,|)]", "{ var(sess.suffix) -m found } ")
	for n := 2; n <= 3; n++ { // match.SuffixValue
		look(fmt.Sprintf("%%[var(sess.suffix),field(%d,|)]", n), "{ var(sess.suffix) -m sub | } ")
	}
	look("*", "")
	return rules
}

// tcpLookupRules find the backend of a slot, whose listener is for all connections.
func tcpLookupRules(l Layout) []string {
	return []string{
		`tcp-request content set-var(sess.backend) "var(sess.slot),concat(/*),map_str(` + l.MapFile(plan.MapListeners) + `),concat(*/#),map_beg(` + l.MapFile(plan.MapHTTP) + `)"`,
	}
}

// streamRules lead a connection to one of several backends by their weights, and close it if
// that is none of a claim's: nothing is there, or what cannot be used.
func streamRules() []string {
	return []string{
		fmt.Sprintf("tcp-request content set-var(sess.canary) var(sess.backend),field(%d,|) if { var(sess.backend) -m sub | }", model.FieldCanary+1),
		"tcp-request content lua.fairlead_share if { var(sess.canary) -m found }",
		"tcp-request content reject if !{ var(sess.backend) -m beg " + string(model.KindTCP) + ": }",
	}
}
