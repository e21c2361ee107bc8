package render

import (
	"fmt"

	"github.com/fairlead/fairlead/router/model"
)

// limitRules count per backend and source of requests, and refuse what is over a
// limit. The backend's name is hashed, because the table cuts long keys. Without a
// limit, its variable is missing and the subtraction fails.
//
// One namespace adds only so many keys to the table in a while, those of sources
// that were not there; they alone cost a look at what it has added. Further ones
// of its keys are counted in a second table. So no client's counters are driven out
// by a flood from many sources to a route of another namespace, except where both
// namespaces have that many clients.
func limitRules(s Settings) []string {
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }
	limited := asks(model.FlagLimited)
	const known, fresh = "{ var(txn.limit_key) -m found }", "{ var(txn.limit_new_key) -m found }"
	add(`set-var-fmt(sess.client_prefix) "%%[src,ipmask(32,64)]" if %s !{ var(sess.client_prefix) -m found }`, limited)
	add("set-var(txn.limit_key) var(txn.backend),xxh64,concat(/,sess.client_prefix) if %s", limited)
	add("set-var(txn.limit_new_key) bool(true) if %s !{ var(txn.limit_key),in_table(router_limits) }", known)
	add("track-sc1 var(txn.backend),field(2,:) table router_tenants if %s", fresh)
	add("set-var(txn.limit_overflow) bool(true) if %[1]s { var(txn.limit_key),in_table(router_overflow) } || %[1]s { sc1_gpc0_rate(router_tenants) ge %[2]d }", fresh, s.LimitKeys/tenantShare)
	add("sc-inc-gpc0(1) if %s !{ var(txn.limit_overflow) -m found }", fresh)
	add("track-sc0 var(txn.limit_key) table router_overflow if { var(txn.limit_overflow) -m found }")
	add("track-sc0 var(txn.limit_key) table router_limits if %s !{ var(txn.limit_overflow) -m found }", known)
	limits := []struct {
		variable string
		field    model.Field
		count    string
	}{{"txn.limit_requests", model.FieldRequests, "http_req_rate"}, {"txn.limit_concurrent", model.FieldConcurrent, "conn_cur"}, {"txn.limit_connections", model.FieldConnections, "conn_rate"}}
	for _, limit := range limits {
		add("set-var(%s,ifnotempty) %s if %s", limit.variable, rest(limit.field), known)
	}
	for _, limit := range limits {
		add("deny deny_status 429 if { var(%[1]s) -m found } { sc0_%[2]s,sub(%[1]s) gt 0 }", limit.variable, limit.count)
	}
	return rules
}

// limitConnectionRules is limitRules for connections of passthrough backends.
func limitConnectionRules(s Settings) []string {
	var rules []string
	add := func(format string, args ...any) {
		rules = append(rules, "tcp-request content "+fmt.Sprintf(format, args...))
	}
	const (
		known = "{ var(sess.limit_key) -m found }"
		fresh = known + " !{ var(sess.limit_key),in_table(router_limits) }"
	)
	add("set-var(sess.limit_concurrent,ifnotempty) var(sess.policy),field(%d,|)", model.FieldConcurrent)
	add("set-var(sess.limit_connections,ifnotempty) var(sess.policy),field(%d,|)", model.FieldConnections)
	add(`set-var-fmt(sess.limit_key) "%%[be_name,xxh64]/%%[src,ipmask(32,64)]" if { var(sess.limit_concurrent) -m found } || { var(sess.limit_connections) -m found }`)
	add("track-sc0 be_name,field(2,:) table router_tenants if %s", fresh)
	add("set-var(sess.limit_overflow) bool(true) if %[1]s { var(sess.limit_key),in_table(router_overflow) } || %[1]s { sc0_gpc0_rate(router_tenants) ge %[2]d }", fresh, s.LimitKeys/tenantShare)
	add("sc-inc-gpc0(0) if %s !{ var(sess.limit_overflow) -m found }", fresh)
	add("track-sc1 var(sess.limit_key) table router_overflow if { var(sess.limit_overflow) -m found }")
	add("track-sc1 var(sess.limit_key) table router_limits if %s !{ var(sess.limit_overflow) -m found }", known)
	add("reject if { var(sess.limit_concurrent) -m found } { sc1_conn_cur,sub(sess.limit_concurrent) gt 0 }")
	add("reject if { var(sess.limit_connections) -m found } { sc1_conn_rate,sub(sess.limit_connections) gt 0 }")
	return rules
}

// tenantShare of the first table is what one namespace adds to it in ten minutes.
const tenantShare = 10

// limitTables are the tables that limitRules and the limits of concurrent requests
// count in, by name. The longest key is as that of rateTables.
func limitTables(s Settings) [][2]string {
	counters := " expire 30s store conn_cur,conn_rate(3s),http_req_rate(10s)"
	return [][2]string{
		{"router_limits", fmt.Sprintf("stick-table type string len 96 size %d", s.LimitKeys) + counters},
		{"router_overflow", fmt.Sprintf("stick-table type string len 96 size %d", s.LimitKeys/2) + counters},
		{"router_tenants", "stick-table type string len 63 size 20k expire 10m store gpc0,gpc0_rate(10m)"},
	}
}
