package dnsrecord

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/apply"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/service"
)

// Ensure writes the DNSRecords. A load balancer that has lost its
// address for a while keeps its name.
func Ensure(ctx context.Context, w apply.Writer, s effective.Spec, ic *operatorv1.IngressController, balancer *corev1.Service) ([]iov1.DNSRecord, error) {
	wanted := Desired(s, ic, balancer)
	if len(wanted) == 0 && s.Strategy.Type == operatorv1.LoadBalancerServiceStrategyType {
		return observe(ctx, w, s.Name)
	}
	var records []iov1.DNSRecord
	for _, name := range []string{api.DNSRecordName(s.Name), api.DNSRecordNameIPv6(s.Name)} {
		c := apply.Child[*iov1.DNSRecord]{IC: s.Name, Empty: &iov1.DNSRecord{}, Changed: changed, Unwanted: true}
		c.Desired = &iov1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: name}}
		if i := slices.IndexFunc(wanted, func(d *iov1.DNSRecord) bool { return d.Name == name }); i >= 0 {
			c.Desired, c.Unwanted = wanted[i], false
		}
		live, err := apply.Ensure(ctx, w, c)
		if err != nil {
			return records, err
		}
		if !c.Unwanted {
			records = append(records, *live)
		}
	}
	return records, nil
}

// observe reads the DNSRecords of an IngressController.
func observe(ctx context.Context, w apply.Writer, ic string) ([]iov1.DNSRecord, error) {
	list := &iov1.DNSRecordList{}
	if err := w.Client.List(ctx, list, client.InNamespace(api.OperatorNamespace), client.MatchingLabels{api.LabelOwningIngressController: ic}); err != nil {
		return nil, fmt.Errorf("list DNSRecords: %w", err)
	}
	return list.Items, nil
}

// Remove deletes the DNSRecords and reports whether all are gone, and
// with them the names: clients must not be led to what is about to go.
func Remove(ctx context.Context, w apply.Writer, ic string) (bool, error) {
	gone := true
	for _, name := range []string{api.DNSRecordName(ic), api.DNSRecordNameIPv6(ic)} {
		d := &iov1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: name}}
		if err := apply.DeleteOwned(ctx, w, ic, d); err != nil {
			return false, err
		}
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(d), d)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, fmt.Errorf("read DNSRecord %s: %w", name, err)
		case d.Labels[api.LabelOwningIngressController] == ic:
			gone = false
		}
	}
	return gone, nil
}

// NamePending returns a function that reports whether a router's wildcard name
// is yet to follow what its Service publishes. It reads DNSRecords of c. A name
// that the operator does not publish is never waited for.
func NamePending(c client.Reader) func(context.Context, *corev1.Service) (bool, error) {
	return func(ctx context.Context, balancer *corev1.Service) (bool, error) {
		ic, ok := strings.CutPrefix(balancer.Name, api.RouterName(""))
		if !ok {
			return false, nil
		}
		for _, name := range []string{api.DNSRecordName(ic), api.DNSRecordNameIPv6(ic)} {
			d, err := apply.Get(ctx, c, client.ObjectKey{Namespace: api.OperatorNamespace, Name: name}, &iov1.DNSRecord{})
			if err != nil {
				return false, fmt.Errorf("look whether the name of Service %s follows it: %w", balancer.Name, err)
			}
			if d != nil && pending(d, service.Addresses(balancer)) {
				return true, nil
			}
		}
		return false, nil
	}
}
