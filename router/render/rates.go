package render

import (
	"fmt"
	"strconv"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Counters that a request tracks. The first ones are those of other rules, up to
// verdictCounter.
const (
	tenantCounter          = 1
	firstRateCounter       = verdictCounter + 1
	firstConcurrentCounter = firstRateCounter + model.MaxRates
	firstIdentifiedCounter = firstConcurrentCounter + model.MaxConcurrents
	counters               = firstIdentifiedCounter + model.MaxIdentities
)

// clockBegins is when the clock of limits does, in microseconds: 2026. Until 2061 its
// microseconds times model.ClockScale fit in HAProxy's 63 bits.
const clockBegins = 1767225600_000_000

// rateTables hold, for each key of a limit of rates, the time at which its burst is
// whole again: a beginning, and how many requests were admitted since, which threads
// can count without losing one. The longest key is a number of 64 bits, an ID and a
// hash.
func rateTables(s Settings) [][2]string {
	const form = "stick-table type string len 96 size %d expire 24h store gpt(1),gpc(1)"
	return [][2]string{
		{"router_rates", fmt.Sprintf(form, s.LimitKeys)},
		{"router_rates_overflow", fmt.Sprintf(form, s.LimitKeys/2)},
	}
}

// rules are lines of a frontend.
type rules []string

func (r *rules) add(format string, args ...any) {
	*r = append(*r, "http-request "+fmt.Sprintf(format, args...))
}

// slot is one of the limits that a route may have, with variables of its own.
type slot struct {
	kind    string
	n       int
	counter int
	tables  [2]string
}

// name of a variable of the slot, and the variable.
func (l slot) name(of string) string { return "txn." + l.kind + of + strconv.Itoa(l.n) }

func (l slot) value(of string) string {
	return "var(" + l.name(of) + ")"
}
func (l slot) has(of string) string { return "{ " + l.value(of) + " -m found }" }

// used is true where the route has so many limits.
func (l slot) used() string { return l.has("") }

// list is the variable with the limits of the route, of which this is one.
func (l slot) list() string {
	if l.kind == identifiedKind {
		return "txn.identified"
	}
	return "txn." + l.kind + "s"
}

// mark of the limit where clients are exempt.
func (l slot) mark() string {
	first := rune(plan.FirstRate)
	if l.kind == identifiedKind {
		first = plan.FirstIdentified
	}
	return string(first + rune(l.n-1))
}

func (l slot) field(f model.RateField) string { return fmt.Sprintf("%s,field(%d,:)", l.value(""), f) }

// countRules are the rules of limits whose number and keys are the route's: first of
// concurrent requests, then of rates. Each begins with one look at a variable, which
// is all that routes without such a limit pay. Refused requests do not count.
func countRules(s Settings, l Layout, caps plan.Capabilities) []string {
	var r rules
	const counted = "{ var(txn.counted) -m found }"
	r.add("set-var(txn.counted) bool(true) if %s", asks(model.FlagCounted))
	r.add("set-var(txn.rates,ifnotempty) %s if %s", rest(model.FieldRates), counted)
	r.add("set-var(txn.concurrents,ifnotempty) %s if %s", rest(model.FieldConcurrents), counted)
	r.add(`set-var-fmt(sess.client_prefix) "%%[src,ipmask(32,64)]" if %s !{ var(sess.client_prefix) -m found }`, counted)
	r.add("track-sc%d var(txn.backend),field(2,:) table router_tenants if %s", tenantCounter, counted)
	for _, limits := range []string{"txn.rates", "txn.concurrents"} {
		other := fmt.Sprintf("%s { var(%s) -m sub = } !{ var(txn.limit_clients) -m found }", counted, limits)
		if caps.Lua {
			r.add("lua.fairlead_limit_clients if %s", other)
		}
		// What cannot be counted as it should be is not let through.
		r.add("deny deny_status 503 if %s", other)
	}
	for n := range model.MaxConcurrents {
		r.concurrent(slot{"concurrent", n + 1, firstConcurrentCounter + n, [2]string{"router_limits", "router_overflow"}}, s)
	}
	const rates = "{ var(txn.rates) -m found }"
	r.clock(l, rates)
	r.add("set-var(txn.rate_wait) int(0) if %s", rates)
	r.add("set-var(txn.rate_left) int(%d) if %s", noneLeft, rates)
	slots := rateSlots()
	for _, l := range slots {
		r.rate(l, s)
	}
	r.tell(rateTold)
	r.refuse(l, caps, rates+" !{ var(txn.rate_exempt) -m found }")
	for _, l := range slots {
		r.take(l, "")
	}
	r.release(l, caps, slots)
	return r
}

func rateSlots() []slot { return slots("rate", firstRateCounter, model.MaxRates) }

func slots(kind string, counter, n int) []slot {
	out := make([]slot, n)
	for i := range out {
		out[i] = slot{kind, i + 1, counter + i, [2]string{"router_rates", "router_rates_overflow"}}
	}
	return out
}

// clock finds out which limits do not count the client, and what time it is.
func (r *rules) clock(l Layout, has string) {
	r.add("set-var(txn.rate_exempt) var(txn.backend),concat(/l,sess.client_key),map_beg(%s) if %s %s", l.MapFile(plan.MapExempt), has, asks(model.FlagCountedByBits))
	r.add("set-var(txn.rate_clock) date(0,us),sub(%d),mul(%d) if %s", clockBegins, model.ClockScale, has)
}

// release takes back what a request has counted that was not in time, and refuses it.
func (r *rules) release(l Layout, caps plan.Capabilities, slots []slot) {
	r.giveBack(caps, rateRaced, slots)
	r.add("set-var(txn.rate_requests) int(0) if %s", rateRaced)
	r.add("deny deny_status 429 %s hdr Retry-After 1 if %s", ownText(l, caps, 429, tooMany), rateRaced)
}

// giveBack has a request not count, where HAProxy can do that.
func (r *rules) giveBack(caps plan.Capabilities, condition string, slots []slot) {
	if !caps.SubtractCounters {
		return
	}
	for _, l := range slots {
		r.add("sc-add-gpc(0,%d) int(1),neg if %s %s %s", l.counter, condition, l.used(), l.within())
	}
}

// take counts a request that all limits admit. If other threads have counted so many
// since this one looked that there is no room left, it was not in time: what it has
// taken of all limits goes back. Dry runs refuse nothing, and do not count what they
// would refuse.
func (r *rules) take(l slot, more string) {
	r.add("sc-inc-gpc(0,%d) if %s %s%s", l.counter, l.used(), l.within(), more)
	r.raced(l, fmt.Sprintf("%s { %s -m beg %s }%s", l.used(), l.value(""), model.RateReal, more))
}

func (r *rules) raced(l slot, condition string) {
	r.add("set-var(txn.rate_raced) bool(true) if %s { sc_get_gpc(0,%d),mul(%s),sub(%s),and(%d),sub(%s) gt 0 }",
		condition, l.counter, l.name("_parts"), l.name("_count"), round, l.name("_room"))
}

// noneLeft is more than any limit leaves.
const noneLeft = 1 << 62

// track counts a request by the key of a limit, in the first table or, where the
// namespace adds too many keys to that, in the second one: see limitRules.
func (r *rules) track(l slot, s Settings) {
	key := `set-var-fmt(%s) "%%[var(txn.backend),xxh64]/%%[%s]/%%[var(%s)]" if %s %s{ var(%s) -m found }`
	client := l.name("_client")
	r.add(key, l.name("_key"), l.field(model.RateID), client, l.used(), "", client)
	r.add(key, l.name("_key"), l.field(model.RateID), "sess.client_prefix", l.used(), "!", client)
	r.add("set-var(%s) bool(true) if %s !{ %s,in_table(%s) }", l.name("_fresh"), l.used(), l.value("_key"), l.tables[0])
	r.countIn(l, s)
}

// countIn chooses between the two tables.
func (r *rules) countIn(l slot, s Settings) {
	fresh := l.has("_fresh")
	r.add("set-var(%s) bool(true) if %s { %s,in_table(%s) } || %s { sc%d_gpc0_rate(router_tenants) ge %d }",
		l.name("_overflow"), fresh, l.value("_key"), l.tables[1], fresh, tenantCounter, s.LimitKeys/tenantShare)
	r.add("sc-inc-gpc0(%d) if %s !%s", tenantCounter, fresh, l.has("_overflow"))
	r.add("track-sc%d %s table %s if %s", l.counter, l.value("_key"), l.tables[1], l.has("_overflow"))
	r.add("track-sc%d %s table %s if %s !%s", l.counter, l.value("_key"), l.tables[0], l.used(), l.has("_overflow"))
}

// concurrent refuses a request if too many with the same key are under way, itself
// included.
func (r *rules) concurrent(l slot, s Settings) {
	r.add("set-var(%s,ifnotempty) var(%s),field(%d,+) if { var(%s) -m found }", l.name(""), l.list(), l.n, l.list())
	r.track(l, s)
	r.add("set-var(txn.concurrent_max) %s if %s", l.field(model.ConcurrentCount), l.used())
	over := fmt.Sprintf("{ sc_conn_cur(%d),sub(txn.concurrent_max) gt 0 }", l.counter)
	unavailable := fmt.Sprintf("{ %s -m str 503 }", l.field(model.ConcurrentStatus))
	r.add("deny deny_status 503 if %[1]s %[2]s %[3]s || %[1]s !{ sc_conn_cur(%[4]d) -m found }", l.used(), over, unavailable, l.counter)
	r.add("deny deny_status 429 if %s %s", l.used(), over)
}

// within is true where one more request is within the limit.
func (l slot) within() string {
	return "{ " + l.field(model.RateAhead) + ",sub(" + l.name("_ahead") + ") ge 0 }"
}

// round is what 32 bits hold: times are differences of such numbers, because the clock
// comes round.
const round = 1<<32 - 1

// rate compares the time of a key with what the limit allows (GCRA). take adds to it.
func (r *rules) rate(l slot, s Settings) {
	used := l.used()
	r.add("set-var(%[1]s,ifnotempty) var(%[2]s),field(%[3]d,+) if { var(%[2]s) -m found } !{ var(txn.rate_exempt) -m sub %[4]s }", l.name(""), l.list(), l.n, l.mark())
	r.track(l, s)
	r.ahead(l)

	longer := fmt.Sprintf("%s { %s -m beg %s } { %s,mul(txn.rate_parts),add(txn.rate_wait) lt 0 }", used, l.value(""), model.RateReal, l.field(model.RateUnit))
	r.add("set-var(txn.rate_refused) %s if %s", l.value(""), longer)
	r.add("set-var(txn.rate_wait) %s,mul(txn.rate_parts),neg if %s", l.field(model.RateUnit), longer)

	weight := l.field(model.RatePartWeight) + ",mul(txn.rate_parts)"
	fewer := fmt.Sprintf("%s { %s,sub(txn.rate_left) lt 0 }", used, weight)
	r.add("set-var(txn.rate_told) %s if %s", l.value(""), fewer)
	r.add("set-var(txn.rate_left) %s if %s", weight, fewer)
}

// ahead finds out how far the time of a key is ahead, and what room that leaves.
func (r *rules) ahead(l slot) {
	used := l.used()
	r.add("set-var(txn.rate_unit) %s if %s", l.field(model.RateUnit), used)
	r.add("set-var(%s) var(txn.rate_clock),div(txn.rate_unit) if %s", l.name("_now"), used)
	// In this order: if another thread resets the key meanwhile, its new beginning is
	// added to the count of before, which refuses too much rather than too little.
	r.add("set-var(%s) %s if %s", l.name("_parts"), l.field(model.RateParts), used)
	r.add("set-var(%s) sc_get_gpc(0,%d),mul(%s) if %s", l.name("_count"), l.counter, l.name("_parts"), used)
	r.add("set-var(%s) sc_get_gpt(0,%d),add(%s),sub(%s),and(%d) if %s", l.name("_ahead"), l.counter, l.name("_count"), l.name("_now"), round, used)
	// A key that is new, or whose time has passed, starts from now.
	r.add("set-var(%s) int(0) if %s { sc_get_gpt(0,%d) eq 0 } || %s { %s,sub(%s) lt 0 }",
		l.name("_ahead"), used, l.counter, used, l.field(model.RateInvalid), l.name("_ahead"))
	r.add("sc-set-gpt(0,%d) %s,sub(%s) if %s { %s -m int 0 }", l.counter, l.value("_now"), l.name("_count"), used, l.value("_ahead"))
	r.add("set-var(%s) %s,sub(%s) if %s", l.name("_room"), l.field(model.RateWhole), l.name("_ahead"), used)
	r.add("set-var(txn.rate_parts) %s,sub(%s) if %s", l.field(model.RateAhead), l.name("_ahead"), used)
}

// perSecond are the units of model.RateUnit in a second.
const perSecond = 1_000_000 * model.ClockScale

const (
	rateRefused = "{ var(txn.rate_refused) -m found }"
	rateTold    = "{ var(txn.rate_told) -m found }"
	rateRaced   = "{ var(txn.rate_raced) -m found }"
)

func told(f model.RateField) string { return fmt.Sprintf("var(txn.rate_told),field(%d,:)", f) }

// tell prepares what clients are told of the limit that leaves the fewest requests, or
// of the one that refuses for the longest time. Known is true if there is one.
func (r *rules) tell(known string) {
	seconds := fmt.Sprintf(",add(%d),div(%d)", perSecond-1, perSecond)
	r.add("set-var(txn.rate_told) var(txn.rate_refused) if %s", rateRefused)
	r.add("set-var(txn.rate_form) %s if %s", told(model.RateForm), known)
	r.add("set-var(txn.after) bool(true) if %s", known)
	r.add("set-var(txn.rate_requests) var(txn.rate_left),div(%d) if %s", model.RateWeight, known)
	r.add("set-var(txn.rate_requests) int(0) if %[1]s %[2]s || %[1]s { var(txn.rate_left) -m int lt 0 }", known, rateRefused)
	r.add("set-var(txn.rate_reset) var(txn.rate_wait)%s if %s", seconds, rateRefused)
	// The burst is whole again when the time that the request adds to is reached.
	admitted := known + " !" + rateRefused
	r.add("set-var(txn.rate_weight) %s if %s", told(model.RatePartWeight), admitted)
	r.add("set-var(txn.rate_parts) var(txn.rate_left),div(txn.rate_weight) if %s", admitted)
	r.add("set-var(txn.rate_parts) %s,sub(txn.rate_parts) if %s", told(model.RateAhead), admitted)
	r.add("set-var(txn.rate_parts) %s,add(txn.rate_parts) if %s", told(model.RateParts), admitted)
	r.add("set-var(txn.rate_reset) %s,mul(txn.rate_parts)%s if %s", told(model.RateUnit), seconds, admitted)
}

// tooMany is what clients read that a limit refuses.
const tooMany = "Too many requests."

// refuse answers in place of the pods. Where nothing could be counted of what is to be,
// because each key of a table is in use, it is not known whether the request is one too many.
func (r *rules) refuse(l Layout, caps plan.Capabilities, counted string) {
	r.over(l, caps)
	r.add("deny deny_status 503 if %s !%s", counted, rateTold)
}

func (r *rules) over(l Layout, caps plan.Capabilities) {
	text := func(status int) string {
		return ownText(l, caps, status, tooMany) + " hdr Retry-After %[var(txn.rate_reset)]"
	}
	unavailable := fmt.Sprintf("{ %s -m str 503 }", told(model.RateStatus))
	r.add("deny deny_status 503 %s if %s %s", text(503), rateRefused, unavailable)
	r.add("deny deny_status 429 %s if %s", text(429), rateRefused)
}

// rateResponseRules tell clients of the limit. They come after canaryResponseRules, of
// which the first one is for these, too.
func rateResponseRules() []string {
	const draft, legacy = "{ var(txn.rate_form) -m str " + model.FormDraft + " }", "{ var(txn.rate_form) -m str " + model.FormLegacy + " }"
	const left, reset = "%[var(txn.rate_requests)]", "%[var(txn.rate_reset)]"
	set := func(name, value, condition string) string {
		return fmt.Sprintf("http-after-response set-header %s %s if %s", name, value, condition)
	}
	return []string{
		set("RateLimit-Policy", fmt.Sprintf(`"\"%%[%s]\";q=%%[%s];w=%%[%s]"`, told(model.RateName), told(model.RateQuota), told(model.RateWindow)), draft),
		set("RateLimit", fmt.Sprintf(`"\"%%[%s]\";r=%s;t=%s"`, told(model.RateName), left, reset), draft),
		set("X-RateLimit-Limit", fmt.Sprintf("%%[%s]", told(model.RateQuota)), legacy),
		set("X-RateLimit-Remaining", left, legacy),
		set("X-RateLimit-Reset", reset, legacy),
	}
}
