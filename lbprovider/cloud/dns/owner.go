package dns

import (
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// wildcard stands for "*" in the names of owner records, because some DNS
// services have no wildcards in the middle of a name.
const wildcard = "wild"

// OwnerName returns the name of the TXT record that says who owns a set:
// "a-wild.apps.example.com." for A records of "*.apps.example.com.". As
// external-dns does it, an alias of type A counts as a CNAME.
func OwnerName(s RRSet) string {
	kind := strings.ToLower(string(s.Type))
	if s.Alias != nil && s.Type == hook.RecordA {
		kind = "cname"
	}
	first, rest, _ := strings.Cut(s.Name, ".")
	if first == "*" {
		first = wildcard
	}
	return kind + "-" + first + "." + rest
}

// OwnerText returns the text of an owner record.
func OwnerText(r *hook.Record) string {
	return "heritage=external-dns,external-dns/owner=" + r.Owner + ",external-dns/resource=" + r.Resource
}

// Owner returns the record that says that r owns a set.
func Owner(s RRSet, r *hook.Record) RRSet {
	return RRSet{Name: OwnerName(s), Type: TypeTXT, TTL: ownerTTL, Values: []string{OwnerText(r)}}
}

// ownerTTL is in seconds. Nobody asks for owner records but us, who ask the
// zone itself.
const ownerTTL = 300

// ownerSets returns the owner records of a set that the zone has.
func ownerSets(have []RRSet, s RRSet) []RRSet {
	var found []RRSet
	for _, h := range have {
		if h.Type == TypeTXT && h.Name == OwnerName(s) && slices.ContainsFunc(h.Values, isOwnerText) {
			found = append(found, h)
		}
	}
	return found
}

func isOwnerText(text string) bool {
	return strings.HasPrefix(text, "heritage=")
}

// owned reports whether an owner record beside a set has our owner id.
func owned(have []RRSet, s RRSet, owner string) bool {
	return said(have, s, "external-dns/owner="+owner)
}

// madeBy reports whether an owner record beside a set says that it was made of
// the same object as r.
func madeBy(have []RRSet, s RRSet, r *hook.Record) bool {
	return owned(have, s, r.Owner) && said(have, s, "external-dns/resource="+r.Resource)
}

func said(have []RRSet, s RRSet, what string) bool {
	for _, o := range ownerSets(have, s) {
		for _, text := range o.Values {
			if slices.Contains(strings.Split(text, ","), what) {
				return true
			}
		}
	}
	return false
}
