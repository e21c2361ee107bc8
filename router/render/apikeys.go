package render

import (
	"slices"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

const (
	keyed    = "{ var(txn.keyed) -m found }"
	keyFrom  = "{ var(txn.key_from) -m found }"
	consumer = "{ var(txn.consumer) -m found }"
)

// keyRules look up the API key of a request: by the hash of its hash, under the key of
// the pod, so that the map says nothing about keys. txn.consumer is whose key it is.
func keyRules(l Layout, caps plan.Capabilities) []string {
	var r rules
	r.add("set-var(txn.keyed) bool(true) if %s", asks(model.FlagKeyed))
	r.add("set-var(txn.key_from,ifnotempty) %s if %s", rest(model.FieldKeyFrom), keyed)
	r.add("set-var(txn.api_key) req.fhdr(x-api-key) if %s !%s { req.fhdr_cnt(x-api-key) eq 1 }", keyed, keyFrom)
	if caps.Lua { // without it there is no key, and so no consumer
		r.add("lua.fairlead_api_key if %s %s", keyed, keyFrom)
	}
	r.add("set-var(txn.key_hash) var(txn.api_key),sha2(256),hmac(sha256,proc.key),hex if %s { var(txn.api_key) -m len gt 0 }", keyed)
	r.add("unset-var(txn.api_key) if %s", keyed)
	r.add("set-var(txn.key_entry) var(txn.backend),concat(/,txn.key_hash),map_str(%s) if { var(txn.key_hash) -m found }", l.MapFile(plan.MapKeys))
	r.add("set-var(txn.consumer) var(txn.key_entry),field(1,|) if { var(txn.key_entry) -m found }")
	unauthorized := `return status 401 content-type text/plain string "Unauthorized\n"`
	if caps.PlainLogFormat {
		unauthorized = ownAnswer(l, caps, 401, "Unauthorized\n")
	}
	r = append(r, "http-request "+unauthorized+" if "+asks(model.FlagKeyDemanded)+" !"+consumer)
	return r
}

// consumerRules change the request for the pod, after all else has let it on.
func consumerRules(caps plan.Capabilities) []string {
	var r rules
	stripped := asks(model.FlagKeyStripped) + " " + consumer
	r.add("del-header x-api-key if %s !%s", stripped, keyFrom)
	if caps.Lua {
		r.add("lua.fairlead_strip_key if %s %s", stripped, keyFrom)
		// Lua leaves the question mark of an empty query.
		r.add("set-pathq %%[path] if %s %s { query -m len 0 }", stripped, keyFrom)
	}
	if !caps.Lua && !caps.HeaderLists {
		return r
	}
	r.add("set-var(txn.request_headers,ifnotempty) var(txn.key_entry),field(2,|) if %s", consumer)
	changes := slices.Concat(r, changeRules("http-request", "request", "var(txn.request_headers)", caps))
	return append(changes, "http-request unset-var(txn.request_headers) if "+consumer)
}
