// Package dnsrecord keeps the DNSRecords of an IngressController's wildcard name.
// Package operator/dns publishes them.
package dnsrecord

import (
	"net/netip"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/effective"
	"github.com/fairlead/fairlead/operator/service"
)

// Desired returns the DNSRecords of an IngressController's wildcard
// name: one that leads to the load balancer's host name, or one for each family
// of its addresses. There are none as long as it has no address.
func Desired(s effective.Spec, ic *operatorv1.IngressController, balancer *corev1.Service) []*iov1.DNSRecord {
	if balancer == nil || s.Strategy.LoadBalancer == nil {
		return nil
	}
	targets := map[iov1.DNSRecordType][]string{}
	for _, a := range service.Addresses(balancer) {
		addr, err := netip.ParseAddr(a)
		switch {
		case err != nil:
			targets[iov1.CNAMERecordType] = append(targets[iov1.CNAMERecordType], a)
		case addr.Is4():
			targets[iov1.ARecordType] = append(targets[iov1.ARecordType], a)
		default:
			targets[iov1.AAAARecordType] = append(targets[iov1.AAAARecordType], a)
		}
	}
	// A name stands alone, so with both the addresses are what is published.
	if len(targets[iov1.ARecordType])+len(targets[iov1.AAAARecordType]) > 0 {
		delete(targets, iov1.CNAMERecordType)
	}
	var list []*iov1.DNSRecord
	for _, t := range []iov1.DNSRecordType{iov1.CNAMERecordType, iov1.ARecordType, iov1.AAAARecordType} {
		if len(targets[t]) == 0 {
			continue
		}
		name := api.DNSRecordName(s.Name)
		if len(list) > 0 {
			name = api.DNSRecordNameIPv6(s.Name)
		}
		list = append(list, record(s, ic, balancer, name, t, targets[t]))
	}
	return list
}

func record(s effective.Spec, ic *operatorv1.IngressController, balancer *corev1.Service, name string, t iov1.DNSRecordType, targets []string) *iov1.DNSRecord {
	d := &iov1.DNSRecord{ObjectMeta: child.Meta(s.Name, name)}
	d.Namespace = api.OperatorNamespace
	d.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: operatorv1.GroupVersion.String(), Kind: "IngressController", Name: ic.Name, UID: ic.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	for _, key := range []string{api.AnnotationTargetZone, api.AnnotationTargetDualStack} {
		if v := balancer.Annotations[key]; v != "" {
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, key, v)
		}
	}
	if v := ic.Annotations[api.AnnotationAdoptDNSRecord]; v != "" {
		metav1.SetMetaDataAnnotation(&d.ObjectMeta, api.AnnotationAdoptDNSRecord, v)
	}
	slices.Sort(targets)
	if t == iov1.CNAMERecordType {
		targets = []string{strings.TrimSuffix(targets[0], ".") + "."}
	}
	policy := iov1.ManagedDNS
	if s.Strategy.LoadBalancer.DNSManagementPolicy == operatorv1.UnmanagedLoadBalancerDNS || s.NameByService {
		policy = iov1.UnmanagedDNS
	}
	d.Spec = iov1.DNSRecordSpec{
		DNSName: "*." + s.Domain + ".", RecordType: t, Targets: slices.Compact(targets), RecordTTL: s.RecordTTL, DNSManagementPolicy: policy,
	}
	return d
}

func changed(live, desired *iov1.DNSRecord) (*iov1.DNSRecord, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !equality.Semantic.DeepEqual(updated.Spec, desired.Spec) {
		updated.Spec = desired.Spec
		changed = true
	}
	return updated, changed
}
