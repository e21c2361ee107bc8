package policy

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/fairlead/fairlead/api"
)

// Allowlist reads addresses and CIDRs, separated by spaces. Bad items are returned
// apart: each admits no client. An error means that the list cannot be used.
func Allowlist(v string) (allow []netip.Prefix, bad []string, err error) {
	for item := range strings.FieldsSeq(v) {
		prefix, ok := parsePrefix(item)
		if !ok {
			bad = append(bad, item)
			continue
		}
		allow = append(allow, prefix)
	}
	switch {
	case len(allow) == 0:
		err = errors.New("holds no IP address or CIDR; remove it to admit everybody")
	case len(allow) > maxAllow:
		err = errors.New(tooManyAddresses)
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
	if err != nil {
		p := closing(key, err.Error())
		return &p
	}
	return admitsNobody(key, bad)
}

// admitsNobody is about the items of a list that cannot be read, or nil.
func admitsNobody(key string, bad []string) *Problem {
	if len(bad) == 0 {
		return nil
	}
	return &Problem{
		Key: key, Severity: api.SeverityWarning, Reason: api.ReasonInvalidAnnotation,
		Message: notAddress(bad[0]), Effect: "it admits no client; the other items count",
	}
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
