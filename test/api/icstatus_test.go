package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	operatorv1 "github.com/openshift/api/operator/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	names "github.com/fairlead/fairlead/api"
)

// TestDefaultComesBack: a default IngressController that was deleted by mistake is
// created again, unless the namespace says that there must be none.
func TestDefaultComesBack(t *testing.T) {
	c, _ := startOperator(t)
	ic := &operatorv1.IngressController{}
	eventually(t, func() error { return get(t, c, icKey("default"), ic) })
	old := ic.UID
	if err := c.Delete(t.Context(), ic.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		err := get(t, c, icKey("default"), ic)
		if err == nil && ic.UID == old {
			err = fmt.Errorf("the old one is still there")
		}
		return err
	})
	if err := createDefault(t.Context(), c, "false"); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), ic.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return gone(c, icKey("default"), &operatorv1.IngressController{}) })
	if err := createDefault(t.Context(), c, "true"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return get(t, c, icKey("default"), ic) })
}

// TestOneDomain: of IngressControllers that are made at the same moment with one
// domain, one is admitted, and another one as soon as that is gone.
func TestOneDomain(t *testing.T) {
	c, _ := startOperator(t)
	const many = 6
	for i := range many {
		ic := controllerOf(fmt.Sprintf("same-%d", i), operatorv1.PrivateStrategyType, func(s *operatorv1.IngressControllerSpec) { s.Domain = "same.example.com" })
		if err := c.Create(t.Context(), ic); err != nil {
			t.Fatal(err)
		}
	}
	var holder string
	one := func() error {
		list := &operatorv1.IngressControllerList{}
		if err := c.List(t.Context(), list, client.InNamespace(names.OperatorNamespace)); err != nil {
			return err
		}
		var with, judged int
		for _, ic := range list.Items {
			if ic.Name == "default" || ic.DeletionTimestamp != nil {
				continue
			}
			for _, condition := range ic.Status.Conditions {
				if condition.Type != "Admitted" {
					continue
				}
				judged++
				if condition.Status == operatorv1.ConditionTrue {
					with++
					holder = ic.Name
				}
			}
		}
		if with > 1 {
			t.Fatalf("%d have the domain", with)
		}
		if with != 1 || judged < many-1 {
			return fmt.Errorf("%d have the domain, %d are judged", with, judged)
		}
		return nil
	}
	eventually(t, one)
	first := holder
	if err := c.Delete(t.Context(), controllerOf(first, operatorv1.PrivateStrategyType, func(*operatorv1.IngressControllerSpec) {})); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if err := one(); err != nil {
			return err
		}
		if holder == first {
			return fmt.Errorf("%s still has the domain", first)
		}
		return nil
	})
}

// TestFirstStatus: the first status says domain, strategy and that there are no
// routers yet, before any of them is made; and what another program writes into
// the status is put right.
func TestFirstStatus(t *testing.T) {
	c, _ := startOperator(t)
	config, err := server.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	events, err := watcher.Watch(ctx, &operatorv1.IngressControllerList{}, client.InNamespace(names.OperatorNamespace), client.MatchingFields{"metadata.name": "first"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	if err := c.Create(t.Context(), controllerOf("first", operatorv1.PrivateStrategyType, func(*operatorv1.IngressControllerSpec) {})); err != nil {
		t.Fatal(err)
	}
	for e := range events.ResultChan() {
		ic, ok := e.Object.(*operatorv1.IngressController)
		if !ok || len(ic.Status.Conditions) == 0 {
			continue
		}
		if ic.Status.Domain != "first.example.com" || ic.Status.EndpointPublishingStrategy == nil {
			t.Errorf("the first status is %+v", ic.Status)
		}
		for _, condition := range ic.Status.Conditions {
			if condition.Type == "Available" && condition.Status != operatorv1.ConditionFalse {
				t.Errorf("available before there is a router: %+v", condition)
			}
			if condition.Type == "DeploymentAvailable" && condition.Reason != "DeploymentNotFound" {
				t.Errorf("the first status came after the Deployment: %+v", condition)
			}
		}
		break
	}
	eventually(t, func() error {
		return wantCondition(c, "first", "Degraded", operatorv1.ConditionFalse, "")
	})
	ic := &operatorv1.IngressController{ObjectMeta: metav1.ObjectMeta{Namespace: names.OperatorNamespace, Name: "first"}}
	const edit = `{"status":{"conditions":[{"type":"Degraded","status":"True","reason":"Edited","message":"by hand","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	if err := c.Status().Patch(t.Context(), ic, client.RawPatch(types.MergePatchType, []byte(edit))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		return wantCondition(c, "first", "Degraded", operatorv1.ConditionFalse, "")
	})
}
