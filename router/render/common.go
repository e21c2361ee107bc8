package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// HAProxy's rules have no jump: a request walks by each rule of each group that its route
// does not have, some 370 of them, and that is most of what a policy costs. What ends the
// walk is "allow". So policies of common groups only (model.FlagCommon) have rules of their
// own that come first and end with it, and other requests walk by these.

// ofCommon is true for requests of such policies. txn.common is the first field of the
// record.
const ofCommon = "{ var(txn.common) -m found }"

// commonRules do for a common policy what the rest of policyRules does. All of their conditions
// are false for other policies: each begins with what txn.common has, or with a variable that
// only rules of that kind set. Limits of rates are many rules and most routes have none, so they
// come last, after what a refused request could do without: a request without them ends its
// walk before.
func commonRules(s Settings, l Layout, caps plan.Capabilities, tls bool) []string {
	first := fmt.Sprintf("http-request set-var(txn.common) %s if %s !%s", record(model.FieldMode), asks(model.FlagCommon), asks(model.FlagGuarded))
	var begin rules
	begin.add("set-var(txn.policy_rest) var(txn.policy),field(%d,|,0) if %s", restBegins, ofCommon)
	begin.add("set-var(txn.backend) var(txn.backend),field(1,|) if %s", ofCommon)
	if caps.Lua {
		begin.add("set-var(txn.judged) bool(true) if %s", ofCommon)
	}
	refuse := slices.Concat(corsRules(l), []string{clientKeyRule()}, accessRules(l), []string{preflightRule}, limitRules(s))
	change := slices.Concat(commonForwardedRules(tls), timeoutsOfAll(tls), rewriteRules(), headerActionRules(l, caps))
	counted := asks(model.FlagCounted)
	return onCommon(slices.Concat(begin, refuse, change, passRules(caps, ofCommon+" !"+counted), oneRateRules(s, l, caps), passRules(caps, ofCommon)), first)
}

// passRules end the walk of a request that is not refused (judgedRules).
func passRules(caps plan.Capabilities, condition string) []string {
	if caps.Lua {
		condition += " { var(txn.judged),unset-var(txn.judged) -m found }"
	}
	return []string{"http-request allow if " + condition}
}

// onCommon has rules look for the letters of a record in txn.common, which other policies
// do not have, after the rule that sets it.
func onCommon(rules []string, first string) []string {
	out := []string{first}
	for _, rule := range rules {
		out = append(out, strings.ReplaceAll(rule, record(model.FieldMode), "var(txn.common)"))
	}
	return out
}

// commonForwardedRules are forwardedRules.
func commonForwardedRules(tls bool) []string {
	is := func(letters string) string { return "{ var(txn.common) -m beg " + letters + " }" }
	out := []string{removeForwarded + " if " + is(model.ModeReplace)}
	always, ifNone := is(model.ModeAppend+" "+model.ModeReplace), is(model.ModeIfNone)
	for _, h := range forwarded {
		if h.condition == "" || tls {
			out = append(out, fmt.Sprintf("http-request add-header %s %s if %s%s || %s%s !{ req.hdr(%s) -m found }",
				h.name, h.value, h.condition, always, h.condition, ifNone, lower(h.name)))
		}
	}
	return out
}

// oneRateRules are countRules for one limit that refuses, and counts clients by their
// addresses.
func oneRateRules(s Settings, l Layout, caps plan.Capabilities) []string {
	var r rules
	one := slot{"rate", 1, firstRateCounter, [2]string{"router_rates", "router_rates_overflow"}}
	used := one.used()
	r.add("set-var(%s,ifnotempty) %s if %s", one.name(""), rest(model.FieldRates), asks(model.FlagCounted))
	r.add(`set-var-fmt(sess.client_prefix) "%%[src,ipmask(32,64)]" if %s !{ var(sess.client_prefix) -m found }`, used)
	r.add(`set-var-fmt(%s) "%%[var(txn.backend),xxh64]/%%[%s]/%%[var(sess.client_prefix)]" if %s`, one.name("_key"), one.field(model.RateID), used)
	fresh := one.has("_fresh")
	r.add("set-var(%s) bool(true) if %s !{ %s,in_table(%s) }", one.name("_fresh"), used, one.value("_key"), one.tables[0])
	r.add("track-sc%d var(txn.backend),field(2,:) table router_tenants if %s", tenantCounter, fresh)
	r.countIn(one, s)
	r.add("set-var(txn.rate_clock) date(0,us),sub(%d),mul(%d) if %s", clockBegins, model.ClockScale, used)
	r.ahead(one)
	// txn.rate_parts is there if the request could be counted, and below zero if it is one too many.
	const known = "{ var(txn.rate_parts) -m found }"
	r.add("set-var(txn.rate_told) %s if %s", one.value(""), known)
	r.add("set-var(txn.rate_refused) %s if { var(txn.rate_parts) -m int lt 0 }", one.value(""))
	r.tellOne(one)
	r.refuse(l, caps, used)
	r.add("sc-inc-gpc(0,%d) if %s", one.counter, used)
	r.raced(one, used)
	r.release(l, caps, []slot{one})
	return r
}

// tellOne is tell where there is one limit.
func (r *rules) tellOne(one slot) {
	seconds := fmt.Sprintf("mul(txn.rate_unit),add(%d),div(%d)", perSecond-1, perSecond)
	const admitted = rateTold + " !" + rateRefused
	parts := one.name("_parts")
	r.add("set-var(txn.rate_form) %s if %s", told(model.RateForm), rateTold)
	r.add("set-var(txn.after) bool(true) if %s", rateTold)
	r.add("set-var(txn.rate_requests) var(txn.rate_parts),div(%s) if %s", parts, admitted)
	r.add("set-var(txn.rate_reset) %s,add(%s),%s if %s", one.value("_ahead"), parts, seconds, admitted)
	r.add("set-var(txn.rate_requests) int(0) if %s", rateRefused)
	r.add("set-var(txn.rate_reset) var(txn.rate_parts),neg,%s if %s", seconds, rateRefused)
}
