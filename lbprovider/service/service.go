// Package service reads from a Service what it asks of the address provider:
// whether it is ours, which families and addresses it wants, and with whom it
// may share. It is pure; controller and speaker both use it, so that they
// always agree.
package service

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead/fairlead/api"
)

// Family is an IP family.
type Family string

// The families, as Kubernetes writes them.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// FamilyOf returns the family of addr.
func FamilyOf(addr netip.Addr) Family {
	if addr.Is4() {
		return IPv4
	}
	return IPv6
}

// Port is a port of a Service, comparable.
type Port struct {
	Protocol string
	Number   int32
}

// String returns the form "TCP/80".
func (p Port) String() string { return fmt.Sprintf("%s/%d", p.Protocol, p.Number) }

// Request is what a Service asks for.
type Request struct {
	// Key is "namespace/name".
	Key       string
	Namespace string
	Labels    labels.Set
	// Families are those of the cluster IPs, the primary one first.
	Families []Family
	// Headless says that there is a cluster IP, but none with a family.
	Headless bool
	// Require and Prefer stand for ipFamilyPolicy RequireDualStack and PreferDualStack.
	Require, Prefer bool
	// Addresses are the requested ones, IPv4 first; nil if any will do.
	Addresses []netip.Addr
	// Pool is the requested pool, or empty.
	Pool string
	// SharingKey is empty if the Service shares with no other.
	SharingKey string
	// BackendKey is equal for Services that lead to the same pods; empty
	// unless externalTrafficPolicy is Local.
	BackendKey string
	Ports      []Port
	// Deprecated are the annotations with the old prefix that the Service uses.
	Deprecated []string
}

// Classes are the values of spec.loadBalancerClass that are ours.
type Classes struct {
	// Names are the class names.
	Names []string
	// Unset says that Services without a class are ours.
	Unset bool
}

// DefaultClasses returns the classes that are ours unless the user says
// otherwise: no class at all, and Fairlead's own.
func DefaultClasses() Classes {
	return Classes{Names: []string{api.LoadBalancerClass}, Unset: true}
}

// Ours says whether svc asks for a load balancer of one of the classes.
func (c Classes) Ours(svc *corev1.Service) bool {
	if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return false
	}
	if svc.Spec.LoadBalancerClass == nil || *svc.Spec.LoadBalancerClass == "" {
		return c.Unset
	}
	return slices.Contains(c.Names, *svc.Spec.LoadBalancerClass)
}

// Read returns what svc asks for. A finding means that the request contradicts
// itself or cannot be read; the rest of the Request is still valid.
func Read(svc *corev1.Service) (Request, *api.Finding) {
	req := Request{
		Key: svc.Namespace + "/" + svc.Name, Namespace: svc.Namespace, Labels: svc.Labels,
	}
	if p := svc.Spec.IPFamilyPolicy; p != nil {
		req.Require = *p == corev1.IPFamilyPolicyRequireDualStack
		req.Prefer = *p == corev1.IPFamilyPolicyPreferDualStack
	}
	req.Families = families(svc)
	req.Headless = len(req.Families) == 0 && svc.Spec.ClusterIP != ""
	for _, p := range svc.Spec.Ports {
		req.Ports = append(req.Ports, Port{Protocol: string(p.Protocol), Number: p.Port})
	}
	for _, key := range []string{api.AnnotationAddressPool, api.AnnotationLoadBalancerIPs, api.AnnotationAllowSharedIP} {
		if old := deprecated(key); svc.Annotations[old] != "" {
			req.Deprecated = append(req.Deprecated, old)
		}
	}
	req.Pool, _ = Annotation(svc, api.AnnotationAddressPool)
	req.SharingKey, _ = Annotation(svc, api.AnnotationAllowSharedIP)
	if svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal {
		req.BackendKey = labels.Set(svc.Spec.Selector).String()
	}
	var problem *api.Finding
	req.Addresses, problem = requested(svc)
	return req, problem
}

// Annotation returns the value of the annotation key of svc, also if it is
// written with the old prefix. The new prefix wins if both are present.
func Annotation(svc *corev1.Service, key string) (value string, present bool) {
	if v, ok := svc.Annotations[key]; ok {
		return v, true
	}
	v, ok := svc.Annotations[deprecated(key)]
	return v, ok
}

func deprecated(key string) string {
	return api.AnnotationPrefixDeprecated + strings.TrimPrefix(key, "metallb.io/")
}

func families(svc *corev1.Service) []Family {
	ips := svc.Spec.ClusterIPs
	if len(ips) == 0 {
		ips = []string{svc.Spec.ClusterIP}
	}
	var out []Family
	for _, ip := range ips {
		if addr, err := netip.ParseAddr(ip); err == nil && !slices.Contains(out, FamilyOf(addr)) {
			out = append(out, FamilyOf(addr))
		}
	}
	return out
}

func requested(svc *corev1.Service) ([]netip.Addr, *api.Finding) {
	refuse := func(field, format string, args ...any) *api.Finding {
		return &api.Finding{
			Object: Ref(svc), Field: field, Reason: api.ReasonLoadBalancerFailed,
			Message: fmt.Sprintf(format, args...), Severity: api.SeverityError,
			Effect: "the service keeps the address it has, if any",
		}
	}
	field := "metadata.annotations[" + api.AnnotationLoadBalancerIPs + "]"
	text, _ := Annotation(svc, api.AnnotationLoadBalancerIPs)
	if text != "" && svc.Spec.LoadBalancerIP != "" {
		return nil, refuse(field, "the service can have either the annotation or spec.loadBalancerIP, not both")
	}
	if text == "" {
		text, field = svc.Spec.LoadBalancerIP, "spec.loadBalancerIP"
	}
	if text == "" {
		return nil, nil
	}
	var out []netip.Addr
	for part := range strings.SplitSeq(text, ",") {
		addr, err := netip.ParseAddr(strings.TrimSpace(part))
		if err != nil || addr.Zone() != "" {
			return nil, refuse(field, "%q is not an address", strings.TrimSpace(part))
		}
		addr = addr.Unmap()
		if slices.ContainsFunc(out, func(o netip.Addr) bool { return FamilyOf(o) == FamilyOf(addr) }) {
			return nil, refuse(field, "%q has more than one %s address", text, FamilyOf(addr))
		}
		out = append(out, addr)
	}
	SortAddresses(out)
	return out, nil
}

// StatusAddresses returns the addresses in svc's status, IPv4 first, without
// entries that have only a host name. Invalid says that an entry has neither.
func StatusAddresses(svc *corev1.Service) (addrs []netip.Addr, invalid bool) {
	for _, in := range svc.Status.LoadBalancer.Ingress {
		addr, err := netip.ParseAddr(in.IP)
		if err != nil {
			invalid = true
			continue
		}
		addrs = append(addrs, addr)
	}
	SortAddresses(addrs)
	return addrs, invalid
}

// SortAddresses sorts in place: IPv4 before IPv6, then by value.
func SortAddresses(addrs []netip.Addr) { slices.SortFunc(addrs, netip.Addr.Compare) }

// Ref names svc in findings.
func Ref(svc *corev1.Service) api.ObjectRef {
	return api.ObjectRef{Kind: "Service", Namespace: svc.Namespace, Name: svc.Name}
}
