package filesource

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/explain"
)

// nameEndpoints gives a Service without EndpointSlices those that its annotation asks
// for, and returns what is wrong with the annotation.
func nameEndpoints(o *explain.Objects, s *corev1.Service, hasSlices bool) []api.Finding {
	text, named := s.Annotations[api.AnnotationEndpoints]
	if !named {
		return nil
	}
	plain := s.DeepCopy()
	delete(plain.Annotations, api.AnnotationEndpoints) // a cluster's router refuses it
	o.Add(plain)
	find := func(message, effect string) []api.Finding {
		return []api.Finding{{
			Object: explain.Ref(s), Field: "metadata.annotations[" + api.AnnotationEndpoints + "]",
			Reason: api.ReasonInvalidAnnotation, Severity: api.SeverityWarning, Message: message, Effect: effect,
		}}
	}
	if hasSlices {
		return find("the Service has EndpointSlices as well", "the annotation is ignored")
	}
	var findings []api.Finding
	for i, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		at, err := netip.ParseAddrPort(word)
		if err != nil || at.Port() == 0 {
			findings = append(findings, find(fmt.Sprintf("%q is not an address with a port, such as 127.0.0.1:3000 or [::1]:3000", word), "it is left out")...)
			continue
		}
		o.Add(sliceOf(plain, i, at))
	}
	return findings
}

// sliceOf is an EndpointSlice with one address, for the Service's port that has its
// number as target, or else for the first one.
func sliceOf(s *corev1.Service, n int, at netip.AddrPort) *discoveryv1.EndpointSlice {
	number, protocol := int32(at.Port()), corev1.ProtocolTCP
	name, appProtocol := "", (*string)(nil)
	for i, p := range s.Spec.Ports {
		if i == 0 || p.TargetPort.IntVal == number || p.TargetPort.IntVal == 0 && p.Port == number {
			name, appProtocol = p.Name, p.AppProtocol
		}
	}
	family := discoveryv1.AddressTypeIPv4
	if at.Addr().Is6() && !at.Addr().Is4In6() {
		family = discoveryv1.AddressTypeIPv6
	}
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: fmt.Sprintf("%s-annotation-%d", s.Name, n),
			Labels: map[string]string{discoveryv1.LabelServiceName: s.Name},
		},
		AddressType: family,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &number, Protocol: &protocol, AppProtocol: appProtocol}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{at.Addr().String()}}},
	}
}
