package snapshot

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fairlead/fairlead/api/terminal"
)

// What a worker reads for a policy from another server.
const (
	// KindIssuer is what an OpenID provider says of itself, and its keys.
	KindIssuer = "Issuer"
	// KindKeys is a set of keys for tokens.
	KindKeys = "Keys"
	// KindAuthServer is the answer of an auth server to a question about a request.
	KindAuthServer = "AuthServer"
)

// Trouble says that a worker cannot read something that a policy needs.
type Trouble struct {
	// Kind is KindIssuer, KindKeys or KindAuthServer.
	Kind string `json:"kind"`
	// Place is which one of the policy's issuers of tokens it is about.
	Place int `json:"place,omitempty"`
	// Address is what cannot be read, and Cause why; in printable text.
	Address string `json:"address"`
	Cause   string `json:"cause"`
	// Until is until when the last good version serves, as Unix time in seconds; 0 if there is
	// none, so that requests are refused.
	Until int64 `json:"until,omitempty"`
}

// Bounds of what is reported.
const (
	// MaxTroubles is how many a worker reports, and MaxTroublesEach how many of a policy.
	MaxTroubles     = 1000
	MaxTroublesEach = 12
	maxAddress      = 256
	maxCause        = 160
)

// Clean returns a trouble in which nothing is left that an issuer, or whatever speaks in a
// worker's place, could do harm by; false if it says nothing.
func (t Trouble) Clean() (Trouble, bool) {
	t.Address, t.Cause = terminal.Excerpt(t.Address, maxAddress), terminal.Excerpt(t.Cause, maxCause)
	good := (t.Kind == KindIssuer || t.Kind == KindKeys || t.Kind == KindAuthServer) && t.Place >= 0 && t.Place < MaxTroublesEach && t.Address != "" && t.Until >= 0 && t.Until < 1<<35
	return t, good
}

// worse orders troubles with the same thing: first those that refuse requests, or will do so
// first.
func worse(a, b Trouble) int {
	return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Address, b.Address))
}

// Worst joins what several workers say about a policy: of each thing, the worst.
func Worst(lists ...[]Trouble) []Trouble {
	all := slices.SortedFunc(slices.Values(slices.Concat(lists...)), func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Place, b.Place), worse(a, b))
	})
	all = slices.CompactFunc(all, func(a, b Trouble) bool { return a.Kind == b.Kind && a.Place == b.Place })
	return all[:min(len(all), MaxTroublesEach)]
}

// Troubles are those of policies, by ID.
type Troubles map[string][]Trouble

// Equal reports whether two say the same.
func (t Troubles) Equal(o Troubles) bool { return maps.EqualFunc(t, o, slices.Equal) }

// Fair keeps at most MaxTroubles of them, in equal shares for namespaces.
func (t Troubles) Fair(namespace func(id string) string) Troubles {
	total := 0
	for _, list := range t {
		total += len(list)
	}
	if total <= MaxTroubles {
		return t
	}
	type turn struct {
		nth           int
		namespace, id string
	}
	count := map[string]int{}
	var turns []turn
	for _, id := range slices.Sorted(maps.Keys(t)) {
		n := namespace(id)
		turns = append(turns, turn{count[n], n, id})
		count[n]++
	}
	slices.SortFunc(turns, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.id, b.id))
	})
	kept, left := Troubles{}, MaxTroubles
	for _, one := range turns {
		if left -= len(t[one.id]); left < 0 {
			break
		}
		kept[one.id] = t[one.id]
	}
	return kept
}
