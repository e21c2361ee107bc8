package allocator

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/config"
	"github.com/fairlead/fairlead/lbprovider/service"
)

const maxCount = math.MaxInt64

// allocate finds addresses for a Service that has none, and records them.
func (a *Allocator) allocate(req service.Request) ([]netip.Addr, error) {
	switch {
	case len(req.Families) == 0:
		return nil, errors.New("the service has no cluster IP, so it has no IP family")
	case len(a.cfg.Pools) == 0:
		return nil, errors.New("there is no IPAddressPool")
	}
	if len(req.Addresses) > 0 {
		return a.allocateRequested(req)
	}
	pools, refusals := a.candidates(req)
	addrs, pool := a.pick(pools, req)
	if addrs == nil {
		for _, p := range pools {
			refusals = append(refusals, a.full(p, req.Families...))
		}
		return nil, fmt.Errorf("no available IPs (%s)", strings.Join(refusals, "; "))
	}
	a.hold(req, addrs, pool)
	return addrs, nil
}

func (a *Allocator) allocateRequested(req service.Request) ([]netip.Addr, error) {
	if len(req.Addresses) != len(req.Families) || !familiesFit(req, req.Addresses) {
		return nil, fmt.Errorf("requested loadBalancer IP(s) %s does not match the ipFamily of the service (%s)", addrText(req.Addresses), joinFamilies(req.Families))
	}
	if pool := a.cfg.PoolOf(req.Addresses); pool != nil && req.Pool != "" && pool.Name != req.Pool {
		return nil, fmt.Errorf("%s is in pool %q, which is not compatible with requested address pool %q", addrText(req.Addresses), pool.Name, req.Pool)
	}
	if err := a.assign(req, req.Addresses); err != nil {
		return nil, err
	}
	return req.Addresses, nil
}

// candidates returns the pools to try in order, and why the others are not tried.
func (a *Allocator) candidates(req service.Request) (pools []*config.Pool, refusals []string) {
	if req.Pool != "" {
		pool := a.cfg.Pool(req.Pool)
		switch {
		case pool == nil:
			return nil, []string{fmt.Sprintf("unknown pool %q", req.Pool)}
		case !pool.Accepts(req.Namespace, req.Labels):
			return nil, []string{fmt.Sprintf("pool %q: %s", pool.Name, whyNot(pool, req))}
		}
		return []*config.Pool{pool}, nil
	}
	var pinned, general []*config.Pool
	for i := range a.cfg.Pools { // sorted by name
		p := &a.cfg.Pools[i]
		switch {
		case !p.AutoAssign:
			refusals = append(refusals, fmt.Sprintf("pool %q: only for services that ask for it (autoAssign: false)", p.Name))
		case !p.Accepts(req.Namespace, req.Labels):
			refusals = append(refusals, fmt.Sprintf("pool %q: %s", p.Name, whyNot(p, req)))
		case p.Allocation != nil:
			pinned = append(pinned, p)
		default:
			general = append(general, p)
		}
	}
	slices.SortStableFunc(pinned, func(x, y *config.Pool) int { return cmp.Compare(rank(x), rank(y)) })
	slices.SortStableFunc(general, func(x, y *config.Pool) int {
		switch {
		case x.Default == y.Default:
			return 0
		case x.Default:
			return -1
		}
		return 1
	})
	return append(pinned, general...), refusals
}

// rank orders pinned pools: 1 is best, 0 (no priority) is last.
func rank(p *config.Pool) int {
	if p.Allocation.Priority <= 0 {
		return math.MaxInt
	}
	return p.Allocation.Priority
}

// pick takes the first pool that can serve all families of req. With
// PreferDualStack it settles for one family if no pool has both.
func (a *Allocator) pick(pools []*config.Pool, req service.Request) ([]netip.Addr, *config.Pool) {
	tries := [][]service.Family{req.Families}
	if len(req.Families) == 2 && req.Prefer {
		tries = append(tries, req.Families[:1], req.Families[1:])
	}
	for _, families := range tries {
		for _, p := range pools {
			if addrs := a.freeAll(p, families, req); addrs != nil {
				return addrs, p
			}
		}
	}
	return nil, nil
}

func (a *Allocator) freeAll(p *config.Pool, families []service.Family, req service.Request) []netip.Addr {
	var addrs []netip.Addr
	for _, f := range families {
		addr, ok := a.first(p, f, req)
		if !ok {
			return nil
		}
		addrs = append(addrs, addr)
	}
	service.SortAddresses(addrs)
	return addrs
}

// first returns the first address of the family in p that req's Service can use:
// in the order of spec.addresses, ascending; one that it may share counts.
func (a *Allocator) first(p *config.Pool, family service.Family, req service.Request) (netip.Addr, bool) {
	for _, r := range p.Ranges {
		if service.FamilyOf(r.From) != family {
			continue
		}
		unused, ok := a.unused(p, r)
		if shared, found := a.sharedIn(r, p, req); found && (!ok || shared.Less(unused)) {
			return shared, true
		}
		if ok {
			return unused, true
		}
	}
	return netip.Addr{}, false
}

func (a *Allocator) unused(p *config.Pool, r config.Range) (netip.Addr, bool) {
	addr, known := a.lowest[r]
	if !known {
		addr = r.From
	}
	for ; r.Contains(addr); addr = addr.Next() {
		if a.slots[addr] == nil && (!p.AvoidBuggyIPs || !config.Buggy(addr)) {
			a.lowest[r] = addr
			return addr, true
		}
	}
	if addr.IsValid() { // one past the end: full
		a.lowest[r] = addr
	}
	return netip.Addr{}, false
}

// sharedIn returns the lowest address of r whose users all share with req's Service.
func (a *Allocator) sharedIn(r config.Range, p *config.Pool, req service.Request) (best netip.Addr, found bool) {
	if req.SharingKey == "" {
		return best, false
	}
	for addr := range a.shared[req.SharingKey] {
		if r.Contains(addr) && (!found || addr.Less(best)) && p.Contains(addr) && a.shareable(req, addr, p) == nil {
			best, found = addr, true
		}
	}
	return best, found
}

// whyNot says why p.Accepts refuses req.
func whyNot(p *config.Pool, req service.Request) string {
	if p.Allocation.ByNamespace && !p.Allocation.Namespaces[req.Namespace] {
		return fmt.Sprintf("not for namespace %q", req.Namespace)
	}
	return "not for services with these labels"
}

// full says why p has no address of these families.
func (a *Allocator) full(p *config.Pool, families ...service.Family) string {
	u := a.usage[p.Name]
	var parts []string
	for _, f := range families {
		used, free := u.AssignedIPv4, u.AvailableIPv4
		if f == service.IPv6 {
			used, free = u.AssignedIPv6, u.AvailableIPv6
		}
		switch {
		case used+free == 0:
			parts = append(parts, fmt.Sprintf("no %s addresses", f))
		case free <= 0:
			parts = append(parts, fmt.Sprintf("%s full (%d/%d)", f, used, used))
		}
	}
	return fmt.Sprintf("pool %q: %s", p.Name, strings.Join(parts, ", "))
}

// nearest names the pool that a refused address was probably meant for.
func (a *Allocator) nearest(addrs []netip.Addr) string {
	outside := addrs[0]
	for _, addr := range addrs {
		if p := a.cfg.PoolOf([]netip.Addr{addr}); p != nil && len(addrs) > 1 {
			return "the addresses are not all in one pool"
		}
		outside = addr
	}
	for i := range a.cfg.Pools {
		p := &a.cfg.Pools[i]
		for _, r := range p.Ranges {
			if r.Contains(outside) {
				return fmt.Sprintf("pool %q avoids addresses that end in .0 and .255", p.Name)
			}
		}
	}
	best, bestBits := "", -1
	for i := range a.cfg.Pools {
		for _, r := range a.cfg.Pools[i].Ranges {
			for _, end := range []netip.Addr{r.From, r.To} {
				if bits := commonBits(end, outside); bits > bestBits {
					best, bestBits = fmt.Sprintf("no pool holds it; the nearest is %q with %s", a.cfg.Pools[i].Name, r), bits
				}
			}
		}
	}
	return cmp.Or(best, "no pool holds it")
}

func commonBits(a, b netip.Addr) int {
	if a.BitLen() != b.BitLen() {
		return -1
	}
	bits := 0
	for bits < a.BitLen() && netip.PrefixFrom(a, bits+1).Contains(b) {
		bits++
	}
	return bits
}

func addrText(addrs []netip.Addr) string {
	parts := make([]string, len(addrs))
	for i, addr := range addrs {
		parts[i] = fmt.Sprintf("%q", addr)
	}
	return strings.Join(parts, " and ")
}

func joinFamilies(families []service.Family) string {
	parts := make([]string, len(families))
	for i, f := range families {
		parts[i] = string(f)
	}
	return strings.Join(parts, " and ")
}
