package dns

import (
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Blind is a change for a zone that we may write to and may not read. It says
// what must hold, and the zone itself refuses it otherwise, so that nothing of
// somebody else's is overwritten.
type Blind struct {
	// Proof are sets that must be in the zone just so, and stay.
	Proof []RRSet
	// Absent are sets of whose name and type there must be none.
	Absent []RRSet
	// Put are sets to be there afterwards, whatever was of their name and type.
	Put []RRSet
}

// EnsureBlind returns what to try, one after the other, until the zone accepts
// one. If it accepts none, the name is not ours. What proves that it is, is our
// own owner record, which nobody else writes.
func EnsureBlind(wanted []RRSet, r *hook.Record) []Blind {
	owners := make([]RRSet, 0, len(wanted))
	for _, w := range wanted {
		owners = append(owners, Owner(w, r))
	}
	if r.Adopt {
		return []Blind{{Put: slices.Concat(wanted, owners)}}
	}
	var clashes []RRSet
	for _, w := range wanted {
		for _, t := range Clashes(w.Type) {
			if !slices.ContainsFunc(clashes, func(c RRSet) bool { return c.Type == t }) {
				clashes = append(clashes, RRSet{Name: w.Name, Type: t})
			}
		}
	}
	var tries []Blind
	// Each set may be ours already, or new: first all ours, in the end all new.
	for ours := 1<<len(wanted) - 1; ours >= 0; ours-- {
		b := Blind{Put: slices.Clone(wanted), Absent: slices.Clone(clashes)}
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

// Unreadable is the error where a zone accepts nothing of EnsureBlind.
func Unreadable(r *hook.Record, right string) error {
	return &hook.Error{
		Class: hook.ClassConflict,
		Message: "a record of " + Name(r.Name) + " exists that is not known to be ours, and the operator may not read it: give it the right " + right +
			", remove the record, or annotate the DNSRecord with " + api.AnnotationAdoptDNSRecord + "=true to write over it",
	}
}
