// Package memory is a hook to a cloud that exists only in memory. It shows how
// little a hook has to do, and keeps every promise of package hookconformance: it
// is the one to begin from when one writes a hook for a cloud of one's own.
//
// Its cloud gives every load balancer an address of a range, and needs two
// calls to make one, as real clouds need time.
package memory

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// balancer is what this cloud keeps of a load balancer. A real hook finds all of
// it in its cloud, by name or tags.
type balancer struct {
	ref     hook.Ref
	id      string
	address netip.Addr
	ports   []hook.Port
	nodes   []string
	made    bool // the second call has been
}

// Hook is the hook. It may be used concurrently.
type Hook struct {
	addresses netip.Prefix

	mu    sync.Mutex
	byUID map[string]*balancer
	next  int
}

var _ hook.LoadBalancerHook = (*Hook)(nil)

// New returns a hook whose load balancers have addresses of a range.
func New(addresses netip.Prefix) *Hook {
	return &Hook{addresses: addresses.Masked(), byUID: map[string]*balancer{}}
}

// Name returns "memory".
func (h *Hook) Name() string { return "memory" }

// Capabilities says what this cloud can do.
func (h *Hook) Capabilities(context.Context) (hook.Capabilities, error) {
	return hook.Capabilities{
		Versions: []string{hook.Version}, Kinds: []hook.Kind{hook.KindNetwork}, TargetKinds: []hook.TargetKind{hook.TargetNodeIP},
		Schemes: []hook.Scheme{hook.SchemeInternetFacing},
	}, nil
}

// Validate looks at a Spec without asking the cloud.
func (h *Hook) Validate(_ context.Context, spec *hook.Spec) []hook.FieldProblem {
	var problems []hook.FieldProblem
	if len(spec.Ports) == 0 {
		problems = append(problems, hook.FieldProblem{Field: "spec.ports", Message: "a load balancer needs a port"})
	}
	for i, p := range spec.Ports {
		if p.Protocol != "TCP" {
			problems = append(problems, hook.FieldProblem{Field: fmt.Sprintf("spec.ports[%d].protocol", i), Value: p.Protocol, Message: "this cloud knows TCP only"})
		}
	}
	if spec.LoadBalancerIP != "" {
		problems = append(problems, hook.FieldProblem{Field: "spec.loadBalancerIP", Value: spec.LoadBalancerIP, Message: "addresses cannot be chosen", Warning: true})
	}
	return problems
}

// Ensure makes or changes a load balancer. The Service's UID finds it, so that
// nothing has to be remembered between two calls.
func (h *Hook) Ensure(ctx context.Context, spec *hook.Spec) (*hook.Result, error) {
	if err := refused(h.Validate(ctx, spec)); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byUID[spec.Ref.UID]
	if spec.DryRun {
		if b == nil {
			return &hook.Result{State: hook.StatePending, Plan: []string{"create a load balancer"}}, nil
		}
		return b.result(), nil
	}
	if b == nil {
		address, err := h.free()
		if err != nil {
			return nil, err
		}
		h.next++
		b = &balancer{ref: spec.Ref, id: fmt.Sprintf("lb-%d", h.next), address: address}
		b.ref.Handle = b.id
		h.byUID[spec.Ref.UID] = b
		return b.result(), nil
	}
	b.made, b.ports, b.nodes = true, slices.Clone(spec.Ports), addressesOf(spec)
	return b.result(), nil
}

// refused makes an error of problems that are no warnings.
func refused(problems []hook.FieldProblem) error {
	for _, p := range problems {
		if !p.Warning {
			return &hook.Error{Class: hook.ClassInvalidConfig, Field: p.Field, Message: p.Message}
		}
	}
	return nil
}

// free returns an address that no load balancer has.
func (h *Hook) free() (netip.Addr, error) {
	taken := map[netip.Addr]bool{}
	for _, b := range h.byUID {
		taken[b.address] = true
	}
	for a := h.addresses.Addr(); h.addresses.Contains(a); a = a.Next() {
		if !taken[a] {
			return a, nil
		}
	}
	return netip.Addr{}, hook.Errorf(hook.ClassQuota, "all addresses of %s are taken", h.addresses)
}

// addressesOf returns the first address of each node.
func addressesOf(spec *hook.Spec) []string {
	var list []string
	for _, n := range spec.Targets.Nodes {
		if len(n.Addresses) > 0 {
			list = append(list, n.Addresses[0])
		}
	}
	return list
}

// poll is when to look again at what this cloud is still making.
const poll = hook.Duration(time.Second)

func (b *balancer) result() *hook.Result {
	if !b.made {
		return &hook.Result{
			State: hook.StatePending, Reason: "LoadBalancerPending", Message: "the cloud is making " + b.id, Handle: b.id, RetryAfter: poll,
		}
	}
	r := &hook.Result{State: hook.StateReady, Handle: b.id, Ingress: []hook.Ingress{{IP: b.address.String()}}}
	for _, p := range b.ports {
		for _, n := range b.nodes {
			r.Targets = append(r.Targets, hook.TargetHealth{ID: n, Port: p.Port, State: hook.HealthHealthy})
		}
	}
	return r
}

// UpdateTargets changes the targets of a load balancer that is there.
func (h *Hook) UpdateTargets(_ context.Context, spec *hook.Spec) (*hook.TargetResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byUID[spec.Ref.UID]
	if b == nil || !b.made {
		return nil, hook.Errorf(hook.ClassNotFound, "there is no load balancer of %s", spec.Ref)
	}
	before := b.nodes
	b.nodes = addressesOf(spec)
	r := &hook.TargetResult{Targets: b.result().Targets}
	for _, n := range b.nodes {
		if !slices.Contains(before, n) {
			r.Registered += len(b.ports)
		}
	}
	for _, n := range before {
		if !slices.Contains(b.nodes, n) {
			r.Deregistered += len(b.ports)
		}
	}
	return r, nil
}

// Describe says what there is.
func (h *Hook) Describe(_ context.Context, ref hook.Ref) (*hook.Result, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.byUID[ref.UID]
	if b == nil {
		return nil, hook.Errorf(hook.ClassNotFound, "there is no load balancer of %s", ref)
	}
	return b.result(), nil
}

// Delete removes a load balancer. One that is not there is removed.
func (h *Hook) Delete(_ context.Context, d *hook.Deletion) (*hook.DeleteResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byUID, d.Ref.UID)
	return &hook.DeleteResult{Done: true}, nil
}

// ListOwned returns all load balancers.
func (h *Hook) ListOwned(context.Context) ([]hook.Ref, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var refs []hook.Ref
	for _, b := range h.byUID {
		refs = append(refs, b.ref)
	}
	slices.SortFunc(refs, func(a, b hook.Ref) int { return strings.Compare(a.UID, b.UID) })
	return refs, nil
}
