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
			list = intersect(p.Allow, list)
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

// intersect returns the networks whose addresses are in both lists.
func intersect(a, b []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, 0, min(len(a), len(b)))
	seen := map[netip.Prefix]bool{}
	for _, lists := range [][2][]netip.Prefix{{a, b}, {b, a}} {
		other := newNetworks(lists[1])
		for _, p := range lists[0] {
			if !seen[p] && other.cover(p) {
				seen[p] = true
				out = append(out, p)
			}
		}
	}
	return out
}

// networks are looked up by their length: a list of thousands has few lengths.
type networks struct {
	all     map[netip.Prefix]bool
	lengths map[int]bool
}

func newNetworks(list []netip.Prefix) networks {
	n := networks{map[netip.Prefix]bool{}, map[int]bool{}}
	for _, p := range list {
		n.all[p], n.lengths[p.Bits()] = true, true
	}
	return n
}

// cover reports whether one of the networks has all addresses of another one.
func (n networks) cover(p netip.Prefix) bool {
	for bits := range n.lengths {
		if bits > p.Bits() {
			continue
		}
		if wide, err := p.Addr().Prefix(bits); err == nil && n.all[wide] {
			return true
		}
	}
	return false
}

// items splits a list of addresses at blanks and commas.
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
		return errors.New("holds no IP address or CIDR; remove it to refuse nobody")
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
		return &Problem{Key: AnnotationAllow, Severity: api.SeverityWarning, Reason: api.ReasonAnnotationIgnored, Message: "is empty", Effect: "everybody is admitted"}
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
