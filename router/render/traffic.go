package render

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// faultRules delay and end requests where a policy asks for it: after everything that may
// refuse them, so that a fault shows nothing that a client may not see.
func faultRules(caps plan.Capabilities) []string {
	if !caps.Lua {
		return nil
	}
	return []string{
		"http-request set-var(txn.fault_record) " + rest(model.FieldFault) + " if " + asks(model.FlagFault),
		"http-request lua.fairlead_fault if { var(txn.fault_record) -m found }",
	}
}

// mirrorRules hand copies of requests to the policy agent, as pods get them. They come
// after all that may refuse a request or change it.
func mirrorRules(a *Agent, caps plan.Capabilities) []string {
	if a == nil || !caps.Lua {
		return nil
	}
	return []string{
		"http-request set-var(txn.mirror) " + rest(model.FieldMirror) + " if " + asks(model.FlagMirror),
		"http-request lua.fairlead_mirror " + a.SocketDir + " if { var(txn.mirror) -m found }",
	}
}

// bandwidthRules limit how fast bodies are, with the filters of httpOptions.
func bandwidthRules(s Settings) []string {
	if !s.HTTP.Bandwidth {
		return nil
	}
	rules := []string{"http-request set-var(txn.bandwidth) " + rest(model.FieldBandwidth) + " if " + asks(model.FlagBandwidth)}
	for i, filter := range []string{"download", "upload"} {
		rules = append(rules, fmt.Sprintf("http-request set-bandwidth-limit %s limit var(txn.bandwidth),field(%d,:) period 1s if { var(txn.bandwidth) -m found } { var(txn.bandwidth),field(%d,:) -m len gt 0 }", filter, i+1, i+1))
	}
	return rules
}

// mirrorGlobals are lines of the section global. Nothing else uses the client of Lua: a
// worker that does not listen is not tried again, because the other one is.
func mirrorGlobals(a *Agent) []string {
	if a == nil {
		return nil
	}
	return []string{"httpclient.retries 0", "httpclient.timeout.connect 5ms"}
}

// trafficRules find the value that leads a request to a pod, and may lead it to another
// backend of its route. They come last: whichever backend a request reaches, all that its
// route asks for has been done to it.
func trafficRules(caps plan.Capabilities) []string {
	if !caps.Lua {
		return nil
	}
	return []string{
		"http-request set-var(txn.hash) " + rest(model.FieldHash) + " if " + asks(model.FlagHash),
		"http-request lua.fairlead_hash_key if { var(txn.hash) -m found }",
		"http-request set-var(txn.canary) " + rest(model.FieldCanary) + " if " + asks(model.FlagCanary),
		"http-request lua.fairlead_canary if { var(txn.canary) -m found }",
	}
}

// answered is true for requests whose answers get headers from one of the parts that
// follow: most answers are done after this one look.
const answered = "{ var(txn.after) -m found }"

// canaryResponseRules tell clients where they are to stay. They come first of those for
// all answers.
func canaryResponseRules() []string {
	return []string{
		"http-after-response allow if !" + answered,
		"http-after-response add-header Set-Cookie %[var(txn.branch_cookie)] if { var(txn.branch_cookie) -m found }",
	}
}

// retryOn is when requests are tried again where more than a missing connection counts.
// A pod may have begun with such a request, so retryRule leaves those of other
// methods alone that would not mean the same twice (RFC 9110, section 9.2.2).
const (
	retryOn   = "retry-on conn-failure empty-response response-timeout 502 503 504"
	retryRule = "http-request disable-l7-retry if !{ method GET HEAD OPTIONS PUT DELETE TRACE } !{ var(txn.policy),field(1,|) -m sub " + model.FlagRetryAll + " }"
)

// repeatOn is when requests of a route of a Gateway are tried again.
func repeatOn(r model.Repeat) string {
	on := "retry-on conn-failure empty-response"
	if r.Timeouts {
		on += " response-timeout"
	}
	return strings.Join(append([]string{on}, r.Texts()...), " ")
}
