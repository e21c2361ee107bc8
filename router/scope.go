package router

import "github.com/fairlead/fairlead/router/plan"

// merge adds what one scope looks at to another.
func merge(into, from *plan.Scope) {
	addAll(into.Backends, from.Backends)
	addAll(into.Entries, from.Entries)
	addAll(into.Certs, from.Certs)
	addAll(into.CAs, from.CAs)
	addAll(into.Lines, from.Lines)
}

func addAll[K comparable](into, from map[K]struct{}) {
	for k := range from {
		into[k] = struct{}{}
	}
}
