package stack

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func parseBool(v string) (bool, error) {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return false, errors.New("must be true or false")
	}
	return b, nil
}

func parseNumber(v string, lo, hi int) (int32, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
	if err != nil || int(n) < lo || int(n) > hi {
		return 0, fmt.Errorf("must be a whole number from %d to %d", lo, hi)
	}
	return int32(n), nil
}

// parseList reads a list with commas; empty items count for nothing.
func parseList(v string) []string {
	var list []string
	for item := range strings.SplitSeq(v, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// parseMap reads k=v,k=v. A comma inside of a value is written \,.
func parseMap(v string) (map[string]string, error) {
	all := map[string]string{}
	var item strings.Builder
	finish := func() error {
		text := strings.TrimSpace(item.String())
		item.Reset()
		if text == "" {
			return nil
		}
		key, value, found := strings.Cut(text, "=")
		if key = strings.TrimSpace(key); !found || key == "" {
			return fmt.Errorf("must be a list such as key=value,key=value; %q is not key=value", text)
		}
		all[key] = strings.TrimSpace(value)
		return nil
	}
	for i := 0; i < len(v); i++ {
		switch {
		case v[i] == '\\' && i+1 < len(v) && v[i+1] == ',':
			i++
			item.WriteByte(',')
		case v[i] == ',':
			if err := finish(); err != nil {
				return nil, err
			}
		default:
			item.WriteByte(v[i])
		}
	}
	return all, finish()
}

func oneOf(v string, allowed ...string) error {
	if !slices.Contains(allowed, v) {
		return fmt.Errorf("must be %s", strings.Join(allowed, " or "))
	}
	return nil
}

var (
	balancerNames  = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$`)
	certificateARN = regexp.MustCompile(`^arn:aws[a-z0-9-]*:(acm|iam):[a-z0-9-]*:[0-9]*:(certificate|server-certificate)/.+$`)
	aclARN         = regexp.MustCompile(`^arn:aws[a-z0-9-]*:wafv2:[a-z0-9-]*:[0-9]*:regional/webacl/.+$`)
	securityGroup  = regexp.MustCompile(`^sg-[0-9a-zA-Z]+$`)
	allocation     = regexp.MustCompile(`^eipalloc-[0-9a-zA-Z]+$`)
	prefixList     = regexp.MustCompile(`^pl-[0-9a-zA-Z]+$`)
	policyNames    = regexp.MustCompile(`^ELBSecurityPolicy-[a-zA-Z0-9-]+$`)
	bucketName     = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	codes          = regexp.MustCompile(`^[2-5][0-9]{2}(-[2-5][0-9]{2})?(,[2-5][0-9]{2}(-[2-5][0-9]{2})?)*$`)
)

// matching reads a list whose items all have a form.
func matching(v string, form *regexp.Regexp, what string) ([]string, error) {
	list := parseList(v)
	if len(list) == 0 {
		return nil, fmt.Errorf("must name at least one %s", what)
	}
	for i, item := range list {
		if !form.MatchString(item) {
			return nil, fmt.Errorf("%q is not %s", item, what)
		}
		if slices.Contains(list[:i], item) {
			return nil, fmt.Errorf("%q is there twice", item)
		}
	}
	return list, nil
}

func parseAddresses(v string) ([]string, error) {
	list := parseList(v)
	for _, item := range list {
		if addr, err := netip.ParseAddr(item); err != nil || !addr.Is4() {
			return nil, fmt.Errorf("%q is not an IPv4 address", item)
		}
	}
	return list, nil
}

// ParseRange reads a CIDR for a security group.
func parseRange(v string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(strings.TrimSpace(v))
	if err != nil {
		return p, errors.New("is no CIDR, such as 198.18.0.0/16")
	}
	return p.Masked(), nil
}

// ParseTags reads key=value,… as the annotation for tags has it.
func ParseTags(v string) (map[string]string, error) { return parseMap(v) }
