package gateway

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Wildcard begins hostnames that stand for all with one label more, or several.
const Wildcard = "*."

// MostWildcardLabels is how many labels may follow "*.": HAProxy looks that many up.
const MostWildcardLabels = 7

// HostnameProblem says what is wrong with a hostname of a listener or route, or nothing.
func HostnameProblem(host string) string {
	base, wild := strings.CutPrefix(host, Wildcard)
	switch {
	case len(validation.IsDNS1123Subdomain(base)) > 0:
		return "must be a DNS name in lower case, or \"*.\" and one"
	case wild && strings.Count(base, ".")+1 > MostWildcardLabels:
		return "has more than 7 labels after the wildcard"
	}
	for label := range strings.SplitSeq(base, ".") {
		if len(label) > validation.DNS1123LabelMaxLength {
			return "has a label of more than 63 characters"
		}
	}
	return ""
}
