package allocator

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/service"
)

// Held is what a Service's status says.
type Held struct {
	Addresses []netip.Addr
	// Ours says that this provider wrote the status (its annotation is there).
	Ours bool
	// Names says that the status holds entries without an address, such as
	// the host name of a cloud's load balancer.
	Names bool
}

// Converge brings one Service to what it should have: it keeps what it holds if
// that still fits, and gets something new otherwise. The status counts only
// for Services that the Allocator does not know yet, that is after a restart.
//
// A problem is a request that cannot be read; the Service then keeps what it
// has and gets nothing new.
func (a *Allocator) Converge(req service.Request, status Held, problem *api.Finding) Outcome {
	before := a.holdings[req.Key]
	var out Outcome
	held := a.Held(req.Key)
	if held == nil {
		held = status.Addresses
	}
	if before == nil && !status.Ours && a.foreign(held, status, &out) {
		return out
	}
	switch {
	case req.Headless:
		// It is unknown whether what it holds still fits.
		out.note(api.ReasonClusterFamily, true, "the service has no cluster IP that shows an IP family; it keeps what it has, if anything")
		out.Addresses, out.Wanting = a.Held(req.Key), true
		if before != nil {
			out.Pool = before.pool
		}
		out.settle()
		return out
	case req.Require && len(req.Families) < 2:
		a.Release(req.Key)
		out.note(api.ReasonNotEnoughClusterIPs, true, "the service requires dual stack but has one cluster IP only")
		held = nil
	default:
		held = a.keep(req, held, problem, &out)
		if held == nil {
			held = a.obtain(req, problem, &out)
		} else if len(held) == 1 && req.Prefer && len(req.Families) == 2 && len(req.Addresses) == 0 {
			held = a.add(req, held, &out)
		}
	}
	out.settle()
	if held != nil {
		out.Addresses, out.Pool = held, a.holdings[req.Key].pool
		if problem == nil {
			out.Reason = api.ReasonIPAllocated
			out.Message = fmt.Sprintf("Assigned IP %s from pool %q", addrText(out.Addresses), out.Pool)
		}
	}
	out.Wanting = len(held) == 0 || len(held) < len(req.Families) && len(req.Addresses) == 0
	out.Released = before != nil && !sameTerms(before, a.holdings[req.Key])
	return out
}

// foreign says whether the status is the work of another program, which is left alone:
// addresses of no pool, or host names, that this provider did not write.
func (a *Allocator) foreign(held []netip.Addr, status Held, out *Outcome) bool {
	switch {
	case len(held) > 0 && a.cfg.PoolOf(held) == nil && !a.mixed(held):
		out.note(api.ReasonNotOurAddress, true,
			"the service has the address %s, which is in no pool and was not given by this provider; it is left alone", addrText(held))
	case len(held) == 0 && status.Names:
		out.note(api.ReasonNotOurAddress, true,
			"the service's status has a host name, which this provider did not write; it is left alone")
	default:
		return false
	}
	out.Foreign = true
	out.settle()
	return true
}

// mixed says whether some of addrs is in a pool. A set that belongs together in
// no way is no other provider's either.
func (a *Allocator) mixed(addrs []netip.Addr) bool {
	return slices.ContainsFunc(addrs, func(addr netip.Addr) bool { return a.cfg.PoolOf([]netip.Addr{addr}) != nil })
}

// settle makes the last note the reason of the outcome.
func (o *Outcome) settle() {
	if n := len(o.Notes); n > 0 {
		o.Reason, o.Message = o.Notes[n-1].Reason, o.Notes[n-1].Message
	}
}

// keep returns held if the Service may keep it, else nil.
func (a *Allocator) keep(req service.Request, held []netip.Addr, problem *api.Finding, out *Outcome) []netip.Addr {
	if len(held) == 0 {
		return nil
	}
	drop := func(format string, args ...any) []netip.Addr {
		a.Release(req.Key)
		out.note(api.ReasonClearAssignment, false, "%s is taken back: %s", addrText(held), fmt.Sprintf(format, args...))
		return nil
	}
	if !plausible(held) {
		out.note(api.ReasonStatusFamily, true, "the service's status has the addresses %s; there can be one of each IP family", addrText(held))
		return drop("a service can have one address of each IP family")
	}
	if !familiesFit(req, held) {
		return drop("the service's IP families changed")
	}
	if err := a.assign(req, held); err != nil {
		return drop("%v", err)
	}
	if req.Pool != "" && a.holdings[req.Key].pool != req.Pool {
		return drop("the service asks for pool %q", req.Pool)
	}
	if problem == nil && len(req.Addresses) > 0 && !slices.Equal(req.Addresses, held) {
		return drop("the service asks for %s", addrText(req.Addresses))
	}
	if problem != nil {
		out.note(problem.Reason, true, "%s", problem.Text())
	}
	return held
}

// obtain finds addresses for a Service that has none.
func (a *Allocator) obtain(req service.Request, problem *api.Finding, out *Outcome) []netip.Addr {
	if problem != nil {
		out.note(problem.Reason, true, "%s", problem.Text())
		return nil
	}
	addrs, err := a.allocate(req)
	if err != nil {
		out.note(api.ReasonAllocationFailed, true, "Failed to allocate IP for %q: %v", req.Key, err)
		return nil
	}
	out.note(api.ReasonIPAllocated, false, "Assigned IP %s from pool %q", addrText(addrs), a.holdings[req.Key].pool)
	return addrs
}

// add tries to add an address of the other family from the same pool.
func (a *Allocator) add(req service.Request, held []netip.Addr, out *Outcome) []netip.Addr {
	missing := service.IPv4
	if held[0].Is4() {
		missing = service.IPv6
	}
	pool := a.cfg.Pool(a.holdings[req.Key].pool)
	extra, ok := a.first(pool, missing, req)
	if !ok {
		out.note(api.ReasonAdditionalAssignFailed, false, "no %s address beside %s: %s", missing, addrText(held), a.full(pool, missing))
		return held
	}
	both := append(slices.Clone(held), extra)
	service.SortAddresses(both)
	if err := a.assign(req, both); err != nil {
		out.note(api.ReasonAdditionalAssignFailed, false, "no %s address beside %s: %v", missing, addrText(held), err)
		return held
	}
	out.note(api.ReasonIPAllocated, false, "Assigned additional IP %q", extra)
	return both
}

// plausible says whether addrs are at most one of each family.
func plausible(addrs []netip.Addr) bool {
	return len(addrs) == 1 || len(addrs) == 2 && addrs[0].Is4() != addrs[1].Is4()
}

func familiesFit(req service.Request, held []netip.Addr) bool {
	var have []service.Family
	for _, addr := range held {
		f := service.FamilyOf(addr)
		if slices.Contains(have, f) || !slices.Contains(req.Families, f) {
			return false
		}
		have = append(have, f)
	}
	return len(have) == len(req.Families) || req.Prefer
}

func sameTerms(before, after *holding) bool {
	return after != nil && slices.Equal(before.addrs, after.addrs) &&
		before.sharingKey == after.sharingKey && before.backend == after.backend && slices.Equal(before.ports, after.ports)
}

func (o *Outcome) note(reason api.Reason, warning bool, format string, args ...any) {
	o.Notes = append(o.Notes, Note{Reason: reason, Warning: warning, Message: fmt.Sprintf(format, args...)})
}
