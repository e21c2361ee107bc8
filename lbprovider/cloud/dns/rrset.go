package dns

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// TypeTXT is the type of the records that say who owns a name.
const TypeTXT hook.RecordType = "TXT"

// RRSet is everything of one name and type.
type RRSet struct {
	// Name is lower case, ends with a dot and has no escapes.
	Name string
	Type hook.RecordType
	// TTL is in seconds; aliases have none.
	TTL int64
	// Values are addresses, one host name with a dot at its end, or texts
	// without quotes.
	Values []string
	// Alias is the target of an alias record, nil for others.
	Alias *Alias
}

// Alias is a target within the DNS provider's own cloud (Route 53 API,
// AliasTarget).
type Alias struct {
	// Zone is the id of the zone that the target lies in.
	Zone string
	// Target is a host name with a dot at its end.
	Target string
}

// Equal reports whether two sets answer alike. The order of values does not
// matter.
func (s RRSet) Equal(o RRSet) bool {
	switch {
	case s.Name != o.Name || s.Type != o.Type || (s.Alias == nil) != (o.Alias == nil):
		return false
	case s.Alias != nil:
		return s.Alias.Zone == o.Alias.Zone && SameAlias(s.Alias.Target, o.Alias.Target)
	}
	return s.TTL == o.TTL && sameValues(s.Values, o.Values)
}

// SameTarget reports whether two sets lead to the same place, whatever their TTL.
func (s RRSet) SameTarget(o RRSet) bool {
	o.TTL = s.TTL
	return s.Equal(o)
}

func sameValues(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// aliasName drops what Route 53 puts before the names of load balancers.
func aliasName(target string) string {
	return strings.TrimPrefix(Name(target), "dualstack.")
}

// SameAlias reports whether two names are one load balancer's.
func SameAlias(a, b string) bool { return aliasName(a) == aliasName(b) }

// Name returns a name as RRSet has it: lower case, with a dot at its end, and
// with escapes such as \052 resolved (RFC 1035, section 5.1).
func Name(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			// Three digits: Route 53 writes octal, master files decimal. Of the
			// characters that host names have, only "*" is ever escaped.
			switch s[i+1 : i+4] {
			case "052", "042":
				b.WriteByte('*')
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	name := strings.ToLower(b.String())
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	return name
}

// Within reports whether a name is a zone's or lies below it. Both are names
// as Name returns them.
func Within(name, zone string) bool {
	return zone == "." || name == zone || strings.HasSuffix(name, "."+zone)
}

// Sets returns what a Record asks for, without ownership and without aliases.
func Sets(r *hook.Record) []RRSet {
	set := RRSet{Name: Name(r.Name), Type: r.Type, TTL: r.TTL, Values: slices.Clone(r.Targets)}
	if r.Type == hook.RecordCNAME {
		for i, v := range set.Values {
			set.Values[i] = Name(v)
		}
	}
	return []RRSet{set}
}

// Unquote returns a TXT value as it is meant: the strings in quotes joined
// (RFC 1035, section 5.1), or the text itself if it has none.
func Unquote(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	var b strings.Builder
	for rest := strings.TrimSpace(s); rest != ""; rest = strings.TrimSpace(rest) {
		prefix, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return s
		}
		text, err := strconv.Unquote(prefix)
		if err != nil {
			return s
		}
		b.WriteString(text)
		rest = rest[len(prefix):]
	}
	return b.String()
}
