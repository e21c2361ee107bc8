package render

import (
	"fmt"

	"github.com/fairlead/fairlead/router/model"
)

// HAProxy has no timeout for all attempts of a request together: that of a server begins
// again with each. So requests with such a timeout go on to a frontend of their own, which
// makes the attempts, while the first one waits no longer than they may take together. It
// closes the connection then, which ends the attempt that goes on.

// The headers by which a request comes to the second frontend. Those that clients send are
// replaced.
const (
	attemptBackend = "fairlead-backend"
	attemptPolicy  = "fairlead-policy"
	attemptTimeout = "fairlead-timeout"
)

// ownAnswerRules answer requests for claims of Gateways that have no target, at the router's own
// ports.
func ownAnswerRules() []string {
	return []string{
		`http-request return status 500 content-type text/plain string "The route of this path names no target that can be used." if { var(txn.backend) -m str !500 }`,
		`http-request return status 503 content-type text/plain string "The route of this path names no target that can be used, or none with a weight." if { var(txn.backend) -m str !503 }`,
	}
}

// attemptsRule ends the rules of frontends for Gateways.
const attemptsRule = "use_backend router_attempts if { var(txn.total_timeout) -m found } { var(txn.backend) -m beg be_ }"

// totalTimeoutRule reads how long a request may take.
func totalTimeoutRule() string {
	return "http-request set-var(txn.total_timeout) " + rest(model.FieldTotalTimeout) + " if " + asks(model.FlagTotalTimeout)
}

// attemptSections are the way on. Of the policy the attempts need the letters only: all else
// has been done.
func attemptSections(s Settings, l Layout) []string {
	socket := l.RunDir() + "/attempts.sock"
	take := func(variable, header string) string {
		return fmt.Sprintf("  http-request set-var(%s,ifnotempty) req.fhdr(%s)", variable, header)
	}
	return []string{
		"backend router_attempts from " + frontDefaults,
		"  timeout tunnel " + milliseconds(s.Timeouts.Tunnel),
		"  retries 0",
		"  http-request set-timeout server var(txn.total_timeout)",
		fmt.Sprintf("  http-request set-header %s %%[var(txn.backend),field(1,|)]", attemptBackend),
		fmt.Sprintf("  http-request set-header %s %%[%s]", attemptPolicy, record(model.FieldMode)),
		fmt.Sprintf("  http-request set-header %s %%[var(txn.server_timeout)]", attemptTimeout),
		"  server attempts unix@" + socket + " send-proxy-v2",
		"frontend router_attempt from " + frontDefaults,
		"  bind unix@" + socket + " mode 600 accept-proxy",
		take("txn.backend", attemptBackend),
		take("txn.policy", attemptPolicy),
		take("txn.server_timeout", attemptTimeout),
		fmt.Sprintf("  http-request del-header %s", attemptBackend),
		fmt.Sprintf("  http-request del-header %s", attemptPolicy),
		fmt.Sprintf("  http-request del-header %s", attemptTimeout),
		"  use_backend %[var(txn.backend)]",
	}
}
