package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/fairlead/v1alpha1"
	"github.com/fairlead/fairlead/router/model"
)

// Annotations of the group access.
const (
	AnnotationAllow = "fairlead.dev/allow"
	AnnotationDeny  = "fairlead.dev/deny"
)

// compileAccess adds the group access to what a policy has. A client must be in each
// list that admits, and in none that refuses.
func compileAccess(a *v1alpha1.Access, p *model.Policy) []Problem {
	if a == nil {
		return nil
	}
	var problems []Problem
	read := func(field string, items []v1alpha1.CIDR) (list []netip.Prefix) {
		for i, item := range items {
			prefix, ok := parsePrefix(string(item))
			if !ok {
				problems = append(problems, closing(fmt.Sprintf("access.%s[%d]", field, i), notAddress(string(item))))
				continue
			}
			list = append(list, prefix)
		}
		if len(items) > maxAllow {
			problems = append(problems, closing("access."+field, tooManyAddresses))
		}
		return list
	}
	if list := read("allow", a.Allow); len(a.Allow) > 0 {
		if p.Restricted {
			list = intersection(p.Allow, list)
		}
		p.Restricted, p.Allow = true, list
	}
	p.Deny = append(p.Deny, read("deny", a.Deny)...)
	return problems
}

var tooManyAddresses = fmt.Sprintf("holds more than %d addresses", maxAllow)

func notAddress(item string) string { return fmt.Sprintf("%q is not an IP address or CIDR", item) }

// parsePrefix reads an address or CIDR. IPv4 written as IPv6 is neither: no client
// has such an address.
func parsePrefix(text string) (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, false
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	return prefix.Masked(), !prefix.Addr().Is4In6()
}

// items splits a list of addresses at white space and commas.
func items(v string) []string {
	return strings.FieldsFunc(v, func(c rune) bool { return c == ',' || strings.ContainsRune(" \t\r\n\f\v", c) })
}

// setDeny reads fairlead.dev/deny. An item that cannot be read closes, because it is
// not known who was meant.
func setDeny(s *Spec, v string) error {
	var list []v1alpha1.CIDR
	for _, item := range items(v) {
		if _, ok := parsePrefix(item); !ok {
			return errors.New(notAddress(item))
		}
		list = append(list, v1alpha1.CIDR(item))
	}
	switch {
	case len(list) == 0:
		return errors.New("holds no IP address or CIDR; remove it to refuse no client")
	case len(list) > maxAllow:
		return errors.New(tooManyAddresses)
	}
	s.access().Deny = list
	return nil
}

// setAllow reads fairlead.dev/allow. As in ip_allowlist, what cannot be read admits
// nobody, and a list of nothing else closes.
func (s *Spec) setAllow(annotations map[string]string) *Problem {
	v, set := annotations[AnnotationAllow]
	if !set {
		return nil
	}
	all := items(v)
	if len(all) == 0 {
		return &Problem{Key: AnnotationAllow, Severity: api.SeverityWarning, Reason: api.ReasonAnnotationIgnored, Message: "is empty", Effect: "all clients are admitted"}
	}
	list, bad, err := Allowlist(strings.Join(all, " "))
	if err != nil {
		p := closing(AnnotationAllow, err.Error())
		return &p
	}
	for _, p := range list {
		s.access().Allow = append(s.access().Allow, v1alpha1.CIDR(p.String()))
	}
	return admitsNobody(AnnotationAllow, bad)
}

// access is the group that annotations fill.
func (s *Spec) access() *v1alpha1.Access {
	if s.Groups.Access == nil {
		s.Groups.Access = &v1alpha1.Access{}
	}
	return s.Groups.Access
}
