package service

import (
	"context"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/effective"
)

// SecurityGroups are those of a load balancer: what is asked for, and what the
// status says.
type SecurityGroups struct{ Wanted, Published []string }

// ReadSecurityGroups asks the API server, for the cache holds Go types. Only
// IngressControllers that may have such groups cost this request.
func ReadSecurityGroups(ctx context.Context, live client.Reader, ic *operatorv1.IngressController, s effective.Spec) (SecurityGroups, error) {
	if !effective.HasGroups(s.Strategy) {
		return SecurityGroups{}, nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(operatorv1.GroupVersion.WithKind("IngressController"))
	if err := live.Get(ctx, client.ObjectKeyFromObject(ic), u); err != nil {
		return SecurityGroups{}, fmt.Errorf("read the security groups of IngressController %s: %w", ic.Name, err)
	}
	var g SecurityGroups
	var err error
	if g.Wanted, _, err = unstructured.NestedStringSlice(u.Object, effective.GroupsPath("spec")...); err == nil {
		g.Published, _, err = unstructured.NestedStringSlice(u.Object, effective.GroupsPath("status")...)
	}
	return g, err
}

// EnsureLoadBalancer writes the Service that a load balancer serves, and returns
// it, nil if it is not wanted or could not be written. Live is the Service as it
// was read, nil if there was none.
func EnsureLoadBalancer(ctx context.Context, w apply.Writer, s effective.Spec, ic *operatorv1.IngressController, live *corev1.Service) (*corev1.Service, error) {
	desired, wanted := DesiredLoadBalancer(s, ic, live)
	now, err := apply.EnsureFrom(ctx, w, apply.Child[*corev1.Service]{
		IC: s.Name, Empty: &corev1.Service{}, Desired: desired, Unwanted: !wanted,
		Changed: func(live, desired *corev1.Service) (*corev1.Service, bool) {
			return ChangedLoadBalancer(s, live, desired)
		},
	}, live, live != nil)
	if err != nil || !wanted {
		return nil, err
	}
	return now, nil
}
