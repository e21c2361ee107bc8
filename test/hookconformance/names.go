package hookconformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// NameOptions say which names are tested, and how patiently.
type NameOptions struct {
	Hook hook.DNSHook
	// Name is an unused name, in a zone that the hook may write to.
	Name string
	// Patience is how long a name may be pending; 0 means 10 minutes.
	Patience time.Duration
	// Wait waits; nil means really.
	Wait func(ctx context.Context, d time.Duration) error
}

type names struct {
	suite
	NameOptions
	zone hook.Zone
}

// RunNames tests what the operator relies on when it publishes names. It
// writes, changes and removes records of one name.
func RunNames(ctx context.Context, o NameOptions) []Finding {
	if o.Patience == 0 {
		o.Patience = 10 * time.Minute
	}
	if o.Wait == nil {
		o.Wait = pause
	}
	n := &names{suite: suite{ctx: ctx}, NameOptions: o}
	var err error
	n.zone, err = o.Hook.ResolveZone(ctx, hook.ZoneSelector{Suffix: o.Name})
	if !n.promise("the zone of a name is found", err) {
		return n.findings
	}
	r := n.record(hook.RecordA, "198.18.0.1")
	n.promise("to delete what is not there is no error", o.Hook.DeleteRecord(ctx, r, n.zone))
	if n.written("a record is written, and published in time", r, true) {
		n.written("the same once more changes nothing", r, false)
		n.others(r)
		n.written("an address is replaced", n.record(hook.RecordA, "198.18.0.2"), true)
		n.written("a record of one type replaces that of another", n.record(hook.RecordCNAME, "lb.example.net."), true)
	}
	last := n.record(hook.RecordCNAME, "lb.example.net.")
	n.promise("delete removes it", o.Hook.DeleteRecord(ctx, last, n.zone))
	n.promise("delete again is no error", o.Hook.DeleteRecord(ctx, last, n.zone))
	if n.written("what was deleted is gone", last, true) {
		n.promise("it is left as it was found", o.Hook.DeleteRecord(ctx, last, n.zone))
	}
	return n.findings
}

func (n *names) record(kind hook.RecordType, target string) *hook.Record {
	return &hook.Record{
		Name: n.Name, Type: kind, Targets: []string{target}, TTL: 30,
		Owner: "fairlead-conformance", Resource: "dnsrecord/fairlead-conformance/probe",
	}
}

// written writes a record until it is not pending any more, and wants to be
// known whether that changed anything.
func (n *names) written(what string, r *hook.Record, changed bool) bool {
	result, err := n.Hook.EnsureRecord(n.ctx, r, n.zone)
	if err == nil && result.Changed != changed {
		err = fmt.Errorf("changed is %v", result.Changed)
	}
	for left := n.Patience; err == nil && result.Pending; {
		if left <= 0 {
			err = fmt.Errorf("after %v it is still pending: %s", n.Patience, result.Message)
			break
		}
		step := min(max(result.RetryAfter.Std(), time.Second), 15*time.Second)
		left -= step
		if err = n.Wait(n.ctx, step); err == nil {
			result, err = n.Hook.EnsureRecord(n.ctx, r, n.zone)
		}
	}
	return n.promise(what, err)
}

// others tries to take the name as another owner.
func (n *names) others(r *hook.Record) {
	other := *r
	other.Owner, other.Targets = "fairlead-conformance-other", []string{"198.18.0.9"}
	_, err := n.Hook.EnsureRecord(n.ctx, &other, n.zone)
	if class := hook.ClassOf(err); class != hook.ClassConflict {
		err = errors.Join(fmt.Errorf("class %q instead", class), err)
	} else {
		err = nil
	}
	n.promise("a name of another owner is refused, with class Conflict", err)
	n.promise("to delete the name of another owner is no error", n.Hook.DeleteRecord(n.ctx, &other, n.zone))
	n.written("and leaves it", r, false)
}
