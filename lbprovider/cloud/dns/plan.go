// Package dns decides what is to be written to a DNS zone, so that a Record
// exists and records of other owners are not touched. It is pure; rfc2136,
// route53 and externaldnsprovider read and write the zones.
//
// Who owns a name stands beside it in a TXT record of the form that
// external-dns uses, so that an external-dns with another owner id leaves our
// records alone, and we leave its.
package dns

import (
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Change is what is to be written, all of it at once or nothing.
type Change struct {
	// Delete are sets exactly as they are in the zone.
	Delete []RRSet
	// Create are sets of a name and type that the zone does not have.
	Create []RRSet
	// Update are sets of a name and type that the zone has.
	Update []RRSet
}

// Empty reports whether there is nothing to write.
func (c Change) Empty() bool { return len(c.Delete)+len(c.Create)+len(c.Update) == 0 }

// types are those that a load balancer's name can have.
func types() []hook.RecordType {
	return []hook.RecordType{hook.RecordA, hook.RecordAAAA, hook.RecordCNAME}
}

// Ensure returns what makes the zone have the wanted sets. The sets of all
// Names(r) that the zone has are in have. Records of the name that are not ours
// are an error of class Conflict.
func (g Registry) Ensure(have, wanted []RRSet, r *hook.Record) (Change, error) {
	var c Change
	name := Name(r.Name)
	for _, old := range at(have, name) {
		i := slices.IndexFunc(wanted, func(w RRSet) bool { return w.Type == old.Type })
		switch {
		case i >= 0 && (g.owned(have, old, r.Owner) || r.Adopt || old.SameTarget(wanted[i])):
			if g.OwnerName(old) != g.OwnerName(wanted[i]) {
				c.Delete = append(c.Delete, g.ownerSets(have, old)...)
			}
		case i < 0 && !clash(old, wanted) && !g.madeBy(have, old, r):
			// The other address family has a record of its own.
		case i < 0 && (g.None || r.Adopt || g.madeBy(have, old, r)):
			c.Delete = append(c.Delete, old)
			c.Delete = append(c.Delete, g.ownerSets(have, old)...)
		default:
			return Change{}, g.foreign(have, old)
		}
	}
	for _, w := range wanted {
		c.put(have, w)
		if !g.None {
			c.put(have, g.Owner(w, r))
		}
	}
	return c, nil
}

// put adds a wanted set to the change, if it is not there already.
func (c *Change) put(have []RRSet, wanted RRSet) {
	i := slices.IndexFunc(have, func(h RRSet) bool { return h.Name == wanted.Name && h.Type == wanted.Type })
	switch {
	case i < 0:
		c.Create = append(c.Create, wanted)
	case !have[i].Equal(wanted):
		c.Update = append(c.Update, wanted)
	}
	// An owner record that is to be deleted and written is written only.
	c.Delete = slices.DeleteFunc(c.Delete, func(d RRSet) bool { return d.Name == wanted.Name && d.Type == wanted.Type })
}

// Remove returns what takes a Record out of the zone: the sets that it made,
// and those without an owner that lead where it says.
func (g Registry) Remove(have, wanted []RRSet, r *hook.Record) Change {
	var c Change
	for _, old := range at(have, Name(r.Name)) {
		unowned := len(g.ownerSets(have, old)) == 0
		same := slices.ContainsFunc(wanted, old.SameTarget)
		if g.madeBy(have, old, r) || unowned && same {
			c.Delete = append(c.Delete, old)
			c.Delete = append(c.Delete, g.ownerSets(have, old)...)
		}
	}
	return c
}

// at returns the address sets of a name.
func at(have []RRSet, name string) []RRSet {
	var found []RRSet
	for _, s := range have {
		if s.Name == name && slices.Contains(types(), s.Type) {
			found = append(found, s)
		}
	}
	return found
}

// Clashes returns the types that cannot stand beside one: a CNAME stands alone
// (RFC 1034, section 3.6.2).
func Clashes(t hook.RecordType) []hook.RecordType {
	switch t {
	case hook.RecordCNAME:
		return []hook.RecordType{hook.RecordA, hook.RecordAAAA}
	case hook.RecordA, hook.RecordAAAA:
		return []hook.RecordType{hook.RecordCNAME}
	}
	return nil
}

// clash reports whether a set cannot stand beside the wanted ones.
func clash(old RRSet, wanted []RRSet) bool {
	return slices.ContainsFunc(wanted, func(w RRSet) bool { return slices.Contains(Clashes(w.Type), old.Type) })
}

func (g Registry) foreign(have []RRSet, old RRSet) error {
	where := strings.Join(old.Values, ", ")
	if old.Alias != nil {
		where = old.Alias.Target
	}
	who := "no owner record stands beside it"
	if owners := g.ownerSets(have, old); len(owners) > 0 {
		who = "its owner record says " + strings.Join(owners[0].Values, " ")
	}
	return hook.Errorf(hook.ClassConflict, "a record of another owner exists: %s %s leads to %s, and %s; remove it, or annotate the DNSRecord with %s=true",
		old.Name, old.Type, shortened(where), shortened(who), api.AnnotationAdoptDNSRecord)
}

// shortened leaves room for the rest of a message.
func shortened(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
