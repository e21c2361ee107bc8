package render

import (
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// sharedRules have the policy agent count requests of routes whose limits hold for all
// replicas together. Only "ok" lets a request on.
func sharedRules(a *Agent, l Layout, caps plan.Capabilities) []string {
	var r rules
	shared := asks(model.FlagShared)
	if a == nil { // the router closes such routes, and this is what holds if it did not
		r.add(`return status 503 content-type text/plain string "Service Unavailable\n" if %s`, shared)
		return r
	}
	const (
		known = "{ var(txn.counted_by) -m found }"
		none  = known + " !{ var(txn.fl.count) -m found }"
	)
	r.add("set-var(txn.counted_by) %s if %s", rest(model.FieldCounted), shared)
	r.add(`return status 503 content-type text/plain string "Service Unavailable\n" if %s !{ var(txn.counted_by) -m len gt 0 }`, shared)
	r.add("send-spoe-group fairlead count if %s", known)
	// As askRules ask again.
	r.add("send-spoe-group fairlead count if %s", none)
	for range 2 {
		again := none + " !{ var(txn.fl.err) -m int 1 }"
		r.add("pause 25ms if %s", again)
		r.add("send-spoe-group fairlead count if %s", again)
	}
	r.add(`return status 503 content-type text/plain string "Service Unavailable\n" hdr Retry-After 1 if %s`, none)
	for _, status := range []int{503, 429} {
		r.add("deny deny_status %d %s hdr Retry-After %%[var(txn.fl.wait)] if %s { var(txn.fl.count) -m str %d }", status, ownText(l, caps, status, tooMany), known, status)
	}
	// Whatever else was said is no permission.
	r.add(`return status 503 content-type text/plain string "Service Unavailable\n" hdr Retry-After 1 if %s !{ var(txn.fl.count) -m str ok }`, known)
	return r
}
