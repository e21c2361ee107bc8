package dns

import (
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// ConditionalChange is a change for a zone that we may write to and may not read.
// It says what must hold, and the zone itself refuses it otherwise, so that no
// record of another owner is overwritten.
type ConditionalChange struct {
	// Proof are sets that must be in the zone exactly so, and stay.
	Proof []RRSet
	// Absent are sets of whose name and type there must be none.
	Absent []RRSet
	// Drop are sets of whose name and type there are none afterwards, whatever
	// they hold. Not every zone can do that unread.
	Drop []RRSet
	// Put are sets to be there afterwards, whatever was of their name and type.
	Put []RRSet
}

// EnsureUnread returns what to try, one after the other, until the zone accepts
// one. If it accepts none, the name is not ours. Our own owner record, which no
// other program writes, proves that it is.
func (g Registry) EnsureUnread(wanted []RRSet, r *hook.Record) []ConditionalChange {
	if g.None {
		return []ConditionalChange{{Put: wanted}}
	}
	owners := make([]RRSet, 0, len(wanted))
	for _, w := range wanted {
		owners = append(owners, g.Owner(w, r))
	}
	if r.Adopt {
		return []ConditionalChange{{Put: slices.Concat(wanted, owners)}}
	}
	clashes := others(wanted)
	var tries []ConditionalChange
	// Each set may be ours already, or new: first all ours, in the end all new.
	for ours := 1<<len(wanted) - 1; ours >= 0; ours-- {
		b := ConditionalChange{Put: slices.Clone(wanted), Absent: slices.Clone(clashes)}
		for i, w := range wanted {
			if ours&(1<<i) != 0 {
				b.Proof = append(b.Proof, owners[i])
				continue
			}
			b.Absent = append(b.Absent, w, owners[i])
			b.Put = append(b.Put, owners[i])
		}
		tries = append(tries, b)
	}
	return tries
}

// ReplaceUnread returns what to try, after EnsureUnread, if a zone can Drop what
// we may not read: it replaces sets of another type, such as a CNAME by
// addresses, if an owner record says that they are ours. Where whatever is
// there may go, it is all there is to try.
func (g Registry) ReplaceUnread(wanted []RRSet, r *hook.Record) []ConditionalChange {
	put := slices.Clone(wanted)
	if !g.None {
		for _, w := range wanted {
			put = append(put, g.Owner(w, r))
		}
	}
	old := others(wanted)
	if g.None || r.Adopt {
		return []ConditionalChange{{Drop: old, Put: put}}
	}
	tries := g.EnsureUnread(wanted, r)
	for i, o := range old {
		owner := g.Owner(o, r)
		b := ConditionalChange{Proof: []RRSet{owner}, Drop: []RRSet{o, {Name: owner.Name, Type: owner.Type}}, Put: put}
		for _, w := range wanted {
			b.Absent = append(b.Absent, RRSet{Name: w.Name, Type: w.Type})
		}
		b.Absent = append(b.Absent, slices.Delete(slices.Clone(old), i, i+1)...)
		tries = append(tries, b)
	}
	return tries
}

// RemoveUnread returns what to try, all of it, to take a Record out of a zone
// that can Drop what we may not read. What fails was not there, or not ours.
func (g Registry) RemoveUnread(wanted []RRSet, r *hook.Record) []ConditionalChange {
	var tries []ConditionalChange
	for _, w := range append(slices.Clone(wanted), others(wanted)...) {
		bare := RRSet{Name: w.Name, Type: w.Type}
		if len(w.Values) > 0 {
			b := ConditionalChange{Proof: []RRSet{w}, Drop: []RRSet{bare}}
			if !g.None {
				b.Absent = []RRSet{{Name: g.OwnerName(w), Type: TypeTXT}}
			}
			tries = append(tries, b)
		}
		if !g.None {
			owner := g.Owner(w, r)
			tries = append(tries, ConditionalChange{Proof: []RRSet{owner}, Drop: []RRSet{bare, {Name: owner.Name, Type: owner.Type}}})
		}
	}
	return tries
}

// others returns the types, without content, that cannot stand beside the
// wanted sets.
func others(wanted []RRSet) []RRSet {
	var list []RRSet
	for _, w := range wanted {
		for _, t := range Clashes(w.Type) {
			if !slices.ContainsFunc(list, func(c RRSet) bool { return c.Type == t }) {
				list = append(list, RRSet{Name: w.Name, Type: t})
			}
		}
	}
	return list
}

// Unreadable is the error where a zone accepts nothing of EnsureUnread.
func Unreadable(r *hook.Record, right string) error {
	return &hook.Error{
		Class: hook.ClassConflict,
		Message: "a record of " + Name(r.Name) + " exists that is not known to be ours, and the operator may not read it: give it the right " + right +
			", remove the record, or annotate the DNSRecord with " + api.AnnotationAdoptDNSRecord + "=true to write over it",
	}
}
