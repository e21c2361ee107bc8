// Package allocator decides which address a Service gets. It is a pure state
// machine: it knows the pools and who holds what, and answers every request
// with addresses or with the reason why there are none. Equal histories give
// equal answers.
//
// The owner of an Allocator calls Converge for each Service. On start it does
// so for the Services that hold addresses first, so that nobody is renumbered.
// An Allocator is not safe for concurrent use.
package allocator

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Note is one thing to tell the user about a Service.
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

// Allocator knows the pools and who holds which address.
type Allocator struct {
	cfg      *config.Config
	holdings map[string]*holding
	// users are the holders of each address.
	users map[netip.Addr]map[string]bool
	// lowest is, per range, an address below which nothing is free. It keeps
	// allocation fast when pools are large and almost full.
	lowest map[config.Range]netip.Addr
}

// New returns an Allocator without pools.
func New() *Allocator {
	return &Allocator{
		cfg:      &config.Config{},
		holdings: map[string]*holding{},
		users:    map[netip.Addr]map[string]bool{},
		lowest:   map[config.Range]netip.Addr{},
	}
}

// SetConfig replaces the pools. Holders keep their addresses until their next
// Converge, which moves those whose addresses are in no pool any more.
func (a *Allocator) SetConfig(cfg *config.Config) {
	a.cfg = cfg
	clear(a.lowest)
	for _, h := range a.holdings {
		if p := cfg.PoolOf(h.addrs); p != nil {
			h.pool = p.Name
		}
	}
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
		delete(a.users[addr], key)
		if len(a.users[addr]) > 0 {
			continue
		}
		delete(a.users, addr)
		for r, low := range a.lowest {
			if r.Contains(addr) && addr.Less(low) {
				a.lowest[r] = addr
			}
		}
	}
	return true
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

// hold records that req's Service has addrs.
func (a *Allocator) hold(req service.Request, addrs []netip.Addr, pool *config.Pool) {
	if !slices.Equal(a.Held(req.Key), addrs) {
		a.Release(req.Key)
	}
	a.holdings[req.Key] = &holding{
		addrs: addrs, pool: pool.Name, sharingKey: req.SharingKey, backend: req.BackendKey, ports: req.Ports,
	}
	for _, addr := range addrs {
		if a.users[addr] == nil {
			a.users[addr] = map[string]bool{}
		}
		a.users[addr][req.Key] = true
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
		if err := a.shareable(req, addr); err != nil {
			return err
		}
	}
	a.hold(req, addrs, pool)
	return nil
}

// shareable says why req's Service may not use addr beside its present users;
// nil if it may.
func (a *Allocator) shareable(req service.Request, addr netip.Addr) error {
	for _, other := range slices.Sorted(maps.Keys(a.users[addr])) {
		if other == req.Key {
			continue
		}
		h := a.holdings[other]
		switch {
		case req.SharingKey == "" || h.sharingKey == "":
			return fmt.Errorf("%s is in use by another service, and not both of them have the annotation %s", addr, api.AnnotationAllowSharedIP)
		case req.SharingKey != h.sharingKey:
			return fmt.Errorf("%s is in use by a service with another value of %s", addr, api.AnnotationAllowSharedIP)
		case req.BackendKey != h.backend:
			return fmt.Errorf("%s is in use by a service with another externalTrafficPolicy, or with Local and other pods", addr)
		}
		for _, p := range req.Ports {
			if slices.Contains(h.ports, p) {
				return fmt.Errorf("port %s is already in use on %q", p, addr)
			}
		}
	}
	return nil
}

// Usage counts the distinct addresses of one pool.
type Usage struct {
	AssignedIPv4, AssignedIPv6, AvailableIPv4, AvailableIPv6 int64
	// Services is the number of Services with addresses of this pool.
	Services int64
}

// Usage returns the use of every pool by name.
func (a *Allocator) Usage() map[string]Usage {
	out := make(map[string]Usage, len(a.cfg.Pools))
	for i := range a.cfg.Pools {
		out[a.cfg.Pools[i].Name] = size(&a.cfg.Pools[i])
	}
	for addr := range a.users {
		p := a.cfg.PoolOf([]netip.Addr{addr})
		if p == nil {
			continue
		}
		u := out[p.Name]
		if addr.Is4() {
			u.AssignedIPv4, u.AvailableIPv4 = u.AssignedIPv4+1, u.AvailableIPv4-1
		} else {
			u.AssignedIPv6++
			if u.AvailableIPv6 != maxCount {
				u.AvailableIPv6--
			}
		}
		out[p.Name] = u
	}
	for _, h := range a.holdings {
		if u, ok := out[h.pool]; ok {
			u.Services++
			out[h.pool] = u
		}
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
