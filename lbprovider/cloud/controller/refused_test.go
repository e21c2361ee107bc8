package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
	"github.com/fairlead/fairlead/test/fakeaws"
)

// calm waits until nothing is under way any more: two seconds without a call.
func (b *bed) calm() {
	b.t.Helper()
	seen, calm := b.cloud.Mark(), 0
	b.eventually(func() string {
		if now := b.cloud.Mark(); now != seen {
			seen, calm = now, 0
		}
		if calm++; calm < 40 {
			return "the cloud is still asked"
		}
		return ""
	})
}

// TestEveryAnnotation gives every annotation a wrong value: AWS is not called,
// not even to read, nothing is held by a finalizer, and the condition and an
// event name key and value. On a Service that has its load balancer already,
// that one stays as it is.
func TestEveryAnnotation(t *testing.T) {
	b := newBed(t)
	b.node(0)
	defer b.start()()
	served := b.service("served", nil)
	b.settled(served, 1)
	// The first look for orphans has been taken; the next is in half an hour.
	b.eventually(func() string {
		if fakeaws.Count(b.cloud.Since(0), "DescribeSecurityGroups") == 0 {
			return "the cloud has not been looked at"
		}
		return ""
	})
	b.calm()
	before := b.cloud.Balancers()
	mark := b.cloud.Mark()

	type wrong struct {
		service    *corev1.Service
		key, value string
	}
	var all []wrong
	samples := stack.Samples()
	for i, a := range stack.Annotations() {
		sample := samples[a.Key]
		if sample.Wrong == "" {
			continue
		}
		w := wrong{key: a.Key + sample.Rest, value: sample.Wrong}
		if w.key == corev1.AnnotationLoadBalancerSourceRangesKey {
			continue // the API server itself refuses this one
		}
		w.service = b.service(fmt.Sprintf("wrong-%d", i), map[string]string{w.key: w.value})
		all = append(all, w)
	}
	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(served), served))
	last := all[len(all)-1]
	served.Annotations[last.key] = last.value
	must(t, b.Update(t.Context(), served))
	all = append(all, wrong{served, last.key, last.value})

	for _, w := range all {
		named := fmt.Sprintf("%s: %q", w.key, w.value)
		b.eventually(func() string {
			c := b.condition(w.service, api.ConditionCloudReady)
			if c.Reason != string(api.ReasonInvalidConfiguration) || !strings.Contains(c.Message, named) {
				return fmt.Sprintf("%s: condition %+v", named, c)
			}
			return b.hasEvent(w.service, string(api.ReasonSyncLoadBalancerFailed), named)
		})
		if w.service != served && slices.Contains(w.service.Finalizers, api.FinalizerCloudLoadBalancer) {
			t.Errorf("%s: it has a finalizer, although nothing was made", named)
		}
	}
	if calls := b.cloud.Since(mark); len(calls) > 0 {
		t.Errorf("calls: %v", calls)
	}
	if after := b.cloud.Balancers(); len(after) != 1 || after[0].ARN != before[0].ARN || len(served.Status.LoadBalancer.Ingress) != 1 {
		t.Errorf("load balancers: %+v, status %+v", after, served.Status.LoadBalancer)
	}
	if len(all) < 45 {
		t.Errorf("only %d annotations", len(all))
	}
}
