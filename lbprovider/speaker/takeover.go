package speaker

import (
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead/fairlead/lbprovider/l2"
)

// takeovers counts how often this node took addresses over from others. Only
// addresses that moved are kept, and only while they are a Service's.
type takeovers struct {
	mu     sync.Mutex // guards what follows
	counts map[netip.Addr]uint64
	// pending are addresses that this node is to announce in another's place, and
	// when that one was found dead (zero: it was not).
	pending map[netip.Addr]time.Time
}

func newTakeovers() *takeovers {
	return &takeovers{counts: map[netip.Addr]uint64{}, pending: map[netip.Addr]time.Time{}}
}

// expect notes that this node comes in the place of another, which was found
// dead then, or is alive (zero).
func (t *takeovers) expect(addrs []netip.Addr, dead time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, addr := range addrs {
		t.pending[addr] = dead
	}
}

// cancel notes that another node is to announce after all.
func (t *takeovers) cancel(addrs []netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, addr := range addrs {
		delete(t.pending, addr)
	}
}

// begin counts the takeover of an address that is announced from now on.
func (t *takeovers) begin(addr netip.Addr, claim *l2.Claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dead, moved := t.pending[addr]
	if !moved {
		return
	}
	delete(t.pending, addr)
	t.counts[addr]++
	claim.OwnerDiedAt = dead
}

// forget drops addresses that no Service has any more.
func (t *takeovers) forget(addrs []netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, addr := range addrs {
		delete(t.pending, addr)
		delete(t.counts, addr)
	}
}

// ownerChanges is the metric of a speaker's takeovers.
type ownerChanges struct {
	takeovers *takeovers
	desc      *prometheus.Desc
}

func newOwnerChanges(t *takeovers) *ownerChanges {
	return &ownerChanges{takeovers: t, desc: prometheus.NewDesc("fairlead_lb_l2_owner_changes_total",
		"How often this node took an address over from another one.", []string{"ip"}, nil)}
}

// Describe implements prometheus.Collector.
func (o *ownerChanges) Describe(out chan<- *prometheus.Desc) { out <- o.desc }

// Collect implements prometheus.Collector.
func (o *ownerChanges) Collect(out chan<- prometheus.Metric) {
	o.takeovers.mu.Lock()
	defer o.takeovers.mu.Unlock()
	for addr, n := range o.takeovers.counts {
		out <- prometheus.MustNewConstMetric(o.desc, prometheus.CounterValue, float64(n), addr.String())
	}
}
