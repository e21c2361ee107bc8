package render

import (
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// timeoutRules read the timeouts that few routes have. Those of answers and tunnels
// are read beside them (policyRules).
func timeoutRules(caps plan.Capabilities) []string {
	var rules []string
	for _, t := range backendTimeouts(caps) {
		rules = append(rules, "http-request set-var("+t.variable+",ifnotempty) "+rest(t.field)+" if "+asks(model.FlagTimeouts))
	}
	return rules
}

// profileTimeoutRules apply them, which a frontend cannot. A pause is one in an
// answer that has begun, so its timeout takes the place of the answer's.
func profileTimeoutRules(caps plan.Capabilities) []string {
	var rules []string
	for _, t := range backendTimeouts(caps) {
		rules = append(rules, t.rule+" var("+t.variable+") if { var("+t.variable+") -m found }")
	}
	return rules
}

type backendTimeout struct {
	field          model.Field
	variable, rule string
}

// backendTimeouts are those that a version of HAProxy can change for a request.
func backendTimeouts(caps plan.Capabilities) []backendTimeout {
	all := []backendTimeout{{model.FieldIdleTimeout, "txn.idle_timeout", "http-response set-timeout server"}}
	if caps.BackendTimeouts {
		all = append(all,
			backendTimeout{model.FieldConnectTimeout, "txn.connect_timeout", "http-request set-timeout connect"},
			backendTimeout{model.FieldQueueTimeout, "txn.queue_timeout", "http-request set-timeout queue"})
	}
	return all
}
