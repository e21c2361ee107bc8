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
	// Ours says that this provider wrote the addresses (its annotation is there).
	Ours bool
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
	if len(held) > 0 && before == nil && !status.Ours && a.cfg.PoolOf(held) == nil {
		out.Foreign = true
		out.Reason = api.ReasonNotOurAddress
		out.note(out.Reason, true,
			"the service has the address %s, which is in no pool and was not given by this provider; it is left alone", addrText(held))
		return out
	}
	held = a.keep(req, held, problem, &out)
	if held == nil {
		held = a.obtain(req, problem, &out)
	} else if len(held) == 1 && req.Prefer && len(req.Families) == 2 && len(req.Addresses) == 0 {
		held = a.add(req, held, &out)
	}
	if n := len(out.Notes); n > 0 {
		out.Reason, out.Message = out.Notes[n-1].Reason, out.Notes[n-1].Message
	}
	if held != nil {
		out.Addresses, out.Pool = held, a.holdings[req.Key].pool
		if problem == nil {
			out.Reason = api.ReasonIPAllocated
			out.Message = fmt.Sprintf("Assigned IP %s from pool %q", addrText(out.Addresses), out.Pool)
		}
	}
	out.Released = before != nil && !sameTerms(before, a.holdings[req.Key])
	return out
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
	extra, ok := a.free(pool, missing, req)
	if !ok {
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
