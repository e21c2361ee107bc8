package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/lbprovider/cloud/hook"
)

func TestNodes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	node := func(name string, change ...func(*corev1.Node)) corev1.Node {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		for _, c := range change {
			c(&n)
		}
		return n
	}
	label := func(k, v string) func(*corev1.Node) { return func(n *corev1.Node) { n.Labels[k] = v } }
	down := func(since time.Duration) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now.Add(-since))}}
		}
	}
	for _, c := range []struct {
		name  string
		nodes []corev1.Node
		want  []string
		again time.Duration
	}{
		{name: "all", nodes: []corev1.Node{node("b"), node("a")}, want: []string{"a", "b"}},
		{name: "excluded by label", nodes: []corev1.Node{node("a"), node("b", label(labelExclude, "true")), node("c", label(labelExclude, "false")), node("d", label(labelExclude, ""))}, want: []string{"a", "c"}},
		{name: "Fargate", nodes: []corev1.Node{node("a"), node("b", label(labelCompute, "fargate"))}, want: []string{"a"}},
		{name: "about to be removed", nodes: []corev1.Node{node("a"), node("b", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: taintAutoscaler}} })}, want: []string{"a"}},
		{name: "not ready for a moment", nodes: []corev1.Node{node("a"), node("b", down(20*time.Second))}, want: []string{"a", "b"}, again: 40 * time.Second},
		{name: "not ready for long", nodes: []corev1.Node{node("a"), node("b", down(2*time.Minute))}, want: []string{"a"}},
		{name: "none ready: all stay", nodes: []corev1.Node{node("a", down(time.Hour)), node("b", down(time.Hour)), node("c", label(labelExclude, "true"))}, want: []string{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list, again := nodesOf(c.nodes, nil, now)
			var names []string
			for _, n := range list {
				names = append(names, n.Name)
			}
			if diff := cmp.Diff(c.want, names); diff != "" || again != c.again {
				t.Errorf("again %v, want %v (-want +got):\n%s", again, c.again, diff)
			}
		})
	}
}

func TestPods(t *testing.T) {
	t.Parallel()
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "https", Port: 443}}}}
	yes, no := true, false
	slice := discoveryv1.EndpointSlice{
		Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080))}, {Name: new("metrics"), Port: new(int32(1936))}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.1.2"}, NodeName: new("b"), Conditions: discoveryv1.EndpointConditions{Ready: &yes}},
			{Addresses: []string{"10.0.1.1"}, NodeName: new("a"), Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}},
			{Addresses: []string{"10.0.1.3"}, Conditions: discoveryv1.EndpointConditions{Ready: &no}},
		},
	}
	want := []hook.Pod{
		{Address: "10.0.1.1", Node: "a", Ports: map[int32]int32{80: 8080}, Draining: true},
		{Address: "10.0.1.2", Node: "b", Ports: map[int32]int32{80: 8080}},
	}
	if diff := cmp.Diff(want, podsOf(service, []discoveryv1.EndpointSlice{slice})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDebounce: a swarm of changes is one, and one that never ends is passed
// on all the same.
func TestDebounce(t *testing.T) {
	t.Parallel()
	d := newDebounce(time.Second, 5*time.Second)
	key := types.NamespacedName{Name: "s"}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if w := d.wait(key, now); w != 0 {
		t.Errorf("nothing changed, and it waits %v", w)
	}
	start, passes := now, 0
	for now.Sub(start) < 20*time.Second {
		d.note(key, now)
		if now = now.Add(200 * time.Millisecond); d.wait(key, now) == 0 {
			passes++
		}
	}
	if passes != 4 {
		t.Errorf("%d passes in 20 s of changes, want 4", passes)
	}
	now = now.Add(time.Second)
	if w := d.wait(key, now); w != 0 {
		t.Errorf("it was quiet for a second, and it waits %v", w)
	}
}

// TestBackoff: how long each class of error waits at first and at most.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for class, limits := range map[hook.Class][2]time.Duration{
		hook.ClassThrottled: {5 * time.Second, 5 * time.Minute}, hook.ClassQuota: {5 * time.Minute, 5 * time.Minute},
		hook.ClassInvalidConfig: {time.Minute, 10 * time.Minute}, hook.ClassDenied: {time.Minute, 10 * time.Minute}, hook.ClassBusy: {5 * time.Second, 30 * time.Second},
	} {
		for failures, want := range map[int]time.Duration{1: limits[0], 50: limits[1]} {
			got := backoff(&hook.Error{Class: class}, failures)
			if got > want || got < want*3/4-time.Second {
				t.Errorf("%s after %d failures: %v, want about %v", class, failures, got, want)
			}
		}
	}
	if got := backoff(&hook.Error{Class: hook.ClassThrottled, RetryAfter: time.Hour}, 1); got != 5*time.Minute {
		t.Errorf("a long Retry-After: %v", got)
	}
}
