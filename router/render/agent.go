package render

import (
	"fmt"
	"path/filepath"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Agent are the lines of HAProxy's configuration by which frontends ask the policy
// agent. Nothing of a tenant stands in them: which policy a request needs is data.
//
// Before Rules a frontend has set, from the record of the request's key:
//
//	txn.ask        the policy's ID (snapshot.Policy.ID), only for requests that need the agent
//	txn.ask_by     by what HAProxy may keep its verdict: snapshot.Policy.Credentials
//	txn.consumer   the owner of the API key that the request has, if any
//	txn.ask_strip  set if Authorization is not for the pod: snapshot.Policy.Strips
//
// A request with txn.ask goes on only by a verdict "allow", from the agent or, while it
// lives, from the table router_verdicts. Each other end of these rules is an answer.
type Agent struct {
	// SocketDir has the agent's sockets, ConfigFile is where AgentConfig is written.
	SocketDir, ConfigFile string
	// Processing is how long HAProxy waits for a worker that hangs. A worker itself keeps
	// to the time of each policy, which is at most 5 s.
	Processing string
}

// agentOf returns the lines of a router with a policy agent, or nil.
func agentOf(s Settings, l Layout, caps plan.Capabilities) *Agent {
	if s.AgentDir == "" || !caps.HeaderLists {
		return nil
	}
	return &Agent{SocketDir: s.AgentDir, ConfigFile: l.agentFile(), Processing: agentProcessing}
}

// agentProcessing is longer than what a worker takes, which is 5 s at most.
const agentProcessing = "6s"

func (l Layout) agentFile() string { return filepath.Join(l.Dir, "spoe.cfg") }

// askRules ask the agent where the record says so. Without an agent nothing of that gets
// through: the router closes such routes, and this is what holds if it did not.
func askRules(a *Agent) []string {
	asked := asks(model.FlagAsked)
	if a == nil {
		return []string{`http-request return status 503 content-type text/plain string "Service Unavailable\n" if ` + asked}
	}
	return append([]string{
		"http-request set-var(txn.ask) " + rest(model.FieldAsk) + " if " + asked,
		"http-request set-var(txn.ask_by) " + rest(model.FieldAskBy) + " if " + asked,
		"http-request set-var(txn.ask_strip) bool(true) if " + asks(model.FlagStripped),
		// A record that cannot be read is no permission.
		`http-request return status 503 content-type text/plain string "Service Unavailable\n" if ` + asked + " !{ var(txn.ask) -m len gt 0 }",
	}, append(a.Rules(), sessionRules()...)...)
}

// agentStatuses are those of the agent's verdicts, because a rule's status cannot be
// data. Any other one becomes 503.
func agentStatuses() []int { return []int{301, 302, 303, 307, 308, 400, 401, 403, 404, 429, 503} }

// verdictCounter is the counter of a request that finds its verdict: 0 and 1 are those
// of limits, 2 that of connections.
const verdictCounter = 3

// Filter is the line of a frontend that AgentRules need.
func (a Agent) Filter() string {
	return "filter spoe engine fairlead config " + a.ConfigFile
}

// Rules are the rules of a frontend, after txn.ask and before anything of the request
// reaches a pod.
func (a Agent) Rules() []string {
	const (
		asked = "{ var(txn.ask) -m found }"
		kept  = "{ var(txn.ask_left) -m int gt 0 }"
		open  = asked + " !" + kept
		none  = " !{ var(txn.fl.verdict) -m found }"
		allow = "{ var(txn.fl.verdict) -m str allow }"
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
	add(`http-request set-var(txn.ask_odd) bool(true) if %s { req.fhdr_cnt(authorization) gt 1 } || %s { req.fhdr_cnt(cookie) gt 1 }`, asked, asked)
	// The policy, the method and the credentials, each with its length: txn.ask_key.
	add(`http-request set-var-fmt(txn.ask_text) "a%s%s" if %s { var(txn.ask_by) -m str a } !{ var(txn.ask_odd) -m found } %s`, text, part("authorization"), asked, byHeader)
	add(`http-request set-var-fmt(txn.ask_text) "c%s%s" if %s { var(txn.ask_by) -m str c } !{ var(txn.ask_odd) -m found } %s`, text, part("cookie"), asked, byCookie)
	for _, by := range []string{byHeader, byCookie} {
		add(`http-request set-var-fmt(txn.ask_text) "b%s%s%s" if %s { var(txn.ask_by) -m str ac } !{ var(txn.ask_odd) -m found } %s`, text, part("authorization"), part("cookie"), asked, by)
	}
	rules = append(rules, sessionKeyRule(text+part("cookie")))
	add("http-request set-var(txn.ask_key) var(txn.ask_text),hmac(sha256,proc.key) if { var(txn.ask_text) -m found }")
	add("http-request unset-var(txn.ask_text) if { var(txn.ask_text) -m found }")
	add("http-request set-var(txn.ask_now) date if %s", asked)
	add("http-request set-var(txn.ask_left) var(txn.ask_key),table_gpt(0,router_verdicts),sub(txn.ask_now) if { var(txn.ask_key) -m found }")
	add("http-request set-var(txn.ask_left) int(0) if %s { var(txn.ask_left),add(txn.ask_now),sub(proc.session_end) -m int le %d }", bySession, sessionKept)
	// The second question goes to the other worker, if the first had no answer. In the
	// moment after a worker was killed it may meet another of its connections, whose end
	// HAProxy has not seen yet, and so may each one right after it: the third and the fourth
	// wait until it has. They are not for workers that hang (error 1), which take long enough.
	add("http-request send-spoe-group fairlead ask if %s", open)
	add("http-request send-spoe-group fairlead ask if %s%s", open, none)
	for range 2 {
		again := open + none + " !{ var(txn.fl.err) -m int 1 }"
		add("http-request pause 25ms if %s", again)
		add("http-request send-spoe-group fairlead ask if %s", again)
	}
	add(`http-request return status 503 content-type text/plain string "Service Unavailable\n" hdr Retry-After 1 if %s%s`, open, none)
	rules = append(rules, logoutRules()...)
	for _, status := range agentStatuses() {
		add(`http-request return status %d content-type text/plain lf-string "%%[var(txn.fl.body)]" if %s { var(txn.fl.verdict) -m str %d }`, status, open, status)
	}
	// Whatever else was said is no permission.
	add(`http-request return status 503 content-type text/plain string "Service Unavailable\n" hdr Retry-After 1 if %s !%s`, open, allow)
	add("http-request del-headers-bin var(txn.fl.del) if { var(txn.fl.del) -m found }")
	add("http-request set-headers-bin var(txn.fl.set) if { var(txn.fl.set) -m found }")
	add("http-request del-header authorization if { var(txn.ask_strip) -m found }")
	add("http-request set-var(txn.ask_until) var(txn.fl.ttl),add(txn.ask_now) if %s { var(txn.fl.ttl) -m int gt 0 } { var(txn.ask_key) -m found }", open)
	add("http-request track-sc%d var(txn.ask_key) table router_verdicts if { var(txn.ask_until) -m found }", verdictCounter)
	rules = append(rules, keepIdentities()...)
	add("http-request sc-set-gpt(0,%d) var(txn.ask_until) if { var(txn.ask_until) -m found }", verdictCounter)
	return rules
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
	return []string{
		fmt.Sprintf("http-request wait-for-body time %s at-least %d", logoutBodyTime, logoutBody+1) + body,
		"http-request send-spoe-group fairlead logout" + body,
		"http-request send-spoe-group fairlead logout" + body,
		"http-request set-var(proc.session_end) date if { var(txn.fl.ended) -m found }",
		`http-request return status 200 if { var(txn.fl.verdict) -m str done }`,
	}
}

// bySession is true for requests whose verdict may be kept by the cookies of a session.
const bySession = "{ var(txn.ask_by) -m str s }"

// sessionKept is the most that the agent has such a verdict kept, in seconds. A verdict ends so many
// seconds after it was made or earlier, so one that ends later than that after a logout was made after it.
const sessionKept = 10

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
// verdict was kept. A request
// with several Cookie headers, which browsers do not send, keeps none.
func sessionRules() []string {
	const had = "{ var(txn.had_session) -m found }"
	return []string{
		"http-request set-var(txn.had_session) bool(true) if { var(txn.backend_as_written) -m found } { req.fhdr(cookie) -m sub __Host-fl- __Secure-fl- }",
		"http-request set-var(txn.had_session) bool(true) if " + bySession + " { var(txn.ask_left) -m int gt 0 }",
		"http-request del-header cookie if " + had + " { req.fhdr_cnt(cookie) gt 1 }",
		`http-request set-header cookie "%[req.fhdr(cookie),regsub(';? *__Host-fl-[^;]*','',g),regsub(';? *__Secure-fl-[^;]*','',g),regsub('^[; ]*','')]" if ` + had + " { req.fhdr_cnt(cookie) eq 1 }",
		"http-request del-header cookie if " + had + " !{ req.fhdr(cookie) -m len gt 0 }",
	}
}

// ResponseRules are the rules of a frontend about answers, also those of Rules.
func (a Agent) ResponseRules() []string {
	return []string{
		"http-after-response set-headers-bin var(txn.fl.cset) if { var(txn.fl.cset) -m found }",
		"http-after-response set-headers-bin var(txn.fl.rset) if { var(txn.fl.rset) -m found }",
		"http-after-response add-headers-bin var(txn.fl.radd) if { var(txn.fl.radd) -m found }",
		"http-after-response add-headers-bin var(txn.fl.rok) if { var(txn.fl.rok) -m found } { status 200:399 }",
	}
}

// Sections are the backend of the workers and the table of verdicts.
func (a Agent) Sections() []string {
	return []string{
		"backend router_agent from " + frontDefaults,
		"  mode spop",
		"  timeout connect 100ms",
		"  timeout server " + a.Processing,
		"  option spop-check",
		"  option redispatch 1",
		"  retries 2",
		"  balance roundrobin",
		fmt.Sprintf("  server a unix@%s/decide-a.sock check inter 200ms fall 1 rise 1", a.SocketDir),
		fmt.Sprintf("  server b unix@%s/decide-b.sock check inter 200ms fall 1 rise 1", a.SocketDir),
		"backend router_verdicts from " + frontDefaults,
		fmt.Sprintf("  stick-table type binary len 32 size 200k expire 1h store gpt(%d)", 1+2*model.MaxIdentities),
	}
}

// Config is the text of the file that Filter names.
func (a Agent) Config() []string {
	return []string{
		"[fairlead]",
		"spoe-agent fairlead",
		"  groups ask count logout",
		"  option var-prefix fl",
		// Without it an error ends SPOE for the request, and the second question never goes out.
		"  option continue-on-error",
		"  option set-on-error err",
		"  option set-process-time ms",
		"  register-var-names verdict set del body rset radd rok ttl consumer reason who count wait cset ended",
		"  timeout processing " + a.Processing,
		"  use-backend router_agent",
		"spoe-group ask",
		"  messages ask",
		"spoe-group count",
		"  messages count",
		"spoe-group logout",
		"  messages logout",
		"spoe-message logout",
		fmt.Sprintf("  args p=var(txn.ask) path=path host=req.hdr(host) src=src tls=ssl_fc body=req.body,bytes(0,%d)", logoutBody+1),
		"spoe-message count",
		"  args p=var(txn.counted_by) method=method path=pathq host=req.hdr(host) src=src hdrs=req.hdrs_bin",
		"spoe-message ask",
		"  args p=var(txn.ask) method=method path=pathq host=req.hdr(host) src=src tls=ssl_fc hdrs=req.hdrs_bin cert=ssl_c_der consumer=var(txn.consumer)",
	}
}
