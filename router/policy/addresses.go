package policy

import (
	"cmp"
	"net/netip"
	"slices"
)

// Sets of addresses are lists of prefixes. In normal form a list is sorted, and no
// prefix holds another, so two of them are compared in one pass.

// normal returns a list in normal form. It may return the list itself.
func normal(list []netip.Prefix) []netip.Prefix {
	if isNormal(list) {
		return list
	}
	sorted := make([]netip.Prefix, len(list))
	for i, p := range list {
		sorted[i] = p.Masked()
	}
	slices.SortFunc(sorted, byAddress)
	out := sorted[:0]
	for _, p := range sorted { // wider ones come first of those that begin alike
		if n := len(out); n == 0 || !out[n-1].Overlaps(p) {
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}

func isNormal(list []netip.Prefix) bool {
	for i, p := range list {
		if p != p.Masked() || i > 0 && (byAddress(list[i-1], p) >= 0 || list[i-1].Overlaps(p)) {
			return false
		}
	}
	return true
}

func byAddress(a, b netip.Prefix) int {
	return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
}

// union returns the addresses of either list.
func union(a, b []netip.Prefix) []netip.Prefix {
	switch {
	case len(a) == 0:
		return normal(b)
	case len(b) == 0:
		return normal(a)
	}
	return normal(slices.Concat(a, b))
}

// intersection returns the addresses of both lists.
func intersection(a, b []netip.Prefix) []netip.Prefix {
	a, b = normal(a), normal(b)
	var out []netip.Prefix
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Overlaps(b[0]) && a[0].Bits() >= b[0].Bits(): // a[0] is within b[0]
			out = append(out, a[0])
			a = a[1:]
		case a[0].Overlaps(b[0]):
			out = append(out, b[0])
			b = b[1:]
		case a[0].Addr().Less(b[0].Addr()):
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return out
}

// Within reports whether all addresses of one list are in another.
func Within(list, of []netip.Prefix) bool {
	list, of = normal(list), normal(of)
	for _, p := range list {
		for len(of) > 0 && !of[0].Overlaps(p) && of[0].Addr().Less(p.Addr()) {
			of = of[1:]
		}
		if len(of) == 0 || !of[0].Overlaps(p) || of[0].Bits() > p.Bits() {
			return false
		}
	}
	return true
}
