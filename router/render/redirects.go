package render

import (
	"fmt"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// redirectRules answer with another address: model.Redirect.Record has its parts.
// An address that has only "//" before the host takes the request's own with its
// port, unless it names a port.
func redirectRules(l Layout, caps plan.Capabilities) []string {
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }
	const found = "{ var(txn.redirect) -m found }"
	part := func(n int) string { return fmt.Sprintf("var(txn.redirect),field(%d,|)", n) }
	add(`set-var(txn.redirect) "var(txn.backend),concat(,txn.path,/#),map_beg(%s)" if %s`, l.MapFile(plan.MapRedirects), asks(model.FlagRedirected))
	if caps.Lua {
		add("lua.fairlead_redirect if { var(txn.redirect) -m beg ? }")
	} else {
		add("unset-var(txn.redirect) if { var(txn.redirect) -m beg ? }")
	}
	add("set-var(txn.redirect_base) %s if %s", part(2), found)
	add(`set-var-fmt(txn.redirect_base) "//%%[var(txn.host)]" if { var(txn.redirect_base) -m str // } !{ %s -m len gt 0 }`, part(3))
	add(`set-var-fmt(txn.redirect_base) "%%[var(txn.redirect_base)]%%[var(txn.host),host_only,rtrim(.)]" if { var(txn.redirect_base) -m end // }`)
	add("set-var(txn.redirect_strip,ifnotempty) %s if %s", part(4), found)
	add("set-var(txn.redirect_rest) path,bytes(txn.redirect_strip) if { var(txn.redirect_strip) -m found }")
	add(`set-var-fmt(txn.redirect_query) "?%%[query]" if %s { %s -m str k } { query -m len gt 0 }`, found, part(6))
	for _, status := range match.RedirectStatuses {
		add(`redirect location "%%[var(txn.redirect_base)]%%[%s]%%[%s]%%[var(txn.redirect_rest)]%%[var(txn.redirect_query)]" code %[3]d if { var(txn.redirect) -m beg %[3]d| }`, part(3), part(5), status)
	}
	return rules
}
