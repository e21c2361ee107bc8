package operator

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	iov1 "github.com/openshift/api/operatoringress/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead/fairlead/api"
)

// desiredDNSRecords returns the DNSRecords of an IngressController's wildcard
// name: one that leads to the load balancer's host name, or one for each family
// of its addresses. There are none as long as it has no address.
func desiredDNSRecords(s settings, ic *operatorv1.IngressController, service *corev1.Service) []*iov1.DNSRecord {
	if service == nil || s.strategy.LoadBalancer == nil {
		return nil
	}
	targets := map[iov1.DNSRecordType][]string{}
	for _, a := range serviceAddresses(service) {
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
		name := api.DNSRecordName(s.name)
		if len(list) > 0 {
			name = api.DNSRecordNameIPv6(s.name)
		}
		list = append(list, dnsRecord(s, ic, service, name, t, targets[t]))
	}
	return list
}

func dnsRecord(s settings, ic *operatorv1.IngressController, service *corev1.Service, name string, t iov1.DNSRecordType, targets []string) *iov1.DNSRecord {
	d := &iov1.DNSRecord{ObjectMeta: childMeta(s.name, name)}
	d.Namespace = api.OperatorNamespace
	d.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: operatorv1.GroupVersion.String(), Kind: "IngressController", Name: ic.Name, UID: ic.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	for _, key := range []string{api.AnnotationTargetZone, api.AnnotationTargetDualStack} {
		if v := service.Annotations[key]; v != "" {
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
	if s.strategy.LoadBalancer.DNSManagementPolicy == operatorv1.UnmanagedLoadBalancerDNS || s.nameByService {
		policy = iov1.UnmanagedDNS
	}
	d.Spec = iov1.DNSRecordSpec{
		DNSName: "*." + s.domain + ".", RecordType: t, Targets: slices.Compact(targets), RecordTTL: s.recordTTL, DNSManagementPolicy: policy,
	}
	return d
}

func changedDNSRecord(live, desired *iov1.DNSRecord) (*iov1.DNSRecord, bool) {
	updated := live.DeepCopy()
	changed := mergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !equality.Semantic.DeepEqual(updated.Spec, desired.Spec) {
		updated.Spec = desired.Spec
		changed = true
	}
	return updated, changed
}

// ensureDNSRecords writes the DNSRecords. A load balancer that has lost its
// address for a while keeps its name.
func (r *Reconciler) ensureDNSRecords(ctx context.Context, in *statusInput) error {
	wanted := desiredDNSRecords(in.s, in.ic, in.loadBalancer)
	if len(wanted) == 0 && in.s.strategy.Type == operatorv1.LoadBalancerServiceStrategyType {
		return r.observeDNSRecords(ctx, in)
	}
	for _, name := range []string{api.DNSRecordName(in.s.name), api.DNSRecordNameIPv6(in.s.name)} {
		c := child[*iov1.DNSRecord]{ic: in.s.name, empty: &iov1.DNSRecord{}, changed: changedDNSRecord, unwanted: true}
		c.desired = &iov1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: name}}
		if i := slices.IndexFunc(wanted, func(d *iov1.DNSRecord) bool { return d.Name == name }); i >= 0 {
			c.desired, c.unwanted = wanted[i], false
		}
		live, err := ensure(ctx, r, c)
		if err != nil {
			return err
		}
		if !c.unwanted {
			in.records = append(in.records, *live)
		}
	}
	return nil
}

// observeDNSRecords reads the DNSRecords of an IngressController.
func (r *Reconciler) observeDNSRecords(ctx context.Context, in *statusInput) error {
	list := &iov1.DNSRecordList{}
	if err := r.client.List(ctx, list, client.InNamespace(api.OperatorNamespace), client.MatchingLabels{api.LabelOwningIngressController: in.s.name}); err != nil {
		return fmt.Errorf("list DNSRecords: %w", err)
	}
	in.records = list.Items
	return nil
}

// removeDNSRecords deletes the DNSRecords and reports whether all are gone, and
// with them the names: clients must not be led to what is about to go.
func (r *Reconciler) removeDNSRecords(ctx context.Context, ic string) (bool, error) {
	gone := true
	for _, name := range []string{api.DNSRecordName(ic), api.DNSRecordNameIPv6(ic)} {
		d := &iov1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: api.OperatorNamespace, Name: name}}
		if err := r.deleteOwned(ctx, ic, d); err != nil {
			return false, err
		}
		err := r.client.Get(ctx, client.ObjectKeyFromObject(d), d)
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

// dnsConditions say whether the wildcard name leads to the routers, and if not,
// why.
func dnsConditions(in statusInput) []condition {
	lb := in.s.strategy.LoadBalancer
	switch {
	case in.s.strategy.Type != operatorv1.LoadBalancerServiceStrategyType:
		return []condition{isFalse(conditionDNSManaged, "UnsupportedEndpointPublishingStrategy",
			"the publishing strategy "+string(in.s.strategy.Type)+" has no load balancer that a name could lead to")}
	case in.s.nameByService:
		return []condition{isFalse(conditionDNSManaged, "UnmanagedLoadBalancerDNS",
			"external-dns publishes *."+in.s.domain+", as the annotation "+annotationExternalName+" of the LoadBalancer service asks it to")}
	case !in.dns && in.s.notOurName == "":
		return []condition{isFalse(conditionDNSManaged, api.ReasonNoDNSZones,
			"the operator publishes no names (flag --dns); *."+in.s.domain+" must be published by somebody else")}
	case in.s.notOurName != "":
		return []condition{isFalse(conditionDNSManaged, "UnmanagedLoadBalancerDNS",
			in.s.notOurName+"; *."+in.s.domain+" must be published by somebody else")}
	case lb != nil && lb.DNSManagementPolicy == operatorv1.UnmanagedLoadBalancerDNS:
		return []condition{isFalse(conditionDNSManaged, "UnmanagedLoadBalancerDNS",
			"dnsManagementPolicy is Unmanaged; *."+in.s.domain+" must be published by somebody else")}
	}
	managed := isTrue(conditionDNSManaged, "Normal", "The wildcard name is published by the operator")
	return []condition{managed, dnsReady(in.records)}
}

// dnsReady joins what all zones of all records say.
func dnsReady(records []iov1.DNSRecord) condition {
	const kind = conditionDNSReady
	var failed, open, pending []string
	zones := 0
	for _, d := range records {
		for _, z := range d.Status.Zones {
			for _, c := range z.Conditions {
				if c.Type != iov1.DNSRecordPublishedConditionType {
					continue
				}
				zones++
				text := strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", d.Spec.RecordType, z.DNSZone.ID, c.Reason, c.Message))
				switch {
				case c.Status == string(operatorv1.ConditionFalse):
					failed = append(failed, text)
				case c.Reason == string(api.ReasonDNSPending):
					pending = append(pending, text)
				case c.Status == string(operatorv1.ConditionUnknown):
					open = append(open, text)
				}
			}
		}
	}
	switch {
	case len(records) == 0:
		return isFalse(kind, api.ReasonDNSRecordMissing, "The wildcard record resource was not found; it is made once the load balancer has an address")
	case zones == 0:
		return isFalse(kind, api.ReasonNoZones, "The record isn't present in any zones")
	case len(failed) > 0:
		return isFalse(kind, api.ReasonFailedZones, "The record failed to be published: "+strings.Join(failed, "; "))
	case len(open) > 0:
		return isFalse(kind, api.ReasonUnknownZones, "Publishing of the record is not known to have succeeded: "+strings.Join(open, "; "))
	}
	if len(pending) > 0 {
		return unknown(kind, api.ReasonDNSPending, "The record is not published yet: "+strings.Join(pending, "; "))
	}
	return isTrue(kind, "NoFailedZones", "The record is published in all zones")
}
