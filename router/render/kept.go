package render

import (
	"fmt"

	"github.com/fairlead/fairlead/router/model"
)

// KeptKey is the key of the map of what is observed with which failed requests are written to the ring, where the settings keep
// them. No routing value begins with it.
const KeptKey = "failed"

// IDBytes is what there is of the ID of a request.
const IDBytes = 256

// keepRules have failed requests written to the ring, and give their answers an ID by which the record is found: that of
// the pod's answer, of the request that the pod got, or one of its own. An answer fails from 500
// on, and from 400 on where no pod gave it. Requests of Routes that the access log leaves out are not written. The rules stand
// before those that end at most answers.
func keepRules(s Settings, l Layout) []string {
	if !s.KeepFailed {
		return nil
	}
	on := fmt.Sprintf("{ str(%s),map_beg(%s) -m found }", KeptKey, l.ObserveFile())
	if s.Log.Target != "" {
		on = "!{ var(txn.unlogged) -m found } " + on
	}
	const kept, id = " if { var(txn.kept) -m found }", "http-after-response set-var(txn.request_id"
	return []string{
		"http-after-response set-var(txn.kept) bool(true) if { status ge 500 } " + on + " || { status 400:499 } !{ srv_id -m found } " + on,
		fmt.Sprintf("%s,ifnotempty) res.fhdr(x-request-id),bytes(0,%d)%s", id, IDBytes, kept),
		id + ",ifnotexists) uuid" + kept,
		"http-after-response set-header X-Request-ID %[var(txn.request_id)]" + kept,
		"http-after-response set-log-level " + observedLevel + kept,
	}
}

// uniqueIDRules note the ID that all pods get.
func uniqueIDRules(s Settings) []string {
	if !s.KeepFailed || s.HTTP.UniqueIDName == "" {
		return nil
	}
	return []string{fmt.Sprintf("http-request set-var(txn.request_id) unique-id,bytes(0,%d)", IDBytes)}
}

// keptIDRules note the ID that pods get of a request by a policy, after the rules that make it.
func keptIDRules(s Settings) []string {
	if !s.KeepFailed {
		return nil
	}
	return []string{fmt.Sprintf("http-request set-var(txn.request_id) req.fhdr(x-request-id),bytes(0,%d) if %s", IDBytes, asks(model.FlagReplaceID, model.FlagKeepID))}
}
