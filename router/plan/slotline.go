package plan

import (
	"cmp"
	"maps"
	"slices"
)

// SlotLine is a certificate that a port of Gateways shows. Each port has a list of its own,
// and each line a copy of the certificate of its own, whose ID stands for the terms, too.
type SlotLine struct {
	// Slot is the port of the router's pod.
	Slot   int
	CertID string
}

// SlotTerms say to which clients a port shows a certificate, and what it asks them for.
type SlotTerms struct {
	// Names are those that clients ask for, with blanks between them.
	Names string
	// CA names the authorities of clients, whose certificates are required. Empty asks for
	// none.
	CA string
	// LetsAllIn asks for a certificate, and lets in clients whatever they show.
	LetsAllIn bool
	// ALPN names the protocols that clients may agree on, with commas between them. Empty is what
	// the port has.
	ALPN string
}

// asks is what is asked of clients.
func (t SlotTerms) asks() SlotTerms { return SlotTerms{CA: t.CA, LetsAllIn: t.LetsAllIn} }

// slotLines adds the lines that are new. What they replace answers until it goes, after
// the keys of its listener: oldSlotLines. Only a line that asks clients for something else
// than its port does now goes at once, before the mark of what is asked (MapListeners): so
// no connection that begins under the new mark is let in by the old line.
func (d *differ) slotLines(scope *Scope) {
	all := sortedSlotLines(scope.SlotLines)
	for _, l := range all {
		terms, wanted := d.want.SlotLines[l]
		have, there := d.live.SlotLines[l]
		switch {
		case wanted && there && have != terms: // another program's
			d.add(SlotLineDel{l}, SlotLineAdd{l, terms})
		case wanted && !there:
			d.add(SlotLineAdd{l, terms})
		}
	}
	for _, l := range all {
		if d.outdated(l, all) {
			d.add(SlotLineDel{l})
		}
	}
}

// outdated reports whether a line goes, and its port asks clients for something else now.
func (d *differ) outdated(l SlotLine, all []SlotLine) bool {
	have, there := d.live.SlotLines[l]
	if _, wanted := d.want.SlotLines[l]; !there || wanted {
		return false
	}
	return slices.ContainsFunc(all, func(o SlotLine) bool {
		terms, wanted := d.want.SlotLines[o]
		return wanted && o.Slot == l.Slot && terms.asks() != have.asks()
	})
}

func (d *differ) oldSlotLines(scope *Scope) {
	all := sortedSlotLines(scope.SlotLines)
	for _, l := range all {
		_, wanted := d.want.SlotLines[l]
		if _, there := d.live.SlotLines[l]; there && !wanted && !d.outdated(l, all) {
			d.add(SlotLineDel{l})
		}
	}
}

func sortedSlotLines[V any](m map[SlotLine]V) []SlotLine {
	return slices.SortedFunc(maps.Keys(m), func(a, b SlotLine) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.CertID, b.CertID))
	})
}
