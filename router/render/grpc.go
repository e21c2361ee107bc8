package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
)

// Clients of gRPC read a status of theirs from the headers of an answer of HTTP 200 that has no
// body; of others they make what they can. So at the ports of Gateways each refusal by a policy
// has a form for them.

// grpcRule marks calls of gRPC.
const grpcRule = "http-request set-var(txn.grpc) bool(true) if " + asked + " { req.fhdr(content-type) -m reg -i ^application/grpc($|[+;]) }"

// grpcTypeRule completes such answers: HAProxy drops the content type of one without a body.
const grpcTypeRule = "http-after-response set-header content-type application/grpc if { var(txn.grpc) -m found } { res.fhdr(grpc-status) -m found } !{ res.fhdr(content-type) -m found }"

// grpcStatuses are what refusals mean to clients of gRPC (google.rpc.Code). Redirects are left
// out: there are none.
var grpcStatuses = map[string]struct {
	code int
	text string
}{
	"400": {3, "The path is refused."},
	"401": {16, "The call needs other credentials."},
	"403": {7, "The call is not permitted."},
	"404": {12, "No route is for this host and method."},
	"411": {8, "The message must say its length."},
	"413": {8, "The message is too large."},
	"414": {8, "The path is too long."},
	"429": {8, "There are too many calls."},
	"431": {8, "The headers are too large."},
	"503": {14, "Service Unavailable"},
}

// refusal finds the status of a rule that refuses.
var refusal = regexp.MustCompile(`^http-request (?:deny deny_status|return status) ([0-9]{3})`)

// withGRPC puts before each rule that refuses requests those for calls of gRPC: one for each of
// its alternatives, because a line of HAProxy has 64 words at most.
func withGRPC(rules []string) (out []string) {
	for _, rule := range rules {
		m := refusal.FindStringSubmatch(rule)
		at := strings.LastIndex(rule, " if ")
		if m != nil && at >= 0 {
			if s, known := grpcStatuses[m[1]]; known {
				for condition := range strings.SplitSeq(rule[at+len(" if "):], " || ") {
					out = append(out, fmt.Sprintf("http-request return status 200 hdr grpc-status %d hdr grpc-message %q if { var(txn.grpc) -m found } %s", s.code, s.text, condition))
				}
			}
		}
		out = append(out, rule)
	}
	return out
}

// slotPolicyRules are policyRules in the scopes of listeners.
func slotPolicyRules(s Settings, l Layout, caps plan.Capabilities) []string {
	rules := policyRules(s, l, caps, false, []string{grpcRule}, scopedGuardRules(caps))
	return append(withGRPC(rules), pauseRule, totalTimeoutRule())
}
