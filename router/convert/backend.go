package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/door/backend"
	"github.com/fairlead/fairlead/router/model"
)

// backendRef is a Service that gets requests of a Route, by a port of the Service.
type backendRef struct {
	name     string
	port     int32
	portName string
	protocol string
	weight   int32
}

// readBackends finds the Services of a draft. Where the number of a port is not known, the
// routes would lead nowhere, so they are closed.
func (c *conversion) readBackends(d *draft) {
	type target struct {
		routev1.RouteTargetReference
		field string
	}
	all := []target{{d.Route.Spec.To, "spec.to"}}
	for i, t := range d.Route.Spec.AlternateBackends {
		all = append(all, target{t, fmt.Sprintf("spec.alternateBackends[%d]", i)})
	}
	seen := map[string]bool{}
	for _, t := range all {
		if t.Kind != "" && t.Kind != string(door.KindService) || seen[t.Name] {
			continue // which gets no requests of the Route
		}
		seen[t.Name] = true
		service, why := c.in.Service(model.Object{Kind: door.KindService, Namespace: d.Route.Namespace, Name: t.Name})
		switch {
		case service == nil && why != "":
			c.close(d, t.field+".name", "Service "+t.Name+" "+why+", so the number of its port is not known; add the Service and convert again")
			return
		case service == nil:
			c.lose(d, t.field+".name", "Service "+t.Name+" does not exist")
			continue
		}
		port, problem := c.portOf(d, service)
		if problem != "" {
			c.close(d, "spec.port.targetPort", problem)
			return
		}
		ref := backendRef{name: t.Name, port: port.Port, portName: port.Name, weight: int32(backend.ClampWeight(t.Weight))}
		if port.AppProtocol != nil {
			ref.protocol = *port.AppProtocol
		}
		d.backends, d.port = append(d.backends, ref), cmp.Or(d.port, port.Port)
	}
	if len(d.backends) == 0 {
		c.close(d, "spec.to", "no Service of it exists")
		return
	}
	c.readGRPC(d)
}

// readGRPC has a Route become a GRPCRoute if all of its Services say that they speak gRPC: an
// HTTPRoute cannot lead to these.
func (c *conversion) readGRPC(d *draft) {
	speaks := func(b backendRef) bool { return b.protocol == "grpc" }
	if d.claim.Termination == model.Passthrough || !slices.ContainsFunc(d.backends, speaks) {
		return
	}
	_, calls := d.match.methods()
	others := slices.ContainsFunc(d.backends, func(b backendRef) bool { return !speaks(b) })
	switch {
	case others:
		c.close(d, "spec.alternateBackends", "some of its Services have the appProtocol grpc and some have not; give all of them kubernetes.io/h2c")
	case !calls:
		c.close(d, "spec.path", "a GRPCRoute is for a service or a method of gRPC, and this path is neither; give the Service the appProtocol kubernetes.io/h2c, which an HTTPRoute can lead to")
	default:
		d.grpc = true
	}
}

// portOf returns the port of a Service that a Route means by the name or number of a port of
// the pods, or why there is none.
func (c *conversion) portOf(d *draft, s *corev1.Service) (p corev1.ServicePort, problem string) {
	var ports []corev1.ServicePort
	for _, p := range s.Spec.Ports {
		if p.Protocol == "" || p.Protocol == corev1.ProtocolTCP {
			ports = append(ports, p)
		}
	}
	slices.SortStableFunc(ports, func(a, b corev1.ServicePort) int { return cmp.Compare(a.Name, b.Name) })
	if len(ports) == 0 {
		return p, "Service " + s.Name + " has no port for connections"
	}
	if d.Route.Spec.Port == nil {
		return ports[0], "" // as the router chooses
	}
	wanted := d.Route.Spec.Port.TargetPort.String()
	find := func(good func(*corev1.ServicePort) bool) bool {
		i := slices.IndexFunc(ports, func(p corev1.ServicePort) bool { return good(&p) })
		if i >= 0 {
			p = ports[i]
		}
		return i >= 0
	}
	if find(func(p *corev1.ServicePort) bool { return p.Name == wanted }) {
		return p, ""
	}
	number, err := strconv.ParseInt(wanted, 10, 32)
	named := c.slicePort(d, s, int32(number))
	switch {
	case err != nil:
	case find(func(p *corev1.ServicePort) bool {
		return p.TargetPort.IntValue() == int(number) || p.TargetPort.String() == "0" && int64(p.Port) == number
	}), named != nil && find(func(p *corev1.ServicePort) bool { return p.Name == *named }):
		return p, ""
	}
	return p, "Service " + s.Name + " has no port that is known to lead to port " + wanted + " of pods, and backendRefs need the number of the Service's port"
}

// slicePort returns the name of the Service's port that leads to a port of the pods, as
// EndpointSlices have it, or nil.
func (c *conversion) slicePort(d *draft, s *corev1.Service, number int32) *string {
	for _, slice := range c.in.Slices(model.Object{Kind: door.KindService, Namespace: d.Route.Namespace, Name: s.Name}) {
		for _, p := range slice.Ports {
			if p.Port != nil && *p.Port == number && p.Name != nil {
				return p.Name
			}
		}
	}
	return nil
}

// objectRefs returns the backends for a rule.
func (d *draft) objectRefs() []gatewayv1.BackendRef {
	refs := make([]gatewayv1.BackendRef, 0, len(d.backends))
	for _, b := range d.backends {
		port := b.port
		ref := gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(b.name), Port: &port}}
		if len(d.backends) > 1 || b.weight == 0 {
			ref.Weight = &b.weight
		}
		refs = append(refs, ref)
	}
	return refs
}

// readPassthrough reports what a TLSRoute cannot say. Policies are not for TLSRoutes, so what
// protects closes.
func (c *conversion) readPassthrough(d *draft) {
	p := d.claim.Backend.Policy()
	if p.KeepsOut() {
		c.close(d, "", "lists of clients or limits protect it, and TLSRoutes have none; admit clients in the pods, or by spec.loadBalancerSourceRanges of the Service in front")
		return
	}
	if d.claim.Backend.Profile.Tunnel != 0 {
		c.lose(d, annotation(api.AnnotationTimeoutTunnel), "connections of TLSRoutes may be idle as long as those of the router (spec.tuningOptions.tunnelTimeout of the IngressController)")
	}
}
