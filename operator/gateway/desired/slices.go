package desired

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead/fairlead/operator/child"
	"github.com/fairlead/fairlead/operator/pod"
)

// SliceManager is the value of the label endpointslice.kubernetes.io/managed-by, which
// keeps Kubernetes' own controllers away.
const SliceManager = "fairlead.dev"

// DesiredSlices returns the EndpointSlices of a Gateway's Service, one for each of its
// address families: the router pods at the slots. Without slots they have no endpoints,
// so that the Service leads nowhere.
func (in Input) DesiredSlices() []*discoveryv1.EndpointSlice {
	if in.Service == nil {
		return nil
	}
	var list []*discoveryv1.EndpointSlice
	for _, family := range in.Service.Spec.IPFamilies {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta:  Meta(in.Gateway, in.Service.Name+"-"+strings.ToLower(string(family))),
			AddressType: discoveryv1.AddressType(family),
		}
		s.Labels[discoveryv1.LabelServiceName] = in.Service.Name
		s.Labels[discoveryv1.LabelManagedBy] = SliceManager
		for _, p := range in.servicePorts() {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new(p.Name), Protocol: new(p.Protocol), Port: new(p.TargetPort.IntVal)})
		}
		if len(s.Ports) > 0 {
			s.Endpoints = in.endpoints(family)
		}
		list = append(list, s)
	}
	return list
}

// endpoints returns the router pods that have an address of the family, by address.
func (in Input) endpoints(family corev1.IPFamily) []discoveryv1.Endpoint {
	zones := map[string]string{}
	for _, n := range in.Nodes {
		zones[n.Name] = n.Labels[corev1.LabelTopologyZone]
	}
	var list []discoveryv1.Endpoint
	for _, p := range in.Pods {
		address, ok := addressOf(p, family)
		if !ok || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		answers := pod.Answers(p)
		e := discoveryv1.Endpoint{
			Addresses: []string{address},
			Conditions: discoveryv1.EndpointConditions{
				Ready: new(pod.Ready(p)), Serving: new(answers), Terminating: new(p.DeletionTimestamp != nil),
			},
			NodeName: new(p.Spec.NodeName),
		}
		if zone := zones[p.Spec.NodeName]; zone != "" {
			e.Zone = &zone
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b discoveryv1.Endpoint) int { return cmp.Compare(a.Addresses[0], b.Addresses[0]) })
	return list
}

func addressOf(p corev1.Pod, family corev1.IPFamily) (string, bool) {
	for _, i := range p.Status.PodIPs {
		if ip, err := netip.ParseAddr(i.IP); err == nil && familyOf(ip.Is4()) == family {
			return i.IP, true
		}
	}
	return "", false
}

// ChangedSlice returns the live EndpointSlice brought in line with the desired one, and
// whether that changes anything.
func ChangedSlice(live, desired *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, bool) {
	updated := live.DeepCopy()
	changed := child.MergeMeta(&updated.ObjectMeta, &desired.ObjectMeta)
	if !equality.Semantic.DeepEqual(updated.Ports, desired.Ports) || !equality.Semantic.DeepEqual(updated.Endpoints, desired.Endpoints) {
		updated.Ports, updated.Endpoints, changed = desired.Ports, desired.Endpoints, true
	}
	return updated, changed
}
