package speaker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/election"
)

// Row is one line of the debug table: a Service's address and what this node
// decided about it.
type Row struct {
	Service   string            `json:"service"`
	Addresses []netip.Addr      `json:"addresses"`
	Decision  election.Decision `json:"decision"`
	// BGP is nil where no BGPAdvertisement selects the pool.
	BGP *bgp.Decision `json:"bgp,omitempty"`
	// Since is when this node became the owner.
	Since *time.Time `json:"since,omitempty"`
	// Waits says that this node is the owner and does not deliver yet.
	Waits bool `json:"waits,omitempty"`
	// LastAnnounced is when this node last announced the addresses unasked.
	LastAnnounced *time.Time `json:"lastAnnounced,omitempty"`
}

// ServeHTTP shows, as JSON, what this node decided about each address and why.
// With ?ip=ADDRESS it shows that address only.
func (s *Speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var addr netip.Addr
	if want := r.URL.Query().Get("ip"); want != "" {
		var err error
		if addr, err = netip.ParseAddr(want); err != nil {
			http.Error(w, fmt.Sprintf("%q is not an address", want), http.StatusBadRequest)
			return
		}
	}
	rows := s.rows(addr)
	s.dates(r.Context(), rows)
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		s.log.Debug("debug page", "err", err)
	}
}

// rows returns the table, or of it what is about one address. What a speaker
// does not act upon is not kept with each Service, but found out again.
func (s *Speaker) rows(addr netip.Addr) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []Row
	for name, v := range s.services {
		if addr.IsValid() && !slices.Contains(v.addrs, addr) {
			continue
		}
		row := Row{Service: name.String(), Addresses: v.addrs, Waits: v.waits}
		if v.Announce {
			row.Since = &v.since
		}
		var err error
		if row.Decision, err = s.explain(name, v); err == nil {
			row.BGP, err = s.bgp.explain(name)
		}
		if err != nil {
			s.log.Debug("debug page", "service", name.String(), "err", err)
			continue // it has just gone
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Service, b.Service) })
	return rows
}

// explain returns the decision that led to the verdict.
func (s *Speaker) explain(name types.NamespacedName, v *verdict) (election.Decision, error) {
	d := election.Decision{Announce: v.Announce, Reason: v.Reason, Interfaces: v.Interfaces}
	if v.Owner == "" && v.Reason != election.NoEligibleNode {
		return d, nil
	}
	svc := s.facts.Service(name)
	if svc == nil {
		return d, fmt.Errorf("there is no service %s", name)
	}
	all := election.Decide(s.request(svc, v.addrs), s.nodes, s.opts.NodeName)
	d.Order, d.Excluded = all.Order, all.Excluded
	return d, nil
}

// dates adds to the rows when their addresses were last announced unasked.
func (s *Speaker) dates(ctx context.Context, rows []Row) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	last := s.opts.Announcer.Last(ctx)
	for i := range rows {
		for _, addr := range rows[i].Addresses {
			if at, ok := last[addr]; ok && !at.IsZero() {
				rows[i].LastAnnounced = &at
			}
		}
	}
}
