package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Network is what a cluster says about addresses of Services.
type Network struct {
	Addresses []Address
	Pools     []Pool
	// Notes say what could not be read.
	Notes []string
}

// Address is one Service with its addresses.
type Address struct {
	Addresses []string
	// Service is "namespace/name", Pool the pool of the addresses, empty if none has them.
	Service, Pool string
	// State is one of the constants below, Why what is wrong.
	State AddressState
	Why   string
	// Announcers are the nodes that answer by ARP or NDP, as their speakers have written into
	// the status; Since is when the first of them began.
	Announcers []Announcer
	Since      *time.Time
	// Owner is the node that the rules of the election choose from the objects, and Next those
	// that follow.
	Owner    string
	Next     []string
	Excluded []Excluded
	BGP      []Session
}

// Announcer is a node that answers for an address.
type Announcer struct {
	Node       string
	Interfaces []string
}

// Excluded is a node that may not announce an address.
type Excluded struct{ Node, Why string }

// Session is one by which a node announces by BGP.
type Session struct {
	Node, Peer string
	// State is BGP's, such as "Established", BFD that of the session that watches it.
	State, BFD string
	Since      *time.Time
	Error      string
}

// Pool is how many addresses of a pool are in use.
type Pool struct {
	Name        string
	Used, Total int64
}

// AddressState is whether a node announces an address.
type AddressState string

// The states, the worst first.
const (
	NotAnnounced AddressState = "not-announced"
	// Doubtful addresses are announced, but not as the objects say that they should be.
	Doubtful  AddressState = "doubtful"
	Announced AddressState = "announced"
)

// networkPage is the list of addresses.
type networkPage struct {
	Query string
	// Cluster is false if there is none, whose addresses could be shown.
	Cluster        bool
	Problem, Age   string
	Known          bool
	Counts         []certCount
	Items          []Address
	Window         window
	Previous, Next string
	Pools          bounded[Pool]
	Notes          []string
}

// network shows the addresses of the cluster.
func (v *visit) network() answer {
	data := networkPage{Query: v.values.Get("q"), Cluster: v.options.Cluster}
	a := answer{name: "addresses", title: "Addresses"}
	if !data.Cluster {
		a.data = data
		return a
	}
	a.line = Line{Command: "lb", Flags: []string{"--objects-only"}}
	k := v.addresses()
	data.Problem, data.Age = problemText(k.err), ageText(k.age)
	if k.value != nil {
		data.Known = true
		data.fill(k.value, v.values.Get("page"))
	}
	a.data = data
	return a
}

// fill takes in what is searched for.
func (d *networkPage) fill(n *Network, page string) {
	counts := map[string]int{}
	var chosen []Address
	words := strings.Fields(strings.ToLower(d.Query[:min(len(d.Query), queryBytes)]))
	for i := range n.Addresses {
		counts[string(n.Addresses[i].State)]++
		if n.Addresses[i].matches(words) {
			chosen = append(chosen, n.Addresses[i])
		}
	}
	for _, state := range sortedNames(counts) {
		d.Counts = append(d.Counts, certCount{state, counts[state], "?" + url.Values{"q": {state}}.Encode()})
	}
	d.Window, d.Previous, d.Next = pagesOf(len(chosen), page, func(n int) string { return pageQuery(d.Query, n) })
	d.Items = part(chosen, d.Window)
	d.Pools, d.Notes = boundedList(n.Pools), first(n.Notes, notesShown)
}

// matches reports whether all words are in what the line shows. The name of a state is a word
// of its own: "announced" is a part of "not-announced".
func (a *Address) matches(words []string) bool {
	all := append([]string{a.Service, a.Pool, a.Owner, a.Why}, a.Addresses...)
	for _, n := range a.Announcers {
		all = append(all, n.Node)
	}
	for _, s := range a.BGP {
		all = append(all, s.Node, s.Peer)
	}
	text := strings.ToLower(strings.Join(all, " "))
	return !slices.ContainsFunc(words, func(w string) bool {
		if slices.Contains([]AddressState{NotAnnounced, Doubtful, Announced}, AddressState(w)) {
			return AddressState(w) != a.State
		}
		return !strings.Contains(text, w)
	})
}

// Parts are a number from 0 to 100 for a bar.
func (p Pool) Parts() int64 {
	if p.Total <= 0 {
		return 0
	}
	return min(100, 100*p.Used/p.Total)
}

// pagesOf is a part of a list, with the queries of the parts before and after it.
func pagesOf(total int, page string, query func(int) string) (w window, previous, next string) {
	n, err := strconv.Atoi(page)
	if err != nil {
		n = 1
	}
	w = windowOf(total, max(1, n))
	if w.Page > 1 {
		previous = query(w.Page - 1)
	}
	if w.Page < w.Pages {
		next = query(w.Page + 1)
	}
	return w, previous, next
}

func pageQuery(q string, page int) string {
	v := url.Values{}
	if q != "" {
		v.Set("q", q)
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return "?" + v.Encode()
}

// readNetwork reads addresses, and puts the worst first.
func (p *pages) readNetwork(ctx context.Context, _ *Network) (*Network, error) {
	n, err := p.options.Source.Network(ctx)
	if err != nil {
		return nil, err
	}
	order := []AddressState{NotAnnounced, Doubtful, Announced}
	slices.SortStableFunc(n.Addresses, func(a, b Address) int {
		return cmp.Compare(slices.Index(order, a.State), slices.Index(order, b.State))
	})
	return n, nil
}
