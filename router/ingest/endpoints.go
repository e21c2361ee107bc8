package ingest

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// endpoint is one address and port of a Service that may take requests.
type endpoint struct {
	id       string
	address  netip.AddrPort
	portName string
	h2c      bool
	// idle endpoints stand for pods that are asleep; targetPort is the pods'
	// port, since the address has the Service's.
	idle       bool
	targetPort string
}

// Service is what routes need of a Service: the little that a router keeps of
// each in memory.
type Service struct {
	// idle stands for its pods while they are asleep.
	idle []endpoint
}

// NewService reads a Service, which it does not hold on to.
func NewService(s *corev1.Service) *Service { return &Service{idle: idled(s)} }

// Equal reports whether two Services, neither of them nil, mean the same.
func (s *Service) Equal(o *Service) bool { return slices.Equal(s.idle, o.idle) }

// Slice is what routes need of an EndpointSlice.
type Slice struct {
	service string
	// ready endpoints take requests, draining ones are about to stop but still
	// serve.
	ready, draining []endpoint
}

// NewSlice reads an EndpointSlice, which it does not hold on to.
func NewSlice(s *discoveryv1.EndpointSlice) *Slice {
	service := s.Labels[discoveryv1.LabelServiceName]
	return &Slice{
		service: service,
		ready: collect(service, s, func(c discoveryv1.EndpointConditions) bool {
			return c.Ready == nil || *c.Ready
		}),
		draining: collect(service, s, func(c discoveryv1.EndpointConditions) bool {
			return c.Serving != nil && *c.Serving && c.Terminating != nil && *c.Terminating
		}),
	}
}

// Service returns the name of the Service that the slice belongs to, which is
// empty if it belongs to none.
func (s *Slice) Service() string { return s.service }

// Equal reports whether two slices, neither of them nil, mean the same.
func (s *Slice) Equal(o *Slice) bool {
	return s.service == o.service && slices.Equal(s.ready, o.ready) && slices.Equal(s.draining, o.draining)
}

// endpoints merges the slices of a Service. Ready endpoints count; when none
// is ready, those that are about to stop but still serve count instead.
func endpoints(of []*Slice) []endpoint {
	if ready := merge(of, func(s *Slice) []endpoint { return s.ready }); len(ready) > 0 {
		return ready
	}
	return merge(of, func(s *Slice) []endpoint { return s.draining })
}

// merge returns the endpoints of all slices by name, each once.
func merge(of []*Slice, which func(*Slice) []endpoint) []endpoint {
	var all []endpoint
	for _, s := range of {
		all = append(all, which(s)...)
	}
	slices.SortFunc(all, func(a, b endpoint) int { return strings.Compare(a.id, b.id) })
	return slices.CompactFunc(all, func(a, b endpoint) bool { return a.id == b.id })
}

func collect(service string, s *discoveryv1.EndpointSlice, takes func(discoveryv1.EndpointConditions) bool) []endpoint {
	if s.AddressType == discoveryv1.AddressTypeFQDN {
		return nil
	}
	var all []endpoint
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if !takes(e.Conditions) {
			continue
		}
		for _, addr := range addresses(e) {
			for _, p := range s.Ports {
				if tcp(p) {
					all = append(all, newEndpoint(service, e, addr, p))
				}
			}
		}
	}
	return slices.Clip(all)
}

// addresses returns the usable addresses of an endpoint.
func addresses(e *discoveryv1.Endpoint) []netip.Addr {
	var out []netip.Addr
	for _, text := range e.Addresses {
		if addr, err := netip.ParseAddr(text); err == nil && usable(addr) {
			out = append(out, addr)
		}
	}
	return out
}

func tcp(p discoveryv1.EndpointPort) bool {
	return p.Port != nil && *p.Port >= 1 && *p.Port <= 65535 && (p.Protocol == nil || *p.Protocol == corev1.ProtocolTCP)
}

func newEndpoint(service string, e *discoveryv1.Endpoint, addr netip.Addr, p discoveryv1.EndpointPort) endpoint {
	var name, protocol string
	if p.Name != nil {
		name = unique.Make(*p.Name).Value() // most Services have the same few
	}
	if p.AppProtocol != nil {
		protocol = *p.AppProtocol
	}
	prefix := "ept"
	if e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
		prefix = "pod:" + sanitize(e.TargetRef.Name)
	}
	ap := netip.AddrPortFrom(addr, uint16(*p.Port))
	id := strings.Join([]string{prefix, service, sanitize(name), addr.String(), strconv.Itoa(int(*p.Port))}, ":")
	return endpoint{id: id, address: ap, portName: name, h2c: protocol == "h2c" || protocol == "kubernetes.io/h2c"}
}

// annotationIdledAt on a Service says that its pods were scaled to zero and
// wake at the first request to its cluster address.
const annotationIdledAt = "idling.alpha.openshift.io/idled-at"

// idled returns the cluster address of an idled Service, one endpoint for each
// port: a request that goes there wakes the pods. A health check would, too,
// so these are never checked.
func idled(s *corev1.Service) []endpoint {
	if s.Annotations[annotationIdledAt] == "" {
		return nil
	}
	addr, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil {
		return nil // headless
	}
	var all []endpoint
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			continue
		}
		e := newEndpoint(s.Name, &discoveryv1.Endpoint{}, addr, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, AppProtocol: p.AppProtocol})
		e.idle, e.targetPort = true, p.TargetPort.String()
		all = append(all, e)
	}
	return all
}

// maxName is the longest name that a pod can have.
const maxName = 253

// sanitize keeps what the API server does not validate, such as the name in a
// hand-written targetRef, from being anything but a word in a server's name,
// and from being longer than HAProxy takes in one command.
func sanitize(s string) string {
	if len(s) > maxName {
		s = s[:maxName-32] + md5Hex(s)
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// withPort selects the endpoints whose port has the name or, as decimal text,
// the number.
func withPort(all []endpoint, port string) []endpoint {
	var out []endpoint
	for _, e := range all {
		if e.portName == port || strconv.Itoa(int(e.address.Port())) == port || e.idle && e.targetPort == port {
			out = append(out, e)
		}
	}
	return out
}

// portNames returns the distinct port names, sorted.
func portNames(all []endpoint) []string {
	var names []string
	for _, e := range all {
		names = append(names, e.portName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// serverWeights computes HAProxy weights (0 to 256) for the endpoints of each
// service, so that the services together get traffic in the ratio of their
// weights, as OpenShift's router computes them.
func serverWeights(weights []int, counts []int) []int {
	out := make([]int, len(weights))
	active := 0
	var top float32
	for i, w := range weights {
		if w > 0 && counts[i] > 0 {
			active++
			top = max(top, float32(w)/float32(counts[i]))
		}
	}
	for i, w := range weights {
		switch {
		case w == 0 || counts[i] == 0:
		case active == 1:
			out[i] = 1
		default:
			out[i] = max(int(float32(w)/float32(counts[i])*maxWeight/top), 1)
		}
	}
	return out
}

// maxWeight is the largest weight of a HAProxy server.
const maxWeight = 256

// clampWeight bounds a route's own weights (route.openshift.io/v1).
func clampWeight(w *int32) int {
	if w == nil {
		return 1
	}
	return int(min(max(*w, 0), maxWeight))
}
