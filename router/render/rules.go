package render

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
)

// asked is true for backends whose policy record asks for more than a sticky
// cookie: model.Policy.Record. Most requests go by after this one look.
const asked = "{ var(txn.p) -m beg a r i n }"

func record(n int) string { return fmt.Sprintf("var(txn.p),field(%d,|)", n) }

func given(n int) string { return "{ " + record(n) + " -m len gt 0 }" }

// policyRules are the rules that turn a backend's policy record into what
// happens to a request. They end the rules of the frontends that route HTTP,
// after txn.be holds the backend's name. The numbers are those of
// model.Policy.Record.
func policyRules(l Layout, caps plan.Capabilities) []string {
	rules := []string{
		"http-request set-var(txn.p) var(txn.be),map_str(" + l.MapFile(plan.MapPolicy) + ")",
		"http-request allow if !" + asked,
	}
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }

	// Only listed clients: refuse before anything is counted.
	add(`set-var-fmt(txn.a) "%%[var(txn.be)]/%%[src,hex,length]/%%[src,hex]" if { %s -m str 1 }`, record(6))
	add(`deny deny_status 403 if { var(txn.a) -m found } !{ var(txn.a),map_beg(%s) -m found }`, l.MapFile(plan.MapAllow))

	// Limits count per backend and client. The name is hashed, because the
	// table cuts long keys.
	add("set-var(txn.lr) %s if %s", record(7), given(7))
	add("set-var(txn.lc) %s if %s", record(8), given(8))
	add("set-var(txn.ln) %s if %s", record(9), given(9))
	add(`set-var-fmt(txn.k) "%%[var(txn.be),xxh64]/%%[src]" if { var(txn.lr) -m found } || { var(txn.lc) -m found } || { var(txn.ln) -m found }`)
	add("track-sc0 var(txn.k) table router_limits if { var(txn.k) -m found }")
	add("deny deny_status 429 if { var(txn.lr) -m found } { sc0_http_req_rate(router_limits),sub(txn.lr) gt 0 }")
	add("deny deny_status 429 if { var(txn.lc) -m found } { sc0_conn_cur(router_limits),sub(txn.lc) gt 0 }")
	add("deny deny_status 429 if { var(txn.ln) -m found } { sc0_conn_rate(router_limits),sub(txn.ln) gt 0 }")

	// The mode is n to leave everything as it came, r to replace, i to add
	// what is missing, a to append.
	add("del-header ^(x-forwarded-(for|host|port|proto|proto-version)|forwarded)$ -m reg if { var(txn.p) -m beg r }")
	for _, h := range forwarded {
		add("add-header %s %s if { var(txn.p) -m beg a } %s", h.name, h.value, h.condition)
		add("add-header %s %s if { var(txn.p) -m beg r i } !{ req.hdr(%s) -m found } %s", h.name, h.value, strings.ToLower(h.name), h.condition)
	}

	// Rewrite: cut the path and put another beginning before the rest.
	add("set-var(txn.sl) %s if %s", record(10), given(10))
	add("set-var(txn.rest) path,bytes(txn.sl) if { var(txn.sl) -m found }")
	add(`set-path "%%[%s]%%[var(txn.rest)]" if { var(txn.sl) -m found } { var(txn.rest) -m len gt 0 }`, record(11))
	add(`set-path "%%[%s]" if { var(txn.sl) -m found } !{ var(txn.rest) -m len gt 0 }`, record(12))

	add("set-var(txn.ts) %s if %s", record(4), given(4))
	add("set-var(txn.tt) %s if %s", record(5), given(5))
	add("set-var(txn.hsts) %s if %s", record(13), given(13))
	if caps.Lua {
		add("set-var(txn.hs) var(txn.be),map_str(%s),b64dec if { %s -m sub s }", l.MapFile(plan.MapResponseHeaders), record(1))
		add("set-var(txn.hq) var(txn.be),map_str(%s),b64dec if { %s -m sub q }", l.MapFile(plan.MapRequestHeaders), record(1))
		add("lua.fairlead_request_headers if { var(txn.hq) -m found }")
	}
	return rules
}

// responseRules are the rules for what comes back from a backend.
func responseRules(caps plan.Capabilities) []string {
	if !caps.Lua {
		return nil
	}
	return []string{"http-response lua.fairlead_response_headers if { var(txn.hs) -m found }"}
}

// forwarded are the headers that tell a pod who asked and how. sess.for is
// made once for each connection.
var forwarded = []struct{ name, value, condition string }{
	{"X-Forwarded-For", "%[src]", ""},
	{"X-Forwarded-Host", "%[req.hdr(host)]", ""},
	{"X-Forwarded-Port", "%[dst_port]", ""},
	{"X-Forwarded-Proto", "%[ssl_fc,iif(https,http)]", ""},
	{"X-Forwarded-Proto-Version", "h2", "{ ssl_fc_alpn -i h2 }"},
	{"Forwarded", "%[var(sess.for)];host=%[req.hdr(host)];proto=%[ssl_fc,iif(https,http)]", ""},
}

// clientRules name the client as the Forwarded header does, RFC 7239, which
// wants brackets and quotes around an IPv6 address.
func clientRules() []string {
	return []string{
		"tcp-request session set-var-fmt(sess.for) for=%[src] if !{ src -m sub : }",
		`tcp-request session set-var-fmt(sess.for) "for=\"[%[src]]\"" if { src -m sub : }`,
	}
}

// profileRules end the rules of HTTP backends: what only a backend can do, and
// the headers of requests that policyRules left alone.
func profileRules() []string {
	rules := []string{
		"http-request set-timeout server var(txn.ts) if { var(txn.ts) -m found }",
		"http-request set-timeout tunnel var(txn.tt) if { var(txn.tt) -m found }",
		"http-request allow if " + asked,
	}
	for _, h := range forwarded {
		rule := "http-request add-header " + h.name + " " + h.value
		if h.condition != "" {
			rule += " if " + h.condition
		}
		rules = append(rules, rule)
	}
	return rules
}
