package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead/fairlead/api"
)

// Allowlist reads addresses and CIDRs, separated by spaces. Bad items are returned
// apart: each admits nobody. An error means that the list cannot be used.
func Allowlist(v string) (allow []netip.Prefix, bad []string, err error) {
	for item := range strings.FieldsSeq(v) {
		prefix, err := netip.ParsePrefix(item)
		if err != nil {
			addr, addrErr := netip.ParseAddr(item)
			if addrErr != nil || addr.Zone() != "" {
				bad = append(bad, item)
				continue
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		if prefix.Addr().Is4In6() {
			bad = append(bad, item)
			continue
		}
		allow = append(allow, prefix.Masked())
	}
	switch {
	case len(allow) == 0:
		err = errors.New("holds no IP address or CIDR; remove it to admit everybody")
	case len(allow) > maxAllow:
		err = fmt.Errorf("holds more than %d addresses", maxAllow)
	}
	return allow, bad, err
}

// maxAllow bounds the map entries of one route: up to eight for each item.
const maxAllow = 2000

// readAllowlist reads the addresses that may connect. What it cannot read admits
// nobody; a list of nothing else closes the object's paths.
func (s *Spec) readAllowlist(annotations map[string]string) *Problem {
	key, v := allowlistOf(annotations)
	switch {
	case key == "":
		return nil
	case v == "":
		return &Problem{Key: key, Severity: api.SeverityWarning, Reason: api.ReasonAnnotationIgnored, Message: "is empty", Effect: "everybody is admitted"}
	}
	var bad []string
	var err error
	s.Restricted = true
	s.Allow, bad, err = Allowlist(v)
	switch {
	case err != nil:
		p := closing(key, err.Error())
		return &p
	case len(bad) > 0:
		return &Problem{
			Key: key, Severity: api.SeverityWarning, Reason: api.ReasonInvalidAnnotation,
			Message: fmt.Sprintf("%q is not an IP address or CIDR", bad[0]), Effect: "it admits nobody; the other items count",
		}
	}
	return nil
}

// allowlistOf returns the annotation that lists the addresses that may
// connect, and its value, or nothing if there is none.
func allowlistOf(annotations map[string]string) (key, value string) {
	v, set := annotations[api.AnnotationAllowlist]
	if w := annotations[api.AnnotationWhitelist]; strings.TrimSpace(v) == "" && strings.TrimSpace(w) != "" {
		return api.AnnotationWhitelist, w
	}
	if !set {
		return "", ""
	}
	return api.AnnotationAllowlist, v
}
