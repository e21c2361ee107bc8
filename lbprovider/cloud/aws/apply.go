package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// run carries actions out, and keeps the view up to date with what they did.
type run struct {
	*view
	want stack.Stack
	// failed are target groups and ports ("443") of which something failed:
	// what builds on them is left out, and the others go on.
	failed map[string]bool
	// shut are the rules of the nodes that could not be opened.
	shut []stack.Rule
	// unclosed says that some could not be closed.
	unclosed bool
	errs     []error
	done     []string
}

// apply carries actions out in order. A failure of one port does not keep back
// the others; one of the account as a whole (throttling, credentials) does.
func (v *view) apply(ctx context.Context, want stack.Stack, actions []stack.Action) ([]string, error) {
	r := &run{view: v, want: want, failed: map[string]bool{}}
	for _, a := range actions {
		name := builtOn(a)
		if r.failed[name] || r.held(a) {
			if name != "" {
				r.failed[name] = true // and so what builds on this one
			}
			continue
		}
		err := r.do(ctx, a)
		if err == nil {
			r.done = append(r.done, a.String())
			continue
		}
		v.hook.log.Debug("call failed", "service", v.ref.String(), "action", a.String(), "err", err)
		r.errs = append(r.errs, err)
		if !r.goesOn(a, err) {
			break
		}
	}
	return r.done, errors.Join(r.errs...)
}

// goesOn reports whether the actions after a failed one can be tried.
func (r *run) goesOn(a stack.Action, err error) bool {
	if !r.found {
		return false // what the actions build on is to be looked up anew
	}
	switch class := hook.ClassOf(err); {
	case class == hook.ClassThrottled, class == hook.ClassUnavailable, class == hook.ClassDenied, class == hook.ClassConflict:
		return false
	case gone(err) || codeIs(err, "DuplicateLoadBalancerName", "DuplicateTargetGroupName", "DuplicateListener", "InvalidGroup.Duplicate"):
		return false
	}
	name := builtOn(a)
	if name == "" {
		return false
	}
	if _, full := a.(stack.Register); full && hook.ClassOf(err) == hook.ClassQuota {
		return true // there is room once those that are too many have gone
	}
	if c, ok := a.(stack.ChangeRules); ok {
		r.unclosed = r.unclosed || len(c.Revoke) > 0
		if c.Group != "" {
			r.shut = append(r.shut, c.Authorize...)
		}
	}
	r.failed[name] = true
	return true
}

// What other actions build on, by kind and not by name.
const (
	onFrontend    = "rules " // and no group
	onGroups      = "security groups"
	onAddressType = "address type"
	onACL         = "web ACL"
)

// held reports whether an action must not be carried out because one that it
// builds on failed: nothing is turned to where nothing lets it in, and nothing
// serves without what protects it.
func (r *run) held(a stack.Action) bool {
	switch a := a.(type) {
	case stack.SetSecurityGroups:
		return len(r.shut) > 0 || a.Frontend && r.failed[onFrontend]
	case stack.ModifyTargetGroup:
		n, err := strconv.ParseUint(a.Check.Port, 10, 16)
		return err == nil && r.closed(int32(n))
	case stack.Register:
		return slices.ContainsFunc(a.Targets, func(t stack.Target) bool { return r.closed(t.Port) })
	case stack.CreateListener:
		return r.failed[onACL] || r.failed[onFrontend] || r.leadsNowhere(a.Listener)
	case stack.ModifyListener:
		l := r.state.Listener(a.Listener.Port)
		other := l == nil || l.Protocol != a.Listener.Protocol
		return other && r.failed[onFrontend] || (other || l.Group != a.Listener.Group) && r.leadsNowhere(a.Listener)
	case stack.DeleteBalancer:
		return r.unclosed // without it, it is not known which rules there are
	}
	return false
}

// leadsNowhere reports whether a listener cannot lead where it shall.
func (r *run) leadsNowhere(l stack.Listener) bool {
	return len(r.shut) > 0 || r.failed[onGroups] || r.failed[onAddressType] || r.failed[l.Group]
}

// closed reports whether a port of the nodes could not be opened.
func (r *run) closed(port int32) bool {
	return slices.ContainsFunc(r.shut, func(ru stack.Rule) bool { return port >= ru.From && port <= ru.To })
}

// builtOn returns the target group or port that an action is about; empty for
// actions that everything depends on.
func builtOn(a stack.Action) string {
	port := func(n int32) string { return fmt.Sprint(n) }
	switch a := a.(type) {
	case stack.CreateTargetGroup:
		return a.Group.Name
	case stack.ModifyTargetGroup:
		return a.Name
	case stack.SetGroupAttributes:
		return a.Name
	case stack.DeleteTargetGroup:
		return a.Name
	case stack.Register:
		return a.Name
	case stack.Deregister:
		return a.Name
	case stack.CreateListener:
		return a.Listener.Group + port(a.Listener.Port)
	case stack.ModifyListener:
		return a.Listener.Group + port(a.Listener.Port)
	case stack.ChangeCertificates:
		return port(a.Port)
	case stack.SetListenerAttributes:
		return port(a.Port)
	case stack.DeleteListener:
		return port(a.Port)
	case stack.ChangeRules:
		return "rules " + a.Group
	case stack.SetSecurityGroups:
		return onGroups
	case stack.SetAddressType:
		return onAddressType
	case stack.SetACL:
		return onACL
	case stack.SetBalancerAttributes, stack.SetSubnets:
		return fmt.Sprint(a)
	case stack.Tag:
		return a.Resource.Group
	}
	return ""
}

func (r *run) do(ctx context.Context, a stack.Action) error {
	if err := ctx.Err(); err != nil {
		return Classify(a.String(), err)
	}
	switch a := a.(type) {
	case stack.CreateSecurityGroup, stack.ChangeRules, stack.DeleteSecurityGroup:
		return r.security(ctx, a)
	case stack.CreateTargetGroup, stack.ModifyTargetGroup, stack.SetGroupAttributes, stack.DeleteTargetGroup, stack.Register, stack.Deregister:
		return r.group(ctx, a)
	case stack.CreateListener, stack.ModifyListener, stack.ChangeCertificates, stack.SetListenerAttributes, stack.DeleteListener:
		return r.listener(ctx, a)
	case stack.Tag:
		return r.tag(ctx, a)
	}
	return r.balancer(ctx, a)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// arnOf returns the ARN of a target group.
func (r *run) arnOf(group string) (string, error) {
	g := r.state.Group(group)
	if g == nil || g.ARN == "" {
		return "", hook.Errorf(hook.ClassBusy, "the target group %s does not exist yet", group)
	}
	return g.ARN, nil
}

// frontendID is empty where there is no frontend.
func (r *run) frontendID() string {
	if r.state.Frontend == nil {
		return ""
	}
	return r.state.Frontend.ID
}

// retry marks errors after which everything is to be looked up anew.
func (v *view) retry(err error) error {
	if err == nil {
		return nil
	}
	if codeIs(err, "DuplicateLoadBalancerName", "DuplicateTargetGroupName", "DuplicateListener", "InvalidGroup.Duplicate") || gone(err) {
		v.forget()
		e := hook.AsError(err)
		return &hook.Error{Class: hook.ClassBusy, Code: e.Code, Action: e.Action, Message: e.Message + " (looking again)", Cause: err}
	}
	return err
}

// foreign returns the error about a resource of a name that we need and that
// is not ours, if the inventory has one.
func (v *view) foreign(ctx context.Context, want stack.Stack) error {
	all, err := v.hook.inventory.get(ctx)
	if err != nil {
		return err
	}
	for _, b := range all.balancers {
		if b.Name == want.Balancer.Name && !stack.OwnedBy(v.ref, b.Tags) {
			return conflict("load balancer", b.Name, b.Tags)
		}
	}
	for _, g := range all.groups {
		if !stack.OwnedBy(v.ref, g.Tags) && slices.ContainsFunc(want.Groups, func(w stack.TargetGroup) bool { return w.Name == g.Name }) {
			return conflict("target group", g.Name, g.Tags)
		}
	}
	return nil
}

// short makes a text fit into a field of AWS.
func short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
