package render

import "fmt"

// Conditions of requests about which the agent is asked, and of those that a kept verdict lets on.
const (
	isAsked = "{ var(txn.ask) -m found }"
	isKept  = "{ var(txn.ask_left) -m int gt 0 }"
)

// keptRules look for a verdict that HAProxy has kept. txn.ask_key is what this request's verdict is kept by,
// and txn.ask_left is above 0 if there is one that holds.
func keptRules() []string {
	const (
		// Without one of the credentials, or with one that stands twice, the worker is asked.
		byHeader = "{ var(txn.ask_by) -m str a ac } { req.fhdr_cnt(authorization) eq 1 } { req.fhdr(authorization) -m len gt 0 }"
		byCookie = "{ var(txn.ask_by) -m str c ac } { req.fhdr_cnt(cookie) eq 1 } { req.fhdr(cookie) -m len gt 0 }"
		text     = `%[var(txn.ask),length]:%[var(txn.ask)]%[method,length]:%[method]`
	)
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	part := func(header string) string {
		return fmt.Sprintf("%%[req.fhdr(%s),length]:%%[req.fhdr(%s)]", header, header)
	}
	add(`http-request set-var(txn.ask_odd) bool(true) if %s { req.fhdr_cnt(authorization) gt 1 } || %s { req.fhdr_cnt(cookie) gt 1 }`, isAsked, isAsked)
	// The policy, the method and the credentials, each with its length: txn.ask_key.
	add(`http-request set-var-fmt(txn.ask_text) "a%s%s" if %s { var(txn.ask_by) -m str a } !{ var(txn.ask_odd) -m found } %s`, text, part("authorization"), isAsked, byHeader)
	add(`http-request set-var-fmt(txn.ask_text) "c%s%s" if %s { var(txn.ask_by) -m str c } !{ var(txn.ask_odd) -m found } %s`, text, part("cookie"), isAsked, byCookie)
	for _, by := range []string{byHeader, byCookie} {
		add(`http-request set-var-fmt(txn.ask_text) "b%s%s%s" if %s { var(txn.ask_by) -m str ac } !{ var(txn.ask_odd) -m found } %s`, text, part("authorization"), part("cookie"), isAsked, by)
	}
	rules = append(rules, sessionKeyRule(text+part("cookie")))
	add("http-request set-var(txn.ask_key) var(txn.ask_text),hmac(sha256,proc.key) if { var(txn.ask_text) -m found }")
	add("http-request unset-var(txn.ask_text) if { var(txn.ask_text) -m found }")
	add("http-request set-var(txn.ask_now) date if %s", isAsked)
	add("http-request set-var(txn.ask_left) var(txn.ask_key),table_gpt(0,router_verdicts),sub(txn.ask_now) if { var(txn.ask_key) -m found }")
	return append(rules, endedRules()...)
}

// Bounds of the body of a request by which a provider says that a user has logged out.
const (
	logoutBody     = 8 << 10
	logoutBodyTime = "2s"
)

// logoutRules ask about a request once more, with its body, if a worker has said that it needs that. The second
// question goes to the other worker. A request that has no other verdict then is refused as all are.
func logoutRules() []string {
	const body = " if { var(txn.fl.verdict) -m str body }"
	const ended = " if { var(txn.fl.ended) -m found }"
	return []string{
		fmt.Sprintf("http-request wait-for-body time %s at-least %d", logoutBodyTime, logoutBody+1) + body,
		"http-request send-spoe-group fairlead logout" + body,
		"http-request send-spoe-group fairlead logout" + body,
		// The end counts for the namespace of the request. If the table has no room for that, it counts for all.
		fmt.Sprintf("http-request track-sc%d %s table router_ends", verdictCounter, namespaceOf) + ended,
		fmt.Sprintf("http-request sc-set-gpt(0,%d) date", verdictCounter) + ended,
		fmt.Sprintf("http-request set-var(proc.session_end) date%s !{ sc_get_gpt(0,%d,router_ends) -m int gt 0 }", ended, verdictCounter),
		`http-request return status 200 if { var(txn.fl.verdict) -m str done }`,
	}
}

// namespaceOf is the namespace that a request's claim belongs to. No session is good in another one.
const namespaceOf = "var(txn.backend),field(2,:)"

// endedRules have the agent asked about a session whose kept verdict may be older than a logout in the same namespace, or in
// any if that could not be noted.
func endedRules() []string {
	const until = bySession + " { var(txn.ask_left),add(txn.ask_now),sub"
	return []string{
		fmt.Sprintf("http-request set-var(txn.ask_ended) %s,table_gpt(0,router_ends) if %s %s", namespaceOf, bySession, isKept),
		fmt.Sprintf("http-request set-var(txn.ask_left) int(0) if %[1]s !{ var(txn.ask_ended) -m found } || %[2]s(txn.ask_ended) -m int le %[3]d } || %[2]s(proc.session_end) -m int le %[3]d }",
			bySession, until, sessionKept+clockSlack),
	}
}

// bySession is true for requests whose verdict may be kept by the cookies of a session.
const bySession = "{ var(txn.ask_by) -m str s }"

// sessionKept is the most that the agent has such a verdict kept, in seconds. A verdict ends so many
// seconds after it was made or earlier, so one that ends later than that after a logout was made after it.
const sessionKept = 10

// clockSlack is by how many seconds the times of two of HAProxy's threads may differ: each reads the clock once for
// all that it does before it waits again.
const clockSlack = 1

// Bounds of what a key of such a verdict is made of: a text that does not fit into HAProxy's buffer
// would be cut, and then be the key of other requests.
const mostSessionCookies, mostSessionPath = 8 << 10, 2 << 10

// sessionKeyRule makes the key of a verdict about a session: besides cookies, the host and path that the
// agent looked at. Without TLS there is none. First is what all keys have, and the cookies.
func sessionKeyRule(first string) string {
	return fmt.Sprintf(`http-request set-var-fmt(txn.ask_text) "s%s%%[req.hdr(host),length]:%%[req.hdr(host)]%%[path,length]:%%[path]" if %s !{ var(txn.ask_odd) -m found } { ssl_fc } { req.fhdr_cnt(cookie) eq 1 } { req.fhdr(cookie),length le %d } { req.hdr(host),length le 255 } { path,length le %d }`,
		first, bySession, mostSessionCookies, mostSessionPath)
}

// sessionRules keep cookies of sessions from pods of routes without a login, on hosts where
// routes protect different things; of routes with one, the agent takes them out, and these rules do where its
// verdict was kept. A request with several Cookie headers, which browsers do not send,
// keeps none.
func sessionRules() []string {
	const had = "{ var(txn.had_session) -m found }"
	return []string{
		"http-request set-var(txn.had_session) bool(true) if { var(txn.backend_as_written) -m found } { req.fhdr(cookie) -m sub __Host-fl- __Secure-fl- }",
		"http-request set-var(txn.had_session) bool(true) if " + bySession + " " + isKept,
		"http-request del-header cookie if " + had + " { req.fhdr_cnt(cookie) gt 1 }",
		`http-request set-header cookie "%[req.fhdr(cookie),regsub(';? *__Host-fl-[^;]*','',g),regsub(';? *__Secure-fl-[^;]*','',g),regsub('^[; ]*','')]" if ` + had + " { req.fhdr_cnt(cookie) eq 1 }",
		"http-request del-header cookie if " + had + " !{ req.fhdr(cookie) -m len gt 0 }",
	}
}
