// Package hookconformance tests a hook.LoadBalancerHook or a hook.DNSHook: whether
// it keeps the promises that the controllers rely on. The author of a webhook runs it
// against the program:
//
//	go run ./test/hookconformance/cmd --url https://…
//
// It makes a load balancer, changes it and deletes it, for a Service that does
// not exist. It does not send traffic.
package hookconformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// Options say what is tested, and how patiently.
type Options struct {
	Hook hook.LoadBalancerHook
	// Spec is a Service that the cloud can serve: its nodes must exist there.
	// Ref is filled in.
	Spec hook.Spec
	// Cluster is the cluster's name in the cloud.
	Cluster string
	// Patience is how long a load balancer may take to come and to go; 0 means
	// 10 minutes.
	Patience time.Duration
	// Wait waits; nil means really.
	Wait func(ctx context.Context, d time.Duration) error
}

// Finding is a promise that was looked at.
type Finding struct {
	// Promise is what was tested.
	Promise string
	// Broken says how it was broken; empty if it was kept.
	Broken string
}

// String returns the finding as a line.
func (f Finding) String() string {
	if f.Broken == "" {
		return "ok      " + f.Promise
	}
	return "BROKEN  " + f.Promise + ": " + f.Broken
}

// Broken returns those of the findings that are broken promises.
func Broken(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Broken == "" })
}

type suite struct {
	Options
	ctx      context.Context //nolint:containedctx // one run, one context
	findings []Finding
}

// Run tests all promises, in order. It stops early where the rest makes no
// sense, and always tries to delete what it made.
func Run(ctx context.Context, o Options) []Finding {
	if o.Patience == 0 {
		o.Patience = 10 * time.Minute
	}
	if o.Wait == nil {
		o.Wait = pause
	}
	o.Spec.Ref = hook.Ref{Cluster: o.Cluster, Namespace: "fairlead-conformance", Name: "probe", UID: "00000000-0000-4000-8000-00c0f0a0b0c0"}
	s := &suite{Options: o, ctx: ctx}
	s.capabilities()
	s.absent()
	s.dryRun()
	if s.comes() {
		s.again()
		s.described()
		s.owned()
		s.ports()
		s.targets()
	}
	s.goes()
	return s.findings
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// promise notes how a test ended.
func (s *suite) promise(what string, err error) bool {
	f := Finding{Promise: what}
	if err != nil {
		f.Broken = err.Error()
	}
	s.findings = append(s.findings, f)
	return err == nil
}

func (s *suite) capabilities() {
	c, err := s.Hook.Capabilities(s.ctx)
	if err == nil && !slices.Contains(c.Versions, hook.Version) {
		err = fmt.Errorf("versions are %v, without %s", c.Versions, hook.Version)
	}
	s.promise("capabilities name the version "+hook.Version, err)
}

func (s *suite) absent() {
	r, err := s.Hook.Delete(s.ctx, &hook.Deletion{Ref: s.Spec.Ref, Annotations: s.Spec.Annotations})
	if err == nil && !r.Done {
		err = fmt.Errorf("not done, waiting for %s", r.Waiting)
	}
	s.promise("to delete what is not there is done at once", err)
	_, err = s.Hook.Describe(s.ctx, s.Spec.Ref)
	if class := hook.ClassOf(err); class != hook.ClassNotFound {
		err = fmt.Errorf("class %q instead", class)
	} else {
		err = nil
	}
	s.promise("to describe what is not there is an error of class NotFound", err)
	problems := s.Hook.Validate(s.ctx, &s.Spec)
	err = nil
	if slices.ContainsFunc(problems, func(p hook.FieldProblem) bool { return !p.Warning }) {
		err = fmt.Errorf("%v", problems)
	}
	s.promise("validate finds nothing wrong with the Service", err)
	empty := s.Spec
	empty.Ports = nil
	problems = s.Hook.Validate(s.ctx, &empty)
	err = nil
	if !slices.ContainsFunc(problems, func(p hook.FieldProblem) bool { return !p.Warning && strings.Contains(p.Field, "ports") }) {
		err = fmt.Errorf("problems are %v", problems)
	}
	s.promise("validate finds that a Service without ports has a problem with a field that names ports", err)
	_, err = s.Hook.Ensure(s.ctx, &empty)
	if class := hook.ClassOf(err); class != hook.ClassInvalidConfig {
		err = errors.Join(fmt.Errorf("class %q instead", class), err)
	} else {
		err = nil
	}
	s.promise("ensure refuses it as well, with class InvalidConfig", err)
}

func (s *suite) dryRun() {
	dry := s.Spec
	dry.DryRun = true
	_, err := s.Hook.Ensure(s.ctx, &dry)
	if hook.ClassOf(err) == hook.ClassUnsupported {
		return
	}
	if err == nil {
		if _, describeErr := s.Hook.Describe(s.ctx, s.Spec.Ref); hook.ClassOf(describeErr) != hook.ClassNotFound {
			err = errors.Join(errors.New("it is there now"), describeErr)
		}
	}
	s.promise("a dry run makes nothing", err)
}

// until calls Ensure until it is finished.
func (s *suite) until(spec *hook.Spec) (*hook.Result, error) {
	left := s.Patience
	for {
		start := time.Now()
		r, err := s.Hook.Ensure(s.ctx, spec)
		took := time.Since(start)
		switch {
		case err != nil:
			return r, err
		case took > time.Minute:
			return r, fmt.Errorf("one call took %v; it must not wait for the cloud", took)
		case r.State != hook.StatePending && r.RetryAfter == 0:
			return r, nil
		case left <= 0:
			return r, fmt.Errorf("after %v it is %s: %s %s", s.Patience, r.State, r.Reason, r.Message)
		}
		step := min(max(r.RetryAfter.Std(), time.Second), 15*time.Second)
		left -= step
		if err := s.Wait(s.ctx, step); err != nil {
			return r, err
		}
		spec.Ref.Handle = r.Handle
	}
}

func (s *suite) comes() bool {
	r, err := s.until(&s.Spec)
	switch {
	case err != nil:
	case len(r.Ingress) == 0:
		err = fmt.Errorf("it has no address")
	case r.Handle == "":
		err = fmt.Errorf("it has no handle")
	}
	return s.promise("ensure makes a load balancer with an address and a handle", err)
}

func (s *suite) again() {
	first, err := s.until(&s.Spec)
	var second *hook.Result
	if err == nil {
		second, err = s.until(&s.Spec)
	}
	if err == nil && (second.Handle != first.Handle || !slices.Equal(second.Ingress, first.Ingress)) {
		err = fmt.Errorf("%+v became %+v", first.Ingress, second.Ingress)
	}
	s.promise("ensure again changes nothing", err)
	forgetful := s.Spec
	forgetful.Ref.Handle = ""
	third, err := s.until(&forgetful)
	if err == nil && third.Handle != first.Handle {
		err = fmt.Errorf("the handle was %s and is %s", first.Handle, third.Handle)
	}
	s.promise("ensure finds its load balancer without the handle", err)
}

func (s *suite) described() {
	r, err := s.Hook.Describe(s.ctx, s.Spec.Ref)
	if err == nil && len(r.Ingress) == 0 {
		err = fmt.Errorf("it has no address")
	}
	s.promise("describe shows the address", err)
}

func (s *suite) owned() {
	refs, err := s.Hook.ListOwned(s.ctx)
	if hook.ClassOf(err) == hook.ClassUnsupported {
		return
	}
	if err == nil && !slices.ContainsFunc(refs, func(r hook.Ref) bool { return r.UID == s.Spec.Ref.UID && r.String() == s.Spec.Ref.String() }) {
		err = fmt.Errorf("it is not among %v", refs)
	}
	s.promise("the list of what is ours holds it, with namespace, name and UID", err)
}

func (s *suite) ports() {
	if len(s.Spec.Ports) < 2 {
		return
	}
	before, err := s.until(&s.Spec)
	fewer := s.Spec
	fewer.Ports = s.Spec.Ports[:1]
	var after *hook.Result
	if err == nil {
		after, err = s.until(&fewer)
	}
	if err == nil && !slices.Equal(after.Ingress, before.Ingress) {
		err = fmt.Errorf("the address changed from %v to %v", before.Ingress, after.Ingress)
	}
	if err == nil {
		_, err = s.until(&s.Spec)
	}
	s.promise("a port goes and comes back, and the address stays", err)
}

func (s *suite) targets() {
	if len(s.Spec.Targets.Nodes) < 2 {
		return
	}
	fewer := s.Spec
	fewer.Targets.Nodes = s.Spec.Targets.Nodes[1:]
	_, err := s.Hook.UpdateTargets(s.ctx, &fewer)
	if hook.ClassOf(err) == hook.ClassUnsupported || hook.ClassOf(err) == hook.ClassNotFound {
		_, err = s.until(&fewer) // which is what the controller does then
	}
	if err == nil {
		_, err = s.Hook.UpdateTargets(s.ctx, &s.Spec)
		if hook.ClassOf(err) == hook.ClassUnsupported || hook.ClassOf(err) == hook.ClassNotFound {
			_, err = s.until(&s.Spec)
		}
	}
	s.promise("a node goes and comes back", err)
}

func (s *suite) goes() {
	left := s.Patience
	var err error
	for {
		var r *hook.DeleteResult
		if r, err = s.Hook.Delete(s.ctx, &hook.Deletion{Ref: s.Spec.Ref, Annotations: s.Spec.Annotations}); err != nil || r.Done {
			break
		}
		if left <= 0 {
			err = fmt.Errorf("after %v it still waits for %s", s.Patience, r.Waiting)
			break
		}
		step := min(max(r.RetryAfter.Std(), time.Second), 15*time.Second)
		left -= step
		if err = s.Wait(s.ctx, step); err != nil {
			break
		}
	}
	if err == nil {
		if _, describeErr := s.Hook.Describe(s.ctx, s.Spec.Ref); hook.ClassOf(describeErr) != hook.ClassNotFound {
			err = fmt.Errorf("it is still there")
		}
	}
	s.promise("delete removes it", err)
}
