package ingress

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/policy"
)

// nginxRetries are the annotations about a request that one pod does not answer.
func nginxRetries(t map[string]vendorAnnotation) {
	const retries = "`fairlead.dev/retries`"
	t["proxy-next-upstream"] = vendorAnnotation{
		carry: nextUpstream, becomes: retries + ", `fairlead.dev/retry-on`",
		differs: "http_502, http_503 and http_504 go together, and with answers that do not come; not http_500, http_403, http_404, http_429, invalid_header and non_idempotent",
	}
	t["proxy-next-upstream-tries"] = vendorAnnotation{carry: nextUpstreamTries, becomes: retries, differs: "at most four pods are tried"}
	add(t, vendorAnnotation{instead: "each attempt has the time-out of the Route, and together they have none"}, "proxy-next-upstream-timeout")
}

// neverAgain says that a request goes to one pod, whatever else is said.
func (c *carried) neverAgain() {
	delete(c.annotations, policy.AnnotationRetryOn)
	c.set(policy.AnnotationRetries, "0", func(string, string) bool { return true })
}

// nextUpstream says when a request is tried again. Ours is by default what error and
// timeout say of connections.
func nextUpstream(value string, into *carried) error {
	off, failure := false, false
	var others []string
	for word := range strings.FieldsSeq(value) {
		switch word {
		case "off":
			off = true
		case "error", "timeout":
		case "http_502", "http_503", "http_504":
			failure = true
		case "http_500", "http_403", "http_404", "http_429", "invalid_header", "non_idempotent":
			others = append(others, word)
		default:
			return fmt.Errorf("%q is no case in which ingress-nginx tries another server", word)
		}
	}
	if off {
		into.neverAgain()
		return nil
	}
	if failure && into.annotations[policy.AnnotationRetries] != "0" {
		into.set(policy.AnnotationRetryOn, "failure", nil)
	}
	if len(others) > 0 {
		into.differs = "a request is not tried again for " + strings.Join(others, ", ")
	}
	return nil
}

// nextUpstreamTries counts the first try, too; 0 is no limit.
func nextUpstreamTries(value string, into *carried) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return fmt.Errorf("%q is not a number of tries", value)
	}
	switch {
	case n == 1:
		into.neverAgain()
	case n == 2 && into.annotations[policy.AnnotationRetries] == "":
		into.set(policy.AnnotationRetries, "1", nil)
	case n == 3:
		into.differs = "a request is tried at up to four pods"
	}
	return nil
}
