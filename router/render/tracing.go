package render

import (
	"fmt"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// traceHeader is a valid traceparent (W3C Trace Context, section 3.2): in small letters, of
// version 00 with nothing behind the flags, and of later ones, but for ff, with what they add.
// IDs of zeros only are none: noIDs.
const traceHeader = "^(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|(0[1-9a-f]|[1-9a-e][0-9a-f]|f[0-9a-e])-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?)$"

var noIDs = "-" + strings.Repeat("0", 32) + "- -" + strings.Repeat("0", 16) + "-"

const (
	// traced and continued are true for requests that have a trace, and for those of them
	// whose trace is the client's: txn.trace_from is the beginning of its header, which all
	// versions have in common.
	traced    = "{ var(txn.tracing) -m found }"
	continued = "{ var(txn.trace_from) -m found }"
	// newTrace is random but for six bits, which say that it is (RFC 9562, version 4), and
	// newSpan for two of the same: neither is ever zero.
	newTrace = "%[uuid,regsub(-,,g)]"
	newSpan  = "%[uuid,bytes(19,17),regsub(-,)]"
	oldTrace = "%[var(txn.trace_from),bytes(3,32)]"
	// chance is the flag "sampled" for a share of the requests: a quotient of 0 is below it.
	chance = "%[rand(1000000),div(txn.trace_share),iif(00,01)]"
	// asParent is the flag of the client's header.
	asParent = "%[var(txn.trace_from),bytes(53,2),hex2i,and(1),iif(01,00)]"
)

// tracingRules give requests of traced routes a traceparent for the pod: its parent is the span
// of the request to the pod, whose ID is made here, and package trace derives that of the other
// span from it. txn.traceparent is found if the request is traced.
// They come before all that may refuse the request, and before its path is looked up as pods
// read it: tracing keeps out nothing. Where nothing else is asked for, the rest is left out, so
// that a trace costs these rules and no others; without, requests have left already.
func tracingRules(s Settings, caps plan.Capabilities) []string {
	const header = "req.fhdr(traceparent)"
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }
	parent := func(trace, flags, condition string) {
		add(`set-var-fmt(txn.traceparent) "00-%s-%s-%s" if %s`, trace, newSpan, flags, condition)
	}
	begins := func(letters ...string) string {
		return "{ var(txn.tracing) -m beg " + strings.Join(letters, " ") + " }"
	}

	add("set-var(txn.tracing) %s if %s", record(model.FieldTracing), asks(model.FlagTraced))
	add("set-var(txn.trace_share) var(txn.tracing),bytes(1) if %s", traced)
	add("set-var(txn.trace_from) %s,bytes(0,55) if %s { req.fhdr_cnt(traceparent) eq 1 } { %s -m reg %s } !{ %s -m sub -- %s }",
		header, begins(model.TraceTrust, model.TraceParent), header, quote(traceHeader), header, noIDs)
	add("del-header tracestate if %s !%s", traced, continued) // which is nothing without its traceparent
	parent(oldTrace, asParent, continued+" "+begins(model.TraceParent))
	parent(oldTrace, chance, continued+" "+begins(model.TraceTrust))
	parent(newTrace, chance, traced+" !"+continued)
	add("set-header traceparent %%[var(txn.traceparent)] if { var(txn.traceparent) -m found }")
	if Observes(s, caps) {
		add("set-log-level %s if { var(txn.traceparent) -m end 01 }", observedLevel)
	}
	add("allow if { var(txn.policy) -m beg %s }", model.FlagTraced)
	return rules
}
