package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead/fairlead/operator"
	"github.com/fairlead/fairlead/operator/dns"
	ingress "github.com/fairlead/fairlead/operator/ingress/controller"
)

// TestHungController: an IngressController whose writes the API server does not answer
// keeps no other one waiting.
func TestHungController(t *testing.T) {
	answer, hung := make(chan struct{}), make(chan struct{}, 100)
	between := beforeDeployment("router-hung", func(ctx context.Context) error {
		hung <- struct{}{}
		select {
		case <-answer:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	c, _ := startOperatorWatched(t, dns.Options{}, operator.Options{}, ingress.Options{}, between)
	deployed := func(name string) func() error {
		return func() error { return get(t, c, operandKey("router-"+name), &appsv1.Deployment{}) }
	}
	for _, name := range []string{"hung", "other"} {
		if err := c.Create(t.Context(), controllerOf(name, operatorv1.PrivateStrategyType, func(*operatorv1.IngressControllerSpec) {})); err != nil {
			t.Fatal(err)
		}
		if name == "hung" {
			select {
			case <-hung:
			case <-time.After(15 * time.Second):
				t.Fatal("the operator does not create the Deployment")
			}
		}
	}
	eventually(t, deployed("other"))
	eventually(t, func() error { return wantCondition(c, "other", "Admitted", operatorv1.ConditionTrue, "") })
	if deployed("hung")() == nil {
		t.Fatal("the write was answered")
	}
	close(answer)
	eventually(t, deployed("hung"))
}

// TestOneWakesOne: a change of one IngressController is looked at for that one, not for
// all others.
func TestOneWakesOne(t *testing.T) {
	c, _ := startOperator(t)
	const many = 12
	for i := range many {
		if err := c.Create(t.Context(), controllerOf(fmt.Sprintf("many-%d", i), operatorv1.PrivateStrategyType, func(*operatorv1.IngressControllerSpec) {})); err != nil {
			t.Fatal(err)
		}
	}
	replicas := func(name string, want int32) func() error {
		return func() error {
			d := &appsv1.Deployment{}
			if err := get(t, c, operandKey("router-"+name), d); err != nil {
				return err
			}
			if d.Spec.Replicas == nil || *d.Spec.Replicas != want {
				return fmt.Errorf("router-%s has %v replicas, want %d", name, d.Spec.Replicas, want)
			}
			return nil
		}
	}
	for i := range many {
		eventually(t, replicas(fmt.Sprintf("many-%d", i), 2))
	}
	before := quiet(t)
	ic := &operatorv1.IngressController{}
	if err := get(t, c, icKey("many-3"), ic); err != nil {
		t.Fatal(err)
	}
	three := int32(3)
	ic.Spec.Replicas = &three
	if err := c.Update(t.Context(), ic); err != nil {
		t.Fatal(err)
	}
	eventually(t, replicas("many-3", 3))
	if passes := quiet(t) - before; passes < 1 || passes >= many {
		t.Errorf("one change of one of %d IngressControllers led to %v passes", many, passes)
	}
}

// quiet waits until the operator has made no pass over an IngressController for two
// seconds, and returns how many it has made.
func quiet(t *testing.T) float64 {
	t.Helper()
	passes := func() (sum float64) {
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() != "controller_runtime_reconcile_total" {
				continue
			}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if l.GetName() == "controller" && l.GetValue() == "ingresscontroller" {
						sum += m.GetCounter().GetValue()
					}
				}
			}
		}
		return sum
	}
	last, since := passes(), time.Now()
	for end := time.Now().Add(time.Minute); time.Since(since) < 2*time.Second; time.Sleep(100 * time.Millisecond) {
		if now := passes(); now != last {
			last, since = now, time.Now()
		}
		if time.Now().After(end) {
			t.Fatal("the operator never rests")
		}
	}
	return last
}
