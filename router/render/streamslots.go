package render

import (
	"fmt"
	"slices"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Listeners of protocol TLS and TCP hand connections on whole. Their claims have scopes and
// keys as those of requests have (slotLookupRules), for the path of all requests.

// streamSlotFrontends are the frontends of the blocks for such listeners that there are. One
// sorts TLS connections, and a further one is where TLS of those ends whose listener ends it.
func streamSlotFrontends(s Settings, l Layout, caps plan.Capabilities) (all []slotSection) {
	silent, rules := silentRules(s, "tcp-request content"), append(streamRules(), observeConnectionRules(s, l, caps)...)
	if s.TLSSlots.Count > 0 {
		all = append(all,
			slotSection{
				Name: tlsSlotFrontend, Sorts: true, Binds: slotBinds(s, s.TLSSlots), ConnectionRules: connectionRules(s, l, tlsSlotFrontend),
				SessionRules: slotRules(s.TLSSlots, l), LookupRules: slices.Concat(silent, helloRules(s), unnamedRules(l), scopeRules(l), sortStreamRules(s, l), streamLookupRules(l), rules),
			},
			slotSection{
				Name: "gateway_tls_end", Binds: endBinds(s, l, caps),
				SessionRules: slices.Concat(unresumedRules(caps), tlsOptions(s), []string{endSlotRule(s)}), LookupRules: slices.Concat(silent, endRules(s), scopeRules(l), streamLookupRules(l), rules),
			})
	}
	if s.TCPSlots.Count > 0 {
		all = append(all, slotSection{
			Name: tcpSlotFrontend, Binds: slotBinds(s, s.TCPSlots), ConnectionRules: connectionRules(s, l, tcpSlotFrontend),
			SessionRules: slotRules(s.TCPSlots, l), LookupRules: slices.Concat(silent, tcpLookupRules(l), rules),
		})
	}
	return all
}

// endSocket is where TLS ends of connections to a slot. Its path is as long as that of the
// longest other socket (haproxy.MakeRunDir).
func endSocket(l Layout, slot int) string { return fmt.Sprintf("unix@%s/t%d.sock", l.RunDir(), slot) }

// endBinds have the certificates of one slot each, as those of secureSlotBinds.
func endBinds(s Settings, l Layout, caps plan.Capabilities) (binds []string) {
	for slot := s.TLSSlots.First; slot < s.TLSSlots.First+s.TLSSlots.Count; slot++ {
		binds = append(binds, endSocket(l, slot)+" mode 600 accept-proxy ssl crt-list "+l.SlotList(slot)+" no-alpn"+tlsBind(s, l)+unresumed(caps))
	}
	return binds
}

// endServers lead connections there from the frontend that sorts them, those whose requests are
// read to other sockets than those that are handed on whole.
func endServers(s Settings, l Layout) (lines []string) {
	if s.TLSSlots.Count == 0 {
		return nil
	}
	lines = append(lines,
		"use-server r%[var(sess.slot)] if { var(sess.ends) -m str "+match.EndsHTTPS+" }",
		"use-server s%[var(sess.slot)] if !{ var(sess.ends) -m str "+match.EndsHTTPS+" }")
	for slot := s.TLSSlots.First; slot < s.TLSSlots.First+s.TLSSlots.Count; slot++ {
		lines = append(lines,
			fmt.Sprintf("server s%d %s send-proxy-v2", slot, endSocket(l, slot)),
			fmt.Sprintf("server r%d %s send-proxy-v2", slot, requestSocket(l, slot)))
	}
	return lines
}

// requestSocket is where TLS ends of connections to a slot whose requests are read.
func requestSocket(l Layout, slot int) string {
	return fmt.Sprintf("unix@%s/r%d.sock", l.RunDir(), slot)
}

// requestBinds have the certificates that endBinds have: the server name has chosen the listener
// before, and chooses the certificate.
func requestBinds(s Settings, l Layout, options string) (binds []string) {
	for slot := s.TLSSlots.First; slot < s.TLSSlots.First+s.TLSSlots.Count; slot++ {
		binds = append(binds, requestSocket(l, slot)+" mode 600 accept-proxy ssl crt-list "+l.SlotList(slot)+" alpn h2,http/1.1"+tlsBind(s, l)+options)
	}
	return binds
}

// sortedSlotSection is the frontend of listeners of HTTPS at ports that sort TLS connections. What
// leads connections elsewhere may change while one is on its way here: it is asked once more.
func sortedSlotSection(s Settings, l Layout, caps plan.Capabilities) slotSection {
	section := secureSlotSection(s, l, caps, "gateway_https_end", s.TLSSlots, "")
	section.Binds = requestBinds(s, l, unresumed(caps))
	section.ConnectionRules = askedRules(s.TLSSlots, l) // Others have been decided in front.
	section.SessionRules = append(section.SessionRules, "tcp-request session reject if !{ var(sess.shown),map_str("+l.MapFile(plan.MapListeners)+") -m str "+match.EndsHTTPS+" }")
	return section
}

// endSlotRule finds the slot by the number of the socket.
func endSlotRule(s Settings) string {
	return fmt.Sprintf("tcp-request session set-var(sess.slot) so_id,sub(1),add(%d)", s.TLSSlots.First)
}

// endRules check the certificate of a client as certificateRules do, and take the server name
// of the handshake.
func endRules(s Settings) (rules []string) {
	if s.ClientTLS.Subject != "" {
		rules = append(rules,
			"tcp-request content reject if { ssl_c_s_dn(,0,rfc2253) -m sub / }",
			"tcp-request content reject if !{ ssl_c_used } || !{ ssl_c_s_dn -m reg "+quote(s.ClientTLS.Subject)+" }")
	}
	return append(rules, "tcp-request content set-var(sess.name) ssl_fc_sni,lower,rtrim(.)", namedRule)
}

// sortStreamRules lead connections on to where their TLS ends. These are logged there.
func sortStreamRules(s Settings, l Layout) []string {
	const ends = "{ var(sess.ends) -m found }"
	rules := []string{"tcp-request content set-var(sess.ends) var(sess.scope),map_str(" + l.MapFile(plan.MapListeners) + ")"}
	if s.Log.Target != "" {
		rules = append(rules, "tcp-request content set-log-level silent if "+ends)
	}
	return append(rules, "tcp-request content accept if "+ends)
}

// named is true of connections with a server name. What no name has must not become a part of a key.
const named = "{ var(sess.name) -m reg ^[a-z0-9._-]+$ }"

// namedRule refuses connections without a server name: all claims that have these have one.
const namedRule = "tcp-request content reject if !" + named

// unnamedRules let connections without a server name go where requests are read, if that is where
// the listener without a hostname is.
func unnamedRules(l Layout) []string {
	listeners := l.MapFile(plan.MapListeners)
	return []string{
		`tcp-request content set-var(sess.scope) "var(sess.slot),concat(/*),map_str(` + listeners + `)" if { req.ssl_hello_type 1 } !` + named,
		"tcp-request content reject if !" + named + " !{ var(sess.scope),map_str(" + listeners + ") -m str " + match.EndsHTTPS + " }",
		"tcp-request content unset-var(sess.name) if !" + named,
	}
}

// helloRules wait for the TLS hello of a client, and take the server name.
func helloRules(s Settings) []string {
	return []string{
		"tcp-request inspect-delay " + milliseconds(s.Timeouts.Inspect),
		"tcp-request content set-var(sess.name) req.ssl_sni,lower,rtrim(.) if { req.ssl_hello_type 1 }",
	}
}

// reverseName has the labels of a server name from behind.
func reverseName(condition string) []string {
	return []string{
		`tcp-request content set-var-fmt(sess.labels) "` + lastLabels("sess.name") + `" if ` + condition,
		`tcp-request content set-var(sess.reversed) "var(sess.labels),rtrim(.)" if ` + condition,
	}
}

// scopeRules find the listener of a server name.
func scopeRules(l Layout) []string {
	listeners, suffixes := l.MapFile(plan.MapListeners), l.MapFile(plan.MapSuffixes)
	const unscoped = "!{ var(sess.scope) -m found }"
	rules := []string{`tcp-request content set-var(sess.scope) "var(sess.slot),concat(/,sess.name),map_str(` + listeners + `)"`}
	rules = append(rules, reverseName(unscoped+` { var(sess.slot),concat(/+),map_str(`+listeners+`) -m found }`)...)
	return append(rules,
		`tcp-request content set-var(sess.scope) "var(sess.slot),concat(/,sess.reversed,/),map_beg(`+suffixes+`)" if { var(sess.reversed) -m found }`,
		`tcp-request content set-var(sess.scope) "var(sess.slot),concat(/*),map_str(`+listeners+`)" if `+unscoped,
		"tcp-request content reject if "+unscoped,
	)
}

// streamLookupRules find the backend in the scope of the listener: for the server name, then for
// the wildcards that cover it, then for any name.
func streamLookupRules(l Layout) []string {
	suffixes, routes := l.MapFile(plan.MapSuffixes), l.MapFile(plan.MapHTTP)
	const missed = "!{ var(sess.backend) -m found }"
	rules := []string{`tcp-request content set-var(sess.backend) "var(sess.scope),concat(,sess.name,/#),map_beg(` + routes + `)"`}
	rules = append(rules, reverseName(missed+" !{ var(sess.reversed) -m found }")...)
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
