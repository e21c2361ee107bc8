// Package allocator decides which address a Service gets. It is a pure state
// machine: it knows the pools and who holds what, and answers every request
// with addresses or with the reason why there are none. Equal histories give
// equal answers.
//
// The owner of an Allocator calls Converge for each Service. On start it does
// so for the Services that hold addresses first, so that no Service is renumbered.
// An Allocator is not safe for concurrent use.
package allocator

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Note is one thing to report to the user about a Service.
type Note struct {
	Reason  api.Reason
	Message string
	Warning bool
}

// Outcome is the answer to one request.
type Outcome struct {
	// Addresses is what the Service has from now on, IPv4 first; empty if nothing.
	Addresses []netip.Addr
	// Pool is the pool that they come from.
	Pool string
	// Foreign says that the Service holds addresses which no pool has and
	// this provider did not give: leave its status alone.
	Foreign bool
	// Wanting says that the Service waits for an address, or for one of the
	// second family that it prefers to have.
	Wanting bool
	// Released says that addresses, or the terms on which they are shared,
	// changed: others that wait may now succeed.
	Released bool
	// Reason and Message say what the result is due to, the same way every
	// time that the result is the same.
	Reason  api.Reason
	Message string
	// Notes say what happened just now, in order of time.
	Notes []Note
}

// holding is what one Service has.
type holding struct {
	addrs               []netip.Addr
	pool                string
	sharingKey, backend string
	ports               []service.Port
}

// slot is one address in use. Its users agree on the terms.
type slot struct {
	pool                string
	users               map[string]bool
	sharingKey, backend string
	ports               map[service.Port]string
}

// Allocator knows the pools and who holds which address.
type Allocator struct {
	cfg      *config.Config
	holdings map[string]*holding
	slots    map[netip.Addr]*slot
	// shared are the addresses in use, by sharing key.
	shared map[string]map[netip.Addr]bool
	// usage counts by pool; Services is not kept.
	usage map[string]Usage
	// lowest is, per range, an address below which nothing is free. It keeps
	// allocation fast when pools are large and almost full.
	lowest map[config.Range]netip.Addr
}

// New returns an Allocator without pools.
func New() *Allocator {
	return &Allocator{
		cfg:      &config.Config{},
		holdings: map[string]*holding{},
		slots:    map[netip.Addr]*slot{},
		shared:   map[string]map[netip.Addr]bool{},
		usage:    map[string]Usage{},
		lowest:   map[config.Range]netip.Addr{},
	}
}

// SetConfig replaces the pools. Holders keep their addresses until their next
// Converge, which moves those whose addresses are in no pool any more.
func (a *Allocator) SetConfig(cfg *config.Config) {
	a.cfg = cfg
	clear(a.lowest)
	clear(a.usage)
	for i := range cfg.Pools {
		a.usage[cfg.Pools[i].Name] = size(&cfg.Pools[i])
	}
	for _, h := range a.holdings {
		if p := cfg.PoolOf(h.addrs); p != nil {
			h.pool = p.Name
		}
	}
	for addr, s := range a.slots {
		s.pool = ""
		if p := cfg.PoolOf([]netip.Addr{addr}); p != nil {
			s.pool = p.Name
		}
		a.count(s.pool, addr, 1)
	}
}

// count adds n addresses in use to a pool.
func (a *Allocator) count(pool string, addr netip.Addr, n int64) {
	u, known := a.usage[pool]
	switch {
	case !known:
		return
	case addr.Is4():
		u.AssignedIPv4, u.AvailableIPv4 = u.AssignedIPv4+n, u.AvailableIPv4-n
	default:
		u.AssignedIPv6 += n
		if u.AvailableIPv6 != maxCount { // of so many, none is missed
			u.AvailableIPv6 -= n
		}
	}
	a.usage[pool] = u
}

// Release takes the addresses of the Service key back. It says whether the
// Service had any.
func (a *Allocator) Release(key string) bool {
	h := a.holdings[key]
	if h == nil {
		return false
	}
	delete(a.holdings, key)
	for _, addr := range h.addrs {
		s := a.slots[addr]
		delete(s.users, key)
		maps.DeleteFunc(s.ports, func(_ service.Port, user string) bool { return user == key })
		if len(s.users) == 0 {
			a.free(addr, s)
		}
	}
	return true
}

// free forgets a slot that no Service uses.
func (a *Allocator) free(addr netip.Addr, s *slot) {
	delete(a.slots, addr)
	a.unshare(addr, s)
	a.count(s.pool, addr, -1)
	for r, low := range a.lowest {
		if r.Contains(addr) && addr.Less(low) {
			a.lowest[r] = addr
		}
	}
}

func (a *Allocator) unshare(addr netip.Addr, s *slot) {
	delete(a.shared[s.sharingKey], addr)
	if len(a.shared[s.sharingKey]) == 0 {
		delete(a.shared, s.sharingKey)
	}
}

// Held returns what the Service key holds.
func (a *Allocator) Held(key string) []netip.Addr {
	if h := a.holdings[key]; h != nil {
		return h.addrs
	}
	return nil
}

// Keys returns the keys of all holders, sorted.
func (a *Allocator) Keys() []string { return slices.Sorted(maps.Keys(a.holdings)) }

// hold records that req's Service has addrs, which it may have.
func (a *Allocator) hold(req service.Request, addrs []netip.Addr, pool *config.Pool) {
	if !slices.Equal(a.Held(req.Key), addrs) {
		a.Release(req.Key)
	}
	a.holdings[req.Key] = &holding{
		addrs: addrs, pool: pool.Name, sharingKey: req.SharingKey, backend: req.BackendKey, ports: req.Ports,
	}
	for _, addr := range addrs {
		s := a.slots[addr]
		if s == nil {
			s = &slot{pool: pool.Name, users: map[string]bool{}, ports: map[service.Port]string{}}
			a.slots[addr] = s
			a.count(s.pool, addr, 1)
		}
		a.unshare(addr, s)
		s.users[req.Key] = true
		s.sharingKey, s.backend = req.SharingKey, req.BackendKey
		if s.sharingKey != "" {
			if a.shared[s.sharingKey] == nil {
				a.shared[s.sharingKey] = map[netip.Addr]bool{}
			}
			a.shared[s.sharingKey][addr] = true
		}
		maps.DeleteFunc(s.ports, func(_ service.Port, user string) bool { return user == req.Key })
		for _, p := range req.Ports {
			s.ports[p] = req.Key
		}
	}
}

// assign gives req's Service exactly addrs, or says why not.
func (a *Allocator) assign(req service.Request, addrs []netip.Addr) error {
	pool := a.cfg.PoolOf(addrs)
	if pool == nil {
		return fmt.Errorf("%s is not allowed in config: %s", addrText(addrs), a.nearest(addrs))
	}
	if !pool.Accepts(req.Namespace, req.Labels) {
		return fmt.Errorf("pool %q, which holds %s, is not for this service: %s", pool.Name, addrText(addrs), whyNot(pool, req))
	}
	for _, addr := range addrs {
		if err := a.shareable(req, addr, pool); err != nil {
			return err
		}
	}
	a.hold(req, addrs, pool)
	return nil
}

// shareable says why req's Service may not use addr beside its present users;
// nil if it may. Pool is the one that holds addr.
func (a *Allocator) shareable(req service.Request, addr netip.Addr, pool *config.Pool) error {
	s := a.slots[addr]
	if s == nil || len(s.users) == 1 && s.users[req.Key] {
		return nil
	}
	switch {
	case req.SharingKey == "" || s.sharingKey == "":
		return fmt.Errorf("%s is in use by another service, and not both of them have the annotation %s", addr, api.AnnotationAllowSharedIP)
	case req.SharingKey != s.sharingKey:
		return fmt.Errorf("%s is in use by a service with another value of %s", addr, api.AnnotationAllowSharedIP)
	case req.BackendKey != s.backend:
		return fmt.Errorf("%s is in use by a service with another externalTrafficPolicy, or with Local and other pods", addr)
	case pool.ShareWithinNamespace && !onlyIn(req.Namespace, s.users):
		return fmt.Errorf("%s is in use by a service of another namespace, with which pool %q does not share", addr, pool.Name)
	}
	for _, p := range req.Ports {
		if user, taken := s.ports[p]; taken && user != req.Key {
			return fmt.Errorf("port %s is already in use on %q", p, addr)
		}
	}
	return nil
}

// onlyIn says whether all users, "namespace/name" each, are in one namespace.
func onlyIn(namespace string, users map[string]bool) bool {
	for user := range users {
		if !strings.HasPrefix(user, namespace+"/") {
			return false
		}
	}
	return true
}

// Usage counts the distinct addresses of one pool.
type Usage struct {
	AssignedIPv4, AssignedIPv6, AvailableIPv4, AvailableIPv6 int64
	// Services is the number of Services with addresses of this pool.
	Services int64
}

// Usage returns the use of every pool by name.
func (a *Allocator) Usage() map[string]Usage {
	out := maps.Clone(a.usage)
	for _, h := range a.holdings {
		if u, ok := out[h.pool]; ok {
			u.Services++
			out[h.pool] = u
		}
	}
	return out
}

// Use is one address and who uses it.
type Use struct {
	Address netip.Addr
	// Services are "namespace/name", sorted.
	Services []string
}

// Uses returns the addresses of each pool that are in use, in order.
func (a *Allocator) Uses() map[string][]Use {
	out := map[string][]Use{}
	for _, addr := range slices.SortedFunc(maps.Keys(a.slots), netip.Addr.Compare) {
		s := a.slots[addr]
		out[s.pool] = append(out[s.pool], Use{Address: addr, Services: slices.Sorted(maps.Keys(s.users))})
	}
	return out
}

// size returns the use of a pool without users.
func size(p *config.Pool) Usage {
	var u Usage
	for _, r := range p.Ranges {
		total := &u.AvailableIPv4
		if r.From.Is6() {
			total = &u.AvailableIPv6
		}
		if n := r.Size(p.AvoidBuggyIPs); *total+n < *total { // does not fit
			*total = maxCount
		} else {
			*total += n
		}
	}
	return u
}
