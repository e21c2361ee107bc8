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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/election"
)

// Row is one line of the debug page: a Service's addresses and what this node
// decided about them.
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

	service *corev1.Service
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
	rows := s.rows(r.Context(), addr)
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		s.log.Debug("debug page", "err", err)
	}
}

// rows returns a row for each Service, or only those with one address.
func (s *Speaker) rows(ctx context.Context, addr netip.Addr) []Row {
	known := map[types.NamespacedName][]netip.Addr{}
	for _, p := range s.protocols {
		for name, its := range p.Services() {
			if !addr.IsValid() || slices.Contains(its.Addrs, addr) {
				known[name] = its.Addrs
			}
		}
	}
	var rows []Row
	for name, addrs := range known {
		if svc := s.services.Service(name); svc != nil { // otherwise it has just gone
			rows = append(rows, Row{Service: name.String(), Addresses: addrs, service: svc})
		}
	}
	for _, p := range s.protocols {
		p.Explain(ctx, rows)
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Service, b.Service) })
	return rows
}
