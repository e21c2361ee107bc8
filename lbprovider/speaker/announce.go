package speaker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/election"
	"github.com/fairlead/fairlead/lbprovider/l2"
)

// Row is one line of the debug table: a Service's address and what this node
// decided about it.
type Row struct {
	Service   string            `json:"service"`
	Addresses []netip.Addr      `json:"addresses"`
	Decision  election.Decision `json:"decision"`
}

// announce hands the announcer all addresses that this node owns.
func (s *Speaker) announce() {
	claims := map[netip.Addr]l2.Claim{}
	rows := make([]Row, 0, len(s.services))
	s.metrics.announced.Reset()
	for name, v := range s.services {
		rows = append(rows, Row{Service: name.String(), Addresses: v.addrs, Decision: v.decision})
		if !v.decision.Announce {
			continue
		}
		for _, addr := range v.addrs {
			claims[addr] = merge(claims, addr, v.decision.Interfaces)
			s.metrics.announced.WithLabelValues(name.String(), "layer2", s.opts.NodeName, addr.String()).Set(1)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Service, b.Service) })
	s.table.Store(&rows)
	s.opts.Announcer.Announce(claims)
}

// merge is for Services that share an address: it is announced wherever one of
// them is.
func merge(claims map[netip.Addr]l2.Claim, addr netip.Addr, interfaces []string) l2.Claim {
	old, known := claims[addr]
	switch {
	case !known:
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
		rows = *table
	}
	if want := r.URL.Query().Get("ip"); want != "" {
		addr, err := netip.ParseAddr(want)
		if err != nil {
			http.Error(w, fmt.Sprintf("%q is not an address", want), http.StatusBadRequest)
			return
		}
		rows = slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return !slices.Contains(row.Addresses, addr) })
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(rows); err != nil {
		s.log.Debug("debug page", "error", err)
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
