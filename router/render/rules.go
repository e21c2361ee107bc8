package render

import (
	"fmt"
	"slices"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/plan"
)

// asked is true for backends whose policy record asks for more than a sticky
// cookie: model.Policy.Record. Most requests go by after this one look.
const asked = "{ var(txn.p) -m beg a r i n }"

func record(n int) string { return fmt.Sprintf("var(txn.p),field(%d,|)", n) }

// asks is true for backends whose policy record has a letter.
func asks(letter string) string { return "{ " + record(1) + " -m sub " + letter + " }" }

// Numbers of the fields of a policy record, from the first behind the cookie's:
// they are read from a variable of their own, which begins there.
const (
	fieldRequests = 4 + iota
	fieldConcurrent
	fieldConnections
	fieldServerTimeout
	fieldTunnelTimeout
	fieldStrip
	fieldRewrite
	fieldRewriteEmpty
	fieldHSTS
)

func rest(n int) string { return fmt.Sprintf("var(txn.q),field(%d,|)", n-fieldRequests+1) }

// policyRules are the rules that turn a backend's policy record into what
// happens to a request. They end the rules of the frontends that route HTTP,
// after txn.be holds the key's value (plan.Target): the backend's name and its
// record. tls is true where TLS ends. The numbers are those of model.Policy.Record. A route pays for what it uses:
// each part begins with one test, and variables that are not set end the rest.
func policyRules(s Settings, l Layout, caps plan.Capabilities, tls bool) []string {
	rules := []string{
		"http-request set-var(txn.p) var(txn.be),field(2,|,0)",
		"http-request allow if !" + asked,
	}
	rules = append(rules, guardRules(l, tls)...)
	rules = append(rules, "http-request set-var(txn.be) var(txn.be),field(1,|)",
		fmt.Sprintf("http-request set-var(txn.q) var(txn.p),field(%d,|,0)", fieldRequests))
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }

	// Only listed clients: refuse before anything is counted. The client's part
	// of the key is made once for each connection.
	restricted := asks("w")
	add(`set-var-fmt(sess.client) "/%%[src,hex,length]/%%[src,hex]" if %s !{ var(sess.client) -m found }`, restricted)
	add("deny deny_status 403 if %s !{ var(txn.be),concat(,sess.client),map_beg(%s) -m found }", restricted, l.MapFile(plan.MapAllow))

	rules = append(rules, limitRules(s)...)
	rules = append(rules, forwardedRules(tls)...)

	// Rewrite: cut the path and put another beginning before the rest.
	add("set-var(txn.sl,ifnotempty) %s", rest(fieldStrip))
	add("set-var(txn.rest) path,bytes(txn.sl)")
	add(`set-path "%%[%s]%%[var(txn.rest)]" if { var(txn.rest) -m len gt 0 }`, rest(fieldRewrite))
	add(`set-path "%%[%s]" if { var(txn.sl) -m found } !{ var(txn.rest) -m len gt 0 }`, rest(fieldRewriteEmpty))

	add("set-var(txn.ts,ifnotempty) %s", rest(fieldServerTimeout))
	add("set-var(txn.tt,ifnotempty) %s", rest(fieldTunnelTimeout))
	if tls {
		add("set-var(txn.hsts,ifnotempty) %s", rest(fieldHSTS))
	}
	return append(rules, headerActionRules(l, caps)...)
}

// guardRules look the path up once more, as pods may read it, on hosts where some
// routes protect what others do not: txn.u is there, and holds what the path as
// written leads to. match.Table.Look does the same. What does not fit into a
// variable has no answer and is refused.
func guardRules(l Layout, tls bool) []string {
	routes := plan.MapHTTP
	if tls {
		routes = plan.MapHTTPS
	}
	const guarded, host, miss = "{ var(txn.u) -m found }", "var(txn.host),host_only,rtrim(.)", "{ var(txn.nb) -m str !miss }"
	in := func(none string) string { return "map_beg(" + l.MapFile(routes) + "," + none + ")" }
	return []string{
		"http-request set-var(txn.u) var(txn.be) if " + asks("u"),
		"http-request deny deny_status 400 if " + guarded + " { path -i -m reg '" + match.Ambiguous + "' }",
		"http-request set-var(txn.np) path,regsub(;[^/]*,,g),url_dec,url_enc if " + guarded,
		`http-request set-var-fmt(txn.nk) "*%[var(txn.np)]%%2F#" if ` + guarded + " { var(txn.any) -m found }",
		`http-request set-var(txn.nb) "` + host + `,concat(,txn.np,%2F#),` + in(match.Miss) + `" if ` + guarded + " !{ var(txn.any) -m found }",
		`http-request set-var-fmt(txn.nk) "*.%[` + host + `,field(2,.,0)]%[var(txn.np)]%%2F#" if ` + guarded + " " + miss,
		"http-request set-var(txn.nb) var(txn.nk)," + in(match.Refuse) + " if { var(txn.nk) -m found }",
		"http-request deny deny_status 400 if " + guarded + " !{ var(txn.nb) -m found }",
		"http-request set-var(txn.be) var(txn.nb) if " + guarded,
		"http-request unset-var(txn.p) if " + guarded,
		"http-request set-var(txn.p) var(txn.be),field(2,|,0) if " + guarded,
		// A rewrite cuts as many bytes as the route's path has.
		"http-request deny deny_status 400 if " + guarded + " { " + record(fieldStrip) + " -m len gt 0 } !{ var(txn.be),strcmp(txn.u) eq 0 }",
	}
}

// forwardedRules add the headers that tell a pod who asked. The mode, with
// which the record begins, is n to leave everything as it came, r to replace, i
// to add what is missing, a to append.
func forwardedRules(tls bool) []string {
	rules := []string{"http-request del-header ^(x-forwarded-(for|host|port|proto|proto-version)|forwarded)$ -m reg if { var(txn.p) -m beg r }"}
	for _, h := range forwarded {
		if h.condition != "" && !tls {
			continue
		}
		rules = append(rules, fmt.Sprintf("http-request add-header %s %s if %s!{ req.hdr(%s) -m found } !{ var(txn.p) -m beg n } || %s{ var(txn.p) -m beg a }",
			h.name, h.value, h.condition, lower(h.name), h.condition))
	}
	return rules
}

// headerActionRules change the headers of a request as its route asks, and
// prepare the same for the response. What plan wrote as lists HAProxy changes by
// itself where it can, for a tenth of what Lua costs.
func headerActionRules(l Layout, caps plan.Capabilities) []string {
	if !caps.Lua && !caps.HeaderLists {
		return nil
	}
	rules := []string{
		fmt.Sprintf("http-request set-var(txn.hs) var(txn.be),map_str(%s) if %s", l.MapFile(plan.MapResponseHeaders), asks("s")),
		fmt.Sprintf("http-request set-var(txn.hq) var(txn.be),map_str(%s) if %s", l.MapFile(plan.MapRequestHeaders), asks("q")),
	}
	return append(rules, changeRules("http-request", "request", "var(txn.hq)", caps)...)
}

// responseRules are the rules for what comes back from a backend, and then those
// of the IngressController.
func responseRules(s Settings, caps plan.Capabilities) []string {
	changes, own := changeRules("http-response", "response", "var(txn.hs)", caps), headerRules("http-response", s.HTTP.ResponseHeaders)
	if len(changes) > 0 && len(own) == 0 { // most are done after one look
		changes = slices.Insert(changes, 0, "http-response allow if !{ var(txn.hs) -m found }")
	}
	return append(changes, own...)
}

// changeRules change headers as a text of plan's says.
func changeRules(rule, message, text string, caps plan.Capabilities) []string {
	var rules []string
	script := "{ " + text + " -m found }"
	if caps.HeaderLists {
		script = "{ " + text + " -m beg ~ }"
		lists := "{ " + text + " -m found } !" + script
		rules = append(rules,
			rule+" set-headers-bin "+text+",field(1,.),b64dec if "+lists,
			rule+" del-headers-bin "+text+",field(2,.),b64dec if "+lists)
	}
	if caps.Lua {
		rules = append(rules, rule+" lua.fairlead_"+message+"_headers if "+script)
	}
	return rules
}

// forwarded are the headers that tell a pod who asked and how. sess.for is
// made once for each connection.
var forwarded = []struct{ name, value, condition string }{
	{"X-Forwarded-For", "%[src]", ""},
	{"X-Forwarded-Host", "%[var(txn.host)]", ""},
	{"X-Forwarded-Port", "%[dst_port]", ""},
	{"X-Forwarded-Proto", "%[ssl_fc,iif(https,http)]", ""},
	{"X-Forwarded-Proto-Version", "h2", "{ ssl_fc_alpn -i h2 } "},
	{"Forwarded", "%[var(sess.for)];host=%[var(txn.host)];proto=%[ssl_fc,iif(https,http)]", ""},
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
