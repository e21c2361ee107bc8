package render

import (
	"fmt"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// unloggedRules keep a share of a route's requests out of the access log, whatever
// becomes of them.
func unloggedRules(s Settings) []string {
	if s.Log.Target == "" {
		return nil
	}
	return []string{
		"http-request set-var(txn.unlogged) " + rest(model.FieldUnlogged) + " if " + asks(model.FlagUnlogged),
		"http-request set-log-level silent if { var(txn.unlogged) -m found } { rand(100),sub(txn.unlogged) lt 0 }",
	}
}

// requestIDRules name a request for pods. Programs that read headers as CGI variables
// take X_Request_ID for the same.
func requestIDRules() []string {
	replaced := asks(model.FlagReplaceID)
	return []string{
		"http-request del-header ^x[-_]request[-_]id$ -m reg if " + replaced,
		"http-request set-header X-Request-ID %[uuid] if " + replaced + " || " + asks(model.FlagKeepID) + " !{ req.hdr(x-request-id) -m found }",
	}
}

// maintenanceRules answer in place of the pods, save to clients that are exempt.
func maintenanceRules(l Layout, caps plan.Capabilities) []string {
	const closed = "{ var(txn.maintenance) -m found }"
	file := "file"
	if caps.PlainLogFormat {
		file = "lf-file"
	}
	answer := fmt.Sprintf(`http-request return status 503 content-type "text/html; charset=utf-8" %s %s hdr Cache-Control "private, max-age=0, no-cache, no-store"`, file, l.maintenanceFile())
	return []string{
		"http-request set-var(txn.until,ifnotempty) " + rest(model.FieldUntil) + " if " + asks(model.FlagMaintenance),
		fmt.Sprintf("http-request set-var(txn.maintenance) bool(true) if %s !{ date,sub(txn.until) ge 0 } !{ var(txn.backend),concat(,sess.client_key),map_beg(%s) -m found }", asks(model.FlagMaintenance), l.MapFile(plan.MapExempt)),
		"http-request set-var(txn.retry_after,ifnotempty) " + rest(model.FieldRetryAfter) + " if " + closed,
		"http-request set-var(txn.retry_after) date,sub(txn.until),neg if " + closed + " { var(txn.until) -m found } !{ var(txn.retry_after) -m found }",
		answer + " hdr Retry-After %[var(txn.retry_after)] if " + closed + " { var(txn.retry_after) -m found }",
		answer + " if " + closed,
	}
}

// clientKeyRule makes the client's part of keys of lists, once for each connection.
func clientKeyRule() string {
	return `http-request set-var-fmt(sess.client_key) "/%[src,hex,length]/%[src,hex]" if ` +
		asks(model.FlagRestricted, model.FlagDenied, model.FlagMaintenance, model.FlagCountedByBits) + " !{ var(sess.client_key) -m found }"
}

// accessRules refuse clients by their address, before anything is counted: those
// that are listed to be refused, and then those that no list admits.
func accessRules(l Layout) []string {
	const key = "var(txn.backend),concat(,sess.client_key)"
	denied, restricted := asks(model.FlagDenied), asks(model.FlagRestricted)
	return []string{
		fmt.Sprintf("http-request deny deny_status 403 if %s { %s,map_beg(%s) -m found }", denied, key, l.MapFile(plan.MapDeny)),
		fmt.Sprintf("http-request deny deny_status 403 if %s !{ %s,map_beg(%s) -m found }", restricted, key, l.MapFile(plan.MapAllow)),
	}
}

// accessConnectionRules is accessRules for connections of passthrough backends.
func accessConnectionRules(l Layout) []string {
	flagged := func(letters string) string {
		return fmt.Sprintf("{ var(sess.policy),field(%d,|) -m sub %s }", model.FieldMode, letters)
	}
	in := func(m plan.Map) string { return "{ var(sess.client_key),map_beg(" + l.MapFile(m) + ") -m found }" }
	return []string{
		`tcp-request content set-var-fmt(sess.client_key) "%[be_name]/%[src,hex,length]/%[src,hex]" if ` + flagged(model.FlagRestricted+" "+model.FlagDenied),
		"tcp-request content reject if " + flagged(model.FlagDenied) + " " + in(plan.MapDeny),
		"tcp-request content reject if " + flagged(model.FlagRestricted) + " !" + in(plan.MapAllow),
	}
}

// tooLong is the number of digits from which on HAProxy's 64 bits may not hold a
// length: 18446744073709551615 counts as -1, and as less than any limit (3.0 to 3.4).
const tooLong = 18

// sizeRules refuse requests that are larger than their route takes, before a pod is
// asked. A body that does not say its length cannot be compared with a limit while
// it flows, so it is refused: by HTTP/1 it is chunked, by HTTP/2 nothing announces it,
// and the message is not complete with its headers. Whatever part of it has come
// already makes no difference.
func sizeRules(l Layout, caps plan.Capabilities) []string {
	var rules []string
	add := func(format string, args ...any) { rules = append(rules, "http-request "+fmt.Sprintf(format, args...)) }
	sized := asks(model.FlagSized)
	for _, limit := range []struct {
		variable string
		field    model.Field
	}{{"txn.uri_max", model.FieldURI}, {"txn.headers_max", model.FieldHeaders}, {"txn.body_max", model.FieldBody}} {
		add("set-var(%s,ifnotempty) %s if %s", limit.variable, rest(limit.field), sized)
	}
	const bounded, told = "{ var(txn.body_max) -m found }", "{ req.fhdr(content-length) -m found }"
	for _, refusal := range []struct {
		status          int
		text, condition string
	}{
		{414, "The path with its query is too long.", "{ var(txn.uri_max) -m found } { pathq,length,sub(txn.uri_max) gt 0 }"},
		{431, "The headers are too large.", "{ var(txn.headers_max) -m found } { req.hdrs,length,sub(txn.headers_max) gt 0 }"},
		{411, "The body must say its length.", fmt.Sprintf("%[1]s { req.fhdr(transfer-encoding) -m found } || %[1]s !%[2]s !{ internal.htx.has_eom } || %[1]s !%[2]s { req.body_len gt 0 }", bounded, told)},
		{413, "The body is too large.", fmt.Sprintf("%[1]s { req.fhdr(content-length) -m len gt %[2]d } || %[1]s { req.body_size,sub(txn.body_max) gt 0 }", bounded, tooLong)},
	} {
		// Of these statuses, versions before 3.4 have no text of their own (deny_status).
		rules = append(rules, "http-request "+ownAnswer(l, caps, refusal.status, refusal.text)+" if "+refusal.condition)
	}
	return rules
}
