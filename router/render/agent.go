package render

import (
	"fmt"
	"path/filepath"
	"strings"

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
	// Named says that the access log names the agent's consumers. HAProxy's table of verdicts has no room
	// for names, so no verdict is kept then.
	Named bool
}

// agentOf returns the lines of a router with a policy agent, or nil.
func agentOf(s Settings, l Layout, caps plan.Capabilities) *Agent {
	if s.AgentDir == "" || !caps.HeaderLists {
		return nil
	}
	named := s.Log.Target != "" && strings.Contains(s.Log.Format, saidConsumer)
	return &Agent{SocketDir: s.AgentDir, ConfigFile: l.agentFile(), Processing: agentProcessing, Named: named}
}

// saidConsumer has the user of a verdict that the agent gave for this request. Formats of access logs name it.
const saidConsumer = "txn.fl.consumer"

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
		open  = isAsked + " !" + isKept
		none  = " !{ var(txn.fl.verdict) -m found }"
		allow = "{ var(txn.fl.verdict) -m str allow }"
	)
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, fmt.Sprintf(format, args...)) }
	if !a.Named {
		rules = append(rules, keptRules()...)
	}
	add(`http-request set-var(txn.verdict_from) str(kept) if %s %s`, isAsked, isKept)
	add(`http-request set-var(txn.verdict_from) str(agent) if %s`, open)
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
	add("http-request set-var(txn.ask_until) var(txn.fl.ttl),add(txn.ask_now) if %s { var(txn.fl.ttl) -m int gt 0 } { var(txn.ask_key) -m found } !{ var(txn.fl.ended) -m found }", open)
	add("http-request track-sc%d var(txn.ask_key) table router_verdicts if { var(txn.ask_until) -m found }", verdictCounter)
	rules = append(rules, keepIdentities()...)
	add("http-request sc-set-gpt(0,%d) var(txn.ask_until) if { var(txn.ask_until) -m found }", verdictCounter)
	return rules
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
		"backend router_ends from " + frontDefaults,
		// Where it is full, nothing in it is forgotten for another namespace.
		fmt.Sprintf("  stick-table type string len 63 size 20k expire %ds nopurge store gpt(1)", 3*sessionKept),
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
