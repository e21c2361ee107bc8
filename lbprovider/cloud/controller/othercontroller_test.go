package controller_test

import (
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/cloud/aws/stack"
)

// TestRival: while another controller holds its Lease that would delete what we
// make, nothing is made, and no finalizer invites it; what is there is served
// on, with a warning.
func TestRival(t *testing.T) {
	b := newBed(t)
	b.options.Finalizers, b.options.RivalLease = []string{stack.FinalizerLBC}, stack.LeaseLBC
	b.node(0)
	who := "aws-load-balancer-controller-0"
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: stack.LeaseLBC},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who, RenewTime: &metav1.MicroTime{Time: time.Now()}},
	}
	// It may run in any namespace, and others have Leases too.
	other := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}, Spec: lease.Spec}
	must(t, b.Create(t.Context(), lease))
	must(t, b.Create(t.Context(), other))
	stop := b.start()
	s := b.service("router-default", nil)
	b.eventually(func() string {
		if c := b.condition(s, api.ConditionCloudReady); c.Reason != string(api.ReasonRivalRuns) {
			return "condition: " + c.Reason + " " + c.Message
		}
		return b.hasEvent(s, "SyncLoadBalancerFailed", "kube-system/"+stack.LeaseLBC)
	})
	if len(s.Finalizers) > 0 || len(b.cloud.Balancers()) > 0 {
		t.Errorf("finalizers %v, %d load balancers", s.Finalizers, len(b.cloud.Balancers()))
	}
	stop()

	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now().Add(-time.Hour)}
	must(t, b.Update(t.Context(), lease))
	stop = b.start()
	b.settled(s, 1)
	stop()

	must(t, b.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	must(t, b.Update(t.Context(), lease))
	defer b.start()()
	b.eventually(func() string { return b.hasEvent(s, string(api.ReasonRivalRuns), "may delete this load balancer") })
	b.settled(s, 1)

	if _, err := b.server.Kubectl(t.Context(), "apply", "-k", "../../../config/cloud/rbac"); err != nil {
		t.Fatal(err)
	}
	config, err := b.server.RESTConfig()
	must(t, err)
	config.Impersonate.UserName = "system:serviceaccount:" + api.OperatorNamespace + ":ingress-operator"
	operator, err := client.New(config, client.Options{Scheme: b.Scheme()})
	must(t, err)
	b.eventually(func() string { // the API server takes up new roles after a moment
		list := &coordinationv1.LeaseList{}
		if err := operator.List(t.Context(), list, client.MatchingFields{metav1.ObjectNameField: stack.LeaseLBC}); err != nil || len(list.Items) != 1 {
			return fmt.Sprintf("the operator sees %d such Leases: %v", len(list.Items), err)
		}
		return ""
	})
	if err := operator.List(t.Context(), &coordinationv1.LeaseList{}); !apierrors.IsForbidden(err) {
		t.Errorf("the operator may list all Leases: %v", err)
	}
}
