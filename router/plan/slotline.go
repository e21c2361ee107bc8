package plan

import (
	"cmp"
	"maps"
	"slices"
)

// SlotLine is a certificate that a port of Gateways shows. Each port has a list of its own,
// and each line a copy of the certificate of its own, whose ID stands for the names, too.
type SlotLine struct {
	// Slot is the port of the router's pod.
	Slot   int
	CertID string
}

// slotLines adds the lines that are new. What they replace answers until it goes, after
// the keys of its listener: oldSlotLines.
func (d *differ) slotLines(scope *Scope) {
	for _, l := range sortedSlotLines(scope.SlotLines) {
		names, wanted := d.want.SlotLines[l]
		have, there := d.live.SlotLines[l]
		switch {
		case wanted && there && have != names: // another program's
			d.add(SlotLineDel{l}, SlotLineAdd{l, names})
		case wanted && !there:
			d.add(SlotLineAdd{l, names})
		}
	}
}

func (d *differ) oldSlotLines(scope *Scope) {
	for _, l := range sortedSlotLines(scope.SlotLines) {
		_, wanted := d.want.SlotLines[l]
		if _, there := d.live.SlotLines[l]; there && !wanted {
			d.add(SlotLineDel{l})
		}
	}
}

func sortedSlotLines[V any](m map[SlotLine]V) []SlotLine {
	return slices.SortedFunc(maps.Keys(m), func(a, b SlotLine) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.CertID, b.CertID))
	})
}
