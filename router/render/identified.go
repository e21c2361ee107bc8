package render

import (
	"fmt"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

const identifiedKind = "identified"

// Each identity is two numbers of 32 bits, in the agent's answer eight digits each, and two
// numbers of the verdict that HAProxy keeps, after the one that says until when.
const identityDigits = 8

func identityPlace(n int) int { return 2*n - 1 }

// identifiedRules count by identity, once that is known, as countRules do for other
// limits of rates. A request that one of them refuses does not count for those either.
func identifiedRules(s Settings, l Layout, caps plan.Capabilities, asked bool) []string {
	var r rules
	const has = "{ var(txn.identified) -m found }"
	r.add("set-var(txn.identified,ifnotempty) %s if %s", rest(model.FieldIdentified), asks(model.FlagIdentified))
	// What cannot be counted as it should be is not let through.
	const some = has + " { var(txn.identified) -m sub =m }"
	if caps.Lua {
		r.add("lua.fairlead_limit_matches if %s", some)
	}
	r.add("deny deny_status 503 if %s !%s !{ var(txn.limits_matched) -m found } || %s !{ var(txn.limits_matched) -m found }", asks(model.FlagIdentified), has, some)
	r.add(`set-var-fmt(sess.client_prefix) "%%[src,ipmask(32,64)]" if %s !{ var(sess.client_prefix) -m found }`, has)
	r.add("track-sc%d var(txn.backend),field(2,:) table router_tenants if %s", tenantCounter, has)
	for n := model.MaxIdentified + 1; n <= model.MaxIdentities; n++ {
		one := slot{identifiedKind, n, firstIdentifiedCounter + n - 1, [2]string{"router_limits", "router_overflow"}}
		r.identity(one, has, model.ConcurrentKey, asked)
		r.concurrent(one, s)
	}
	r.clock(l, has)
	r.add("set-var(txn.rate_wait) int(0) if %s", has)
	r.add("set-var(txn.rate_left) int(%d) if %s !{ var(txn.rate_left) -m found }", noneLeft, has)
	own := slots(identifiedKind, firstIdentifiedCounter, model.MaxIdentified)
	for _, one := range own {
		r.identity(one, has, model.RateKey, asked)
		r.rate(one, s)
		// Without a counter it is not known whether the request is one too many.
		r.add("deny deny_status 503 if %s !%s", one.used(), one.has("_room"))
	}
	r.tell(has + " " + rateTold)
	for _, one := range own {
		r.take(one, " !"+rateRefused)
	}
	// What was counted before authentication, too.
	r.add("set-var(txn.rate_back) bool(true) if %s || %s", rateRefused, rateRaced)
	r.giveBack(caps, "{ var(txn.rate_back) -m found }", rateSlots())
	r.over(l, caps)
	r.release(l, caps, own)
	return r
}

// identity finds out what a limit counts by: what the agent has said about the client, now or
// with the verdict that is kept, or the owner of its API key where the agent is not asked.
func (r *rules) identity(one slot, has string, key model.RateField, asked bool) {
	client := one.name("_client")
	if asked {
		fresh := [2]string{saidIdentity(one.n, 0), saidIdentity(one.n, 1)}
		kept := [2]string{keptIdentity(one.n, 0), keptIdentity(one.n, 1)}
		r.add(`set-var-fmt(%[1]s) "=%%[%[2]s].%%[%[3]s]" if %[4]s { var(txn.fl.who) -m found } { %[2]s gt 0 }`, client, fresh[0], fresh[1], has)
		r.add(`set-var-fmt(%[1]s) "=%%[%[2]s].%%[%[3]s]" if %[4]s { var(txn.ask_left) -m int gt 0 } { %[2]s gt 0 }`, client, kept[0], kept[1], has)
	}
	byConsumer := fmt.Sprintf("{ var(%s),field(%d,+),field(%d,:) -m str =u }", one.list(), one.n, key)
	r.add(`set-var-fmt(%s) "=%%[var(txn.consumer),sha2(256),hex,bytes(0,32)]" if %s !%s %s %s`, client, has, asks(model.FlagAsked), consumer, byConsumer)
}

func saidIdentity(n, i int) string {
	return fmt.Sprintf("var(txn.fl.who),bytes(%d,%d),hex2i", (2*(n-1)+i)*identityDigits, identityDigits)
}

func keptIdentity(n, i int) string {
	return fmt.Sprintf("var(txn.ask_key),table_gpt(%d,router_verdicts)", identityPlace(n)+i)
}

// keepIdentities are rules that keep the agent's answer with its verdict, before that is kept.
func keepIdentities() []string {
	var r rules
	for n := 1; n <= model.MaxIdentities; n++ {
		for i := range 2 {
			r.add("sc-set-gpt(%d,%d) %s if { var(txn.fl.who) -m found } { var(txn.ask_until) -m found }", identityPlace(n)+i, verdictCounter, saidIdentity(n, i))
		}
	}
	return r
}
