package render

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
)

// policyRules are the rules that turn a backend's policy record into what
// happens to a request. They stand in the frontends that route HTTP, after
// txn.be holds the backend's name. The numbers are those of
// model.Policy.Record.
func policyRules(l Layout, caps plan.Capabilities) []string {
	field := func(n int) string { return fmt.Sprintf("var(txn.p),field(%d,|)", n) }
	given := func(n int) string { return "{ " + field(n) + " -m len gt 0 }" }
	rules := []string{"http-request set-var(txn.p) var(txn.be),map_str(" + l.MapFile(plan.MapPolicy) + ")"}
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }

	// Only listed clients: refuse before anything is counted.
	add(`set-var-fmt(txn.a) "%%[var(txn.be)]/%%[src,hex,length]/%%[src,hex]" if { %s -m str 1 }`, field(5))
	add(`deny deny_status 403 if { var(txn.a) -m found } !{ var(txn.a),map_beg(%s) -m found }`, l.MapFile(plan.MapAllow))

	// Limits count per backend and client. The name is hashed, because the
	// table cuts long keys.
	add("set-var(txn.lr) %s if %s", field(7), given(7))
	add("set-var(txn.lc) %s if %s", field(8), given(8))
	add("set-var(txn.ln) %s if %s", field(9), given(9))
	add(`set-var-fmt(txn.k) "%%[var(txn.be),xxh64]/%%[src]" if { var(txn.lr) -m found } || { var(txn.lc) -m found } || { var(txn.ln) -m found }`)
	add("track-sc0 var(txn.k) table router_limits if { var(txn.k) -m found }")
	add("deny deny_status 429 if { var(txn.lr) -m found } { sc0_http_req_rate(router_limits),sub(txn.lr) gt 0 }")
	add("deny deny_status 429 if { var(txn.lc) -m found } { sc0_conn_cur(router_limits),sub(txn.lc) gt 0 }")
	add("deny deny_status 429 if { var(txn.ln) -m found } { sc0_conn_rate(router_limits),sub(txn.ln) gt 0 }")

	rules = append(rules, forwardedRules(field(6))...)

	// Rewrite: cut the path and put another beginning before the rest.
	add("set-var(txn.sl) %s if %s", field(10), given(10))
	add("set-var(txn.rest) path,bytes(txn.sl) if { var(txn.sl) -m found }")
	add(`set-path "%%[%s]%%[var(txn.rest)]" if { var(txn.sl) -m found } { var(txn.rest) -m len gt 0 }`, field(11))
	add(`set-path "%%[%s]" if { var(txn.sl) -m found } !{ var(txn.rest) -m len gt 0 }`, field(12))

	if caps.Lua {
		add("set-var(txn.hq) var(txn.be),map_str(%s),b64dec if { %s -m sub q }", l.MapFile(plan.MapRequestHeaders), field(14))
		add("lua.fairlead_request_headers if { var(txn.hq) -m found }")
	}
	return rules
}

// responseRules are the rules for what comes back from a backend.
func responseRules(l Layout, caps plan.Capabilities) []string {
	if !caps.Lua {
		return nil
	}
	return []string{
		"http-response set-var(txn.hs) var(txn.be),map_str(" + l.MapFile(plan.MapResponseHeaders) + "),b64dec if { var(txn.p),field(14,|) -m sub s }",
		"http-response lua.fairlead_response_headers if { var(txn.hs) -m found }",
	}
}

// forwardedRules tell a pod who asked and how. The mode is "" to append, r to
// replace, i to add what is missing, n to leave everything as it came.
func forwardedRules(mode string) []string {
	headers := []struct{ name, value, condition string }{
		{"X-Forwarded-For", "%[src]", ""},
		{"X-Forwarded-Host", "%[req.hdr(host)]", ""},
		{"X-Forwarded-Port", "%[dst_port]", ""},
		{"X-Forwarded-Proto", "%[var(txn.proto)]", ""},
		{"X-Forwarded-Proto-Version", "h2", "{ ssl_fc_alpn -i h2 }"},
		{"Forwarded", "for=%[src];host=%[req.hdr(host)];proto=%[var(txn.proto)]", "!{ src -m sub : }"},
		{"Forwarded", `"for=\"[%[src]]\";host=%[req.hdr(host)];proto=%[var(txn.proto)]"`, "{ src -m sub : }"},
	}
	rules := []string{
		"http-request set-var(txn.fm) " + mode,
		"http-request del-header ^(x-forwarded-(for|host|port|proto|proto-version)|forwarded)$ -m reg if { var(txn.fm) -m str r }",
		"http-request unset-var(txn.fm) if { var(txn.fm) -m str r }",
	}
	for _, h := range headers {
		rule := "http-request add-header " + h.name + " " + h.value
		missing := "!{ req.hdr(" + strings.ToLower(h.name) + ") -m found } "
		rules = append(rules,
			strings.TrimSpace(rule+" if !{ var(txn.fm) -m len gt 0 } "+h.condition),
			strings.TrimSpace(rule+" if { var(txn.fm) -m str i } "+missing+h.condition))
	}
	return rules
}
