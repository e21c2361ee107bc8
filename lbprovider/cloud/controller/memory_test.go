package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

// TestPauses: failures in a row are counted and waited for longer and longer,
// whatever wakes the Service, until one asks for something else.
func TestPauses(t *testing.T) {
	t.Parallel()
	m := &memory{}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	last := time.Duration(0)
	for n := range 5 {
		if wait := m.asked("a", now); wait != 0 {
			t.Fatalf("pass %d must still wait %v", n, wait)
		}
		wait := m.failed(&hook.Error{Class: hook.ClassThrottled}, now)
		if m.failures != n+1 || wait <= last {
			t.Errorf("after pass %d: %d failures, a pause of %v after one of %v", n, m.failures, wait, last)
		}
		if left := m.asked("a", now.Add(wait-time.Second)); left != time.Second {
			t.Errorf("a second request for the same waits %v", left)
		}
		now, last = now.Add(wait), wait
	}
	m.failed(&hook.Error{Class: hook.ClassThrottled}, now)
	if wait := m.asked("b", now); wait != 0 || m.failures != 0 {
		t.Errorf("another request waits %v with %d failures", wait, m.failures)
	}
	m.failed(&hook.Error{Class: hook.ClassDenied}, now)
	m.succeeded()
	if wait := m.asked("b", now); wait != 0 || m.failures != 0 {
		t.Errorf("after success it waits %v with %d failures", wait, m.failures)
	}
}

// TestHurry: a change that must not wait takes along those that do.
func TestHurry(t *testing.T) {
	t.Parallel()
	d := newDebounce(time.Second, 5*time.Second)
	key, now := types.NamespacedName{Name: "s"}, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	d.note(key, now)
	d.urgent(key, now)
	d.note(key, now)
	if wait := d.wait(key, now); wait != 0 {
		t.Errorf("it waits %v", wait)
	}
	d.note(key, now)
	if wait := d.wait(key, now); wait != time.Second {
		t.Errorf("what comes after it waits %v", wait)
	}
}

// TestLeaves: which changes of a node must not wait.
func TestLeaves(t *testing.T) {
	t.Parallel()
	plain := &corev1.Node{}
	labelled := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelExclude: ""}}}
	tainted := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: taintAutoscaler}}}}
	for name, c := range map[string]struct {
		before, after *corev1.Node
		want          bool
	}{
		"a label": {plain, labelled, true}, "a taint": {plain, tainted, true}, "the label goes": {labelled, plain, false},
		"excluded twice": {labelled, tainted, false}, "nothing": {plain, plain, false},
	} {
		if got := leaves(c.before, c.after); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestUnavailable: no node may be a target, and none is one.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	some := &hook.Spec{Targets: hook.TargetSet{Nodes: []hook.Node{{Name: "a"}}}}
	for name, c := range map[string]struct {
		spec    *hook.Spec
		targets []hook.TargetHealth
		want    int
	}{
		"nodes": {spec: some}, "none at all": {spec: &hook.Spec{}, want: 1},
		"one drains": {spec: &hook.Spec{}, targets: []hook.TargetHealth{{State: hook.HealthDraining}}, want: 1},
		"pods":       {spec: &hook.Spec{}, targets: []hook.TargetHealth{{State: hook.HealthInitial}}},
	} {
		if got := unavailable(c.spec, c.targets); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOurs: whose Services are served.
func TestOurs(t *testing.T) {
	t.Parallel()
	class := func(s string) *string { return &s }
	balancer := func(c *string, kind string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kind": kind}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: c},
		}
	}
	notTheirs := func(s *corev1.Service) bool { return s.Annotations["kind"] != "theirs" }
	for name, c := range map[string]struct {
		service  *corev1.Service
		fallback func(*corev1.Service) bool
		want     bool
	}{
		"our class":                           {service: balancer(class("ours"), ""), want: true},
		"another class":                       {service: balancer(class("service.k8s.aws/nlb"), ""), fallback: notTheirs},
		"no class":                            {service: balancer(nil, "")},
		"no class, as the default":            {service: balancer(nil, ""), fallback: notTheirs, want: true},
		"no class, marked as somebody else's": {service: balancer(nil, "theirs"), fallback: notTheirs},
		"another type":                        {service: &corev1.Service{Spec: corev1.ServiceSpec{LoadBalancerClass: class("ours")}}, fallback: notTheirs},
	} {
		r := &reconciler{opts: Options{Class: "ours", Default: c.fallback}}
		if got := r.ours(c.service); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	r := &reconciler{opts: Options{Finalizers: []string{"service.k8s.aws/resources"}}}
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"service.k8s.aws/resources"}}}
	if got := r.foreign(s); got != "" {
		t.Errorf("our own additional finalizer is taken for that of another controller: %s", got)
	}
	s.Finalizers = append(s.Finalizers, "service.kubernetes.io/load-balancer-cleanup")
	if got := r.foreign(s); got != "service.kubernetes.io/load-balancer-cleanup" {
		t.Errorf("the other controller is %q", got)
	}
}
