package dns

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Registry says how a zone notes who owns a name. The zero value is what
// external-dns does by default: a TXT record beside every set, named after it.
type Registry struct {
	// None is true where nothing is noted: whatever has a name is taken to be
	// ours to write over, and only what leads where a Record says is removed.
	None bool
	// Prefix and Suffix stand before and behind the first label of the TXT
	// record's name. "%{record_type}" in them stands for the type of the set,
	// which otherwise comes before the label. A Prefix that ends with a dot
	// gives the top of a zone a note inside of the zone.
	Prefix, Suffix string
	// Wildcard stands for "*", because some DNS services have no wildcards in
	// the middle of a name; the default is "wild".
	Wildcard string
}

// recordType is what external-dns writes for the type of a set in affixes.
const recordType = "%{record_type}"

// OwnerName returns the name of the TXT record that says who owns a set:
// "a-wild.apps.example.com." for A records of "*.apps.example.com.". As
// external-dns does it, an alias of type A counts as a CNAME.
func (g Registry) OwnerName(s RRSet) string {
	kind := strings.ToLower(string(s.Type))
	if s.Alias != nil && s.Type == hook.RecordA {
		kind = "cname"
	}
	first, rest, _ := strings.Cut(s.Name, ".")
	if first == "*" {
		first = cmp.Or(g.Wildcard, "wild")
	}
	if !strings.Contains(g.Prefix+g.Suffix, recordType) {
		first = kind + "-" + first
	}
	affix := func(text string) string { return strings.ReplaceAll(text, recordType, kind) }
	return strings.ToLower(affix(g.Prefix) + first + affix(g.Suffix) + "." + rest)
}

// OwnerText returns the text of an owner record.
func OwnerText(r *hook.Record) string {
	return "heritage=external-dns,external-dns/owner=" + r.Owner + ",external-dns/resource=" + r.Resource
}

// Owner returns the record that says that r owns a set.
func (g Registry) Owner(s RRSet, r *hook.Record) RRSet {
	return RRSet{Name: g.OwnerName(s), Type: TypeTXT, TTL: ownerTTL, Values: []string{OwnerText(r)}}
}

// Names returns the names whose sets Ensure and Remove need to see: the
// Record's own, and those of its owner records of any type.
func (g Registry) Names(r *hook.Record) []string {
	names := []string{Name(r.Name)}
	if g.None {
		return names
	}
	for _, t := range types() {
		if owner := g.OwnerName(RRSet{Name: names[0], Type: t}); !slices.Contains(names, owner) {
			names = append(names, owner)
		}
	}
	return names
}

// Fits returns an error if a Record, or what says that it is ours, does not lie
// in a zone.
func (g Registry) Fits(r *hook.Record, zone hook.Zone) error {
	top := Name(zone.Name)
	for _, name := range g.Names(r) {
		switch {
		case Within(name, top):
		case name == Name(r.Name):
			return hook.Errorf(hook.ClassInvalidConfig, "%s does not lie in zone %s (%s)", name, zone.Name, zone.ID)
		default:
			return hook.Errorf(hook.ClassInvalidConfig, "%s, which would say that %s is ours, does not lie in zone %s: "+
				"for the top of a zone run the operator with --dns-txt-prefix=%s-owner.", name, r.Name, zone.Name, recordType)
		}
	}
	return nil
}

// ownerTTL is in seconds. Only we ask for owner records, and we ask the
// zone itself.
const ownerTTL = 300

// ownerSets returns the owner records of a set that the zone has.
func (g Registry) ownerSets(have []RRSet, s RRSet) []RRSet {
	if g.None {
		return nil
	}
	var found []RRSet
	for _, h := range have {
		if h.Type == TypeTXT && h.Name == g.OwnerName(s) && slices.ContainsFunc(h.Values, isOwnerText) {
			found = append(found, h)
		}
	}
	return found
}

func isOwnerText(text string) bool {
	return strings.HasPrefix(text, "heritage=")
}

// owned reports whether an owner record beside a set has our owner id.
func (g Registry) owned(have []RRSet, s RRSet, owner string) bool {
	return g.None || g.said(have, s, "external-dns/owner="+owner)
}

// madeBy reports whether an owner record beside a set says that it was made of
// the same object as r.
func (g Registry) madeBy(have []RRSet, s RRSet, r *hook.Record) bool {
	return g.owned(have, s, r.Owner) && g.said(have, s, "external-dns/resource="+r.Resource)
}

func (g Registry) said(have []RRSet, s RRSet, what string) bool {
	for _, o := range g.ownerSets(have, s) {
		for _, text := range o.Values {
			if slices.Contains(strings.Split(text, ","), what) {
				return true
			}
		}
	}
	return false
}
