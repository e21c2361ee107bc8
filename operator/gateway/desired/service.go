package desired

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/api/gateway"
	"github.com/fairlead/fairlead/operator/service"
)

// annotationCopied lists, on the Service, the labels and annotations that are from
// spec.infrastructure, so that they are removed when the Gateway does not have them any
// more, and those of others stay.
const annotationCopied = "fairlead.dev/from-gateway"

// The ports of nodes that Kubernetes gives to Services by default.
const (
	firstNodePort = 30000
	lastNodePort  = 32767
)

// Meta returns the metadata of an object that is made for a Gateway.
func Meta(g *gatewayv1.Gateway, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: g.Namespace,
		Name:      name,
		Labels:    map[string]string{gateway.LabelGateway: gateway.LabelValue(g.Name), gateway.LabelManagedBy: gateway.ManagedBy},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: g.Name, UID: g.UID, Controller: new(true),
		}},
	}
}

// Owner returns the Gateway that an object was made for, and whether it was made by the
// operator: it has our label, and a Gateway as its controller.
func Owner(o metav1.Object) (metav1.OwnerReference, bool) {
	ref := metav1.GetControllerOf(o)
	if ref == nil || ref.Kind != "Gateway" || !strings.HasPrefix(ref.APIVersion, gatewayv1.GroupName+"/") || o.GetLabels()[gateway.LabelManagedBy] != gateway.ManagedBy {
		return metav1.OwnerReference{}, false
	}
	return *ref, true
}

// DesiredService returns the Service of a Gateway, nil if there is nothing that it could
// lead to, or if it cannot be as the Gateway asks. Then an existing one stays as it is.
func (in Input) DesiredService() *corev1.Service {
	ports := in.servicePorts()
	if len(ports) == 0 || in.unusable() != "" {
		return nil
	}
	s := &corev1.Service{ObjectMeta: Meta(in.Gateway, gateway.ServiceName(in.Gateway.Name)), Spec: corev1.ServiceSpec{Ports: ports}}
	in.copyInfrastructure(s)
	switch in.Settings.Strategy.Type {
	case operatorv1.PrivateStrategyType:
		s.Spec.Type = corev1.ServiceTypeClusterIP
	case operatorv1.NodePortServiceStrategyType:
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyLocal
		for i, p := range s.Spec.Ports {
			if p.Port >= firstNodePort && p.Port <= lastNodePort {
				s.Spec.Ports[i].NodePort = p.Port
			}
		}
	case operatorv1.LoadBalancerServiceStrategyType, operatorv1.HostNetworkStrategyType:
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
		in.forLoadBalancer(s)
	}
	return s
}

// forLoadBalancer asks for the addresses, from who gives them for the IngressController
// too, and limits clients as it does.
func (in Input) forLoadBalancer(s *corev1.Service) {
	s.Spec.LoadBalancerSourceRanges = slices.Clone(in.Settings.SourceRanges)
	// Speakers announce the address only where a router says that it serves.
	s.Annotations[api.AnnotationProbe] = fmt.Sprintf(":%d/healthz/ready", in.Settings.Ports.Stats)
	if class := in.Settings.CloudClass; class != "" {
		s.Spec.LoadBalancerClass = &class
		maps.Copy(s.Annotations, in.Settings.Dialect.Annotations(in.Settings.Wish()))
		return
	}
	ips := requested(in.Gateway)
	if len(ips) == 0 {
		return
	}
	s.Annotations[api.AnnotationLoadBalancerIPs] = joined(ips)
	for _, ip := range ips {
		s.Spec.IPFamilies = append(s.Spec.IPFamilies, familyOf(ip.Is4()))
	}
	policy := corev1.IPFamilyPolicySingleStack
	if len(ips) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	s.Spec.IPFamilyPolicy = &policy
}

func familyOf(is4 bool) corev1.IPFamily {
	if is4 {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// servicePorts returns a port for each one that has a slot.
func (in Input) servicePorts() []corev1.ServicePort {
	var list []corev1.ServicePort
	for _, port := range slices.SortedFunc(maps.Keys(in.Slots), gateway.ComparePorts) {
		protocol := corev1.ProtocolTCP
		if port.UDP {
			protocol = corev1.ProtocolUDP
		}
		list = append(list, corev1.ServicePort{Name: portName(port), Protocol: protocol, Port: port.Number, TargetPort: intstr.FromInt32(in.target(port))})
	}
	return list
}

// portName is the name of a port in the Service and the EndpointSlices.
func portName(port gateway.Port) string {
	if port.UDP {
		return fmt.Sprintf("port-%d-udp", port.Number)
	}
	return fmt.Sprintf("port-%d", port.Number)
}

// copyInfrastructure copies labels and annotations. Ours win, and addresses are asked
// for in spec.addresses alone.
func (in Input) copyInfrastructure(s *corev1.Service) {
	s.Annotations = map[string]string{}
	i := in.Gateway.Spec.Infrastructure
	if i == nil {
		return
	}
	var copied []string
	for key, value := range i.Labels {
		if _, ours := s.Labels[string(key)]; !ours {
			s.Labels[string(key)] = string(value)
			copied = append(copied, "label "+string(key))
		}
	}
	for key, value := range i.Annotations {
		if !reserved(string(key)) {
			s.Annotations[string(key)] = string(value)
			copied = append(copied, "annotation "+string(key))
		}
	}
	if len(copied) > 0 {
		slices.Sort(copied)
		s.Annotations[annotationCopied] = strings.Join(copied, ",")
	}
}

// reserved reports whether an annotation has a meaning that other fields decide.
func reserved(key string) bool {
	switch strings.Replace(key, api.AnnotationPrefixDeprecated, "metallb.io/", 1) {
	case api.AnnotationLoadBalancerIPs, api.AnnotationAllocatedFromPool, api.AnnotationProbe, annotationCopied:
		return true
	}
	return false
}

// ChangedService returns the live Service brought in line with the desired one, and
// whether that changes anything.
func ChangedService(live, desired *corev1.Service) (*corev1.Service, bool) {
	base := live.DeepCopy()
	removed := withoutFormer(base, desired)
	updated, changed := service.Changed(base, desired)
	for i, p := range desired.Spec.Ports {
		if p.NodePort != 0 && updated.Spec.Ports[i].NodePort != p.NodePort {
			updated.Spec.Ports[i].NodePort, changed = p.NodePort, true
		}
	}
	want := desired.Spec.IPFamilyPolicy
	if want != nil && (updated.Spec.IPFamilyPolicy == nil || *updated.Spec.IPFamilyPolicy != *want || !slices.Equal(updated.Spec.IPFamilies, desired.Spec.IPFamilies)) {
		updated.Spec.IPFamilyPolicy, updated.Spec.IPFamilies, changed = new(*want), slices.Clone(desired.Spec.IPFamilies), true
	}
	return updated, changed || removed
}

// withoutFormer removes what was copied from the Gateway or asked for once, and is not
// wanted any more.
func withoutFormer(live, desired *corev1.Service) bool {
	changed := false
	drop := func(from, keep map[string]string, key string) {
		if _, wanted := keep[key]; wanted {
			return
		}
		if _, there := from[key]; there {
			delete(from, key)
			changed = true
		}
	}
	for entry := range strings.SplitSeq(live.Annotations[annotationCopied], ",") {
		kind, key, _ := strings.Cut(entry, " ")
		switch kind {
		case "label":
			drop(live.Labels, desired.Labels, key)
		case "annotation":
			drop(live.Annotations, desired.Annotations, key)
		}
	}
	drop(live.Annotations, desired.Annotations, annotationCopied)
	for _, key := range []string{api.AnnotationLoadBalancerIPs, api.AnnotationPrefixDeprecated + "loadBalancerIPs"} {
		drop(live.Annotations, desired.Annotations, key)
	}
	return changed
}

// nodePorts lists the ports of nodes behind which the Gateway is, for a message.
func (in Input) nodePorts() string {
	s, at := in.entry(), "nodes serve ports of the Gateway at ports of their own, each of which one Gateway can have: "
	if in.AtRouter() {
		at = "nodes serve the ports of the routers at ports of their own: "
	}
	ports := slices.SortedFunc(slices.Values(s.Spec.Ports), func(a, b corev1.ServicePort) int { return cmp.Compare(a.Port, b.Port) })
	var list []string
	for _, p := range ports {
		port := gateway.Port{Number: p.Port, UDP: p.Protocol == corev1.ProtocolUDP}
		list = append(list, fmt.Sprintf("%s at port %d", port, p.NodePort))
	}
	return at + strings.Join(list, ", ")
}
