package speaker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/l2"
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

// announce hands the announcer all addresses that this node owns, and those
// that it leaves to another.
func (s *Speaker) announce() {
	claims := map[netip.Addr]l2.Claim{}
	rows := make([]Row, 0, len(s.services))
	owned := map[types.NamespacedName]owned{}
	s.metrics.announced.Reset()
	for name, v := range s.services {
		row := Row{Service: name.String(), Addresses: v.addrs, Decision: v.decision, Waits: v.waits, BGP: s.bgp.decision(name)}
		if v.decision.Announce {
			row.Since = &v.since
		}
		rows = append(rows, row)
		switch {
		case v.decision.Announce && !v.waits:
			for _, addr := range v.addrs {
				claims[addr] = merge(claims, addr, v.decision.Interfaces)
				s.metrics.announced.WithLabelValues(name.String(), "layer2", s.opts.NodeName, addr.String()).Set(1)
			}
			owned[name] = newOwned(v)
		case v.decision.Reason == election.NotOwner || v.waits:
			// Another takes it over, or still has it; until that is seen, this
			// node goes on if it announced it before.
			for _, addr := range v.addrs {
				if _, shared := claims[addr]; !shared {
					claims[addr] = l2.Claim{Yield: true}
				}
			}
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Service, b.Service) })
	s.table.Store(&rows)
	s.opts.Announcer.Announce(claims)
	s.status.own(owned)
	s.bgp.announce()
}

// merge is for Services that share an address: it is announced wherever one of
// them is.
func merge(claims map[netip.Addr]l2.Claim, addr netip.Addr, interfaces []string) l2.Claim {
	old, known := claims[addr]
	switch {
	case !known || old.Yield:
		return l2.Claim{Interfaces: interfaces}
	case old.Interfaces == nil || interfaces == nil:
		return l2.Claim{}
	}
	all := slices.Concat(old.Interfaces, interfaces)
	slices.Sort(all)
	return l2.Claim{Interfaces: slices.Compact(all)}
}

// ServeHTTP shows, as JSON, what this node decided about each address and why.
// With ?ip=ADDRESS it shows that address only.
func (s *Speaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var rows []Row
	if table := s.table.Load(); table != nil {
		rows = slices.Clone(*table)
	}
	if want := r.URL.Query().Get("ip"); want != "" {
		addr, err := netip.ParseAddr(want)
		if err != nil {
			http.Error(w, fmt.Sprintf("%q is not an address", want), http.StatusBadRequest)
			return
		}
		rows = slices.DeleteFunc(rows, func(row Row) bool { return !slices.Contains(row.Addresses, addr) })
	}
	s.dates(r.Context(), rows)
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		s.log.Debug("debug page", "error", err)
	}
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

func compareNames(a, b string) int { return strings.Compare(a, b) }

// short cuts a message to what an event can hold.
func short(s string) string {
	const limit = 900
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// gauges are the speaker's metrics. The label service has as many values as
// the node announces Services.
type gauges struct {
	announced     *prometheus.GaugeVec
	memberCount   prometheus.Gauge
	loaded, stale prometheus.Gauge
}

func newGauges(reg prometheus.Registerer) (*gauges, error) {
	g := &gauges{
		announced: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "metallb_speaker_announced", Help: "Addresses that this node announces.",
		},
			[]string{"service", "protocol", "node", "ip"}),
		memberCount: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lbprovider_liveness_members", Help: "Speakers that this one can reach, itself included.",
		}),
		loaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metallb_k8s_client_config_loaded_bool", Help: "1 if a configuration was loaded.",
		}),
		stale: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "metallb_k8s_client_config_stale_bool", Help: "1 if some object is not used as it is written.",
		}),
	}
	for _, c := range []prometheus.Collector{g.announced, g.memberCount, g.loaded, g.stale} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register metric: %w", err)
		}
	}
	return g, nil
}

func (g *gauges) members(n int) { g.memberCount.Set(float64(n)) }

func (g *gauges) config(stale bool) {
	g.loaded.Set(1)
	g.stale.Set(0)
	if stale {
		g.stale.Set(1)
	}
}
