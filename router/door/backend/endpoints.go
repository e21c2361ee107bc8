// Package backend is what all front doors share: Services and EndpointSlices,
// reduced to what a router needs of them, and the weights of servers. It is pure.
package backend

import (
	"crypto/md5" //nolint:gosec // names that OpenShift's clients know; no secret
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/policy"
)

// Endpoint is one address and port of a Service that may take requests.
type Endpoint struct {
	// ID is unique within a backend, and names its server.
	ID       string
	Address  netip.AddrPort
	PortName string
	// H2C endpoints speak HTTP/2 without TLS.
	H2C bool
	// Idle endpoints stand for pods that are asleep; targetPort is the pods'
	// port, since the address has the Service's.
	Idle       bool
	targetPort string
}

// Service is what routes need of a Service: the little that a router keeps of
// each in memory.
type Service struct {
	// idle stands for its pods while they are asleep.
	idle []Endpoint
	// Named says that its endpoints are named by api.AnnotationEndpoints, which
	// only a standalone router reads.
	Named bool
	// Policy is what its annotations say for all Routes to it; most often nil.
	Policy *policy.ServicePolicy
	// ports are those of protocols TCP and UDP.
	ports []Port
}

// Port is a port of a Service.
type Port struct {
	Number int32
	// Datagrams ports are of protocol UDP.
	Datagrams bool
	// Name is also that of the ports of its EndpointSlices.
	Name string
	// Protocol is appProtocol, or empty.
	Protocol string
}

// Port returns the port of a Service for connections with a number.
func (s *Service) Port(number int32) (Port, bool) { return s.port(number, false) }

// DatagramPort returns the port of a Service for datagrams with a number.
func (s *Service) DatagramPort(number int32) (Port, bool) { return s.port(number, true) }

func (s *Service) port(number int32, datagrams bool) (Port, bool) {
	i := slices.IndexFunc(s.ports, func(p Port) bool { return p.Number == number && p.Datagrams == datagrams })
	if i < 0 {
		return Port{}, false
	}
	return s.ports[i], true
}

// HasPort reports whether a port of the Service for connections has a name.
func (s *Service) HasPort(name string) bool {
	return slices.ContainsFunc(s.ports, func(p Port) bool { return p.Name == name && !p.Datagrams })
}

// PortNumbers returns the numbers of a Service's ports, for datagrams or for connections.
func (s *Service) PortNumbers(datagrams bool) []int32 {
	numbers := make([]int32, 0, len(s.ports))
	for _, p := range s.ports {
		if p.Datagrams == datagrams {
			numbers = append(numbers, p.Number)
		}
	}
	return numbers
}

func portsOf(s *corev1.Service) []Port {
	var ports []Port
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP && p.Protocol != corev1.ProtocolUDP {
			continue
		}
		port := Port{Number: p.Port, Datagrams: p.Protocol == corev1.ProtocolUDP, Name: unique.Make(p.Name).Value()} // most Services have the same few
		if p.AppProtocol != nil {
			port.Protocol = unique.Make(*p.AppProtocol).Value()
		}
		ports = append(ports, port)
	}
	return slices.Clip(ports)
}

// NewService reads a Service, which it does not hold on to.
func NewService(s *corev1.Service) *Service {
	_, named := s.Annotations[api.AnnotationEndpoints]
	return &Service{idle: idled(s), Named: named, Policy: policy.ReadService(s), ports: portsOf(s)}
}

// Equal reports whether two Services, neither of them nil, mean the same.
func (s *Service) Equal(o *Service) bool {
	return s.Named == o.Named && slices.Equal(s.idle, o.idle) && slices.Equal(s.ports, o.ports) && s.Policy.Equal(o.Policy)
}

// Slice is what routes need of an EndpointSlice.
type Slice struct {
	service string
	// ready endpoints take requests, draining ones are about to stop but still
	// serve.
	ready, draining []Endpoint
	// datagrams are the same of ports for UDP, nil for none: few slices have any.
	datagrams *datagrams
}

type datagrams struct{ ready, draining []Endpoint }

// NewSlice reads an EndpointSlice, which it does not hold on to.
func NewSlice(s *discoveryv1.EndpointSlice) *Slice { return newSlice(s, usable) }

// NewLocalSlice does the same where endpoints may have loopback addresses: the
// programs of the machine that a standalone router runs on.
func NewLocalSlice(s *discoveryv1.EndpointSlice) *Slice {
	return newSlice(s, func(a netip.Addr) bool { return a.Unmap().IsLoopback() && a.Zone() == "" || usable(a) })
}

func newSlice(s *discoveryv1.EndpointSlice, usable func(netip.Addr) bool) *Slice {
	service := s.Labels[discoveryv1.LabelServiceName]
	ready := func(c discoveryv1.EndpointConditions) bool { return c.Ready == nil || *c.Ready }
	draining := func(c discoveryv1.EndpointConditions) bool {
		return c.Serving != nil && *c.Serving && c.Terminating != nil && *c.Terminating
	}
	out := &Slice{service: service, ready: collect(service, s, usable, ready, corev1.ProtocolTCP), draining: collect(service, s, usable, draining, corev1.ProtocolTCP)}
	udp := datagrams{collect(service, s, usable, ready, corev1.ProtocolUDP), collect(service, s, usable, draining, corev1.ProtocolUDP)}
	if len(udp.ready)+len(udp.draining) > 0 {
		out.datagrams = &udp
	}
	return out
}

// Service returns the name of the Service that the slice belongs to, which is
// empty if it belongs to none.
func (s *Slice) Service() string { return s.service }

// Equal reports whether two slices, neither of them nil, mean the same.
func (s *Slice) Equal(o *Slice) bool {
	a, b := s.ofDatagrams(), o.ofDatagrams()
	return s.service == o.service && slices.Equal(s.ready, o.ready) && slices.Equal(s.draining, o.draining) && slices.Equal(a.ready, b.ready) && slices.Equal(a.draining, b.draining)
}

func (s *Slice) ofDatagrams() datagrams {
	if s.datagrams == nil {
		return datagrams{}
	}
	return *s.datagrams
}

// Endpoints merges the slices of a Service. Ready endpoints count; when none
// is ready, those that are about to stop but still serve count instead, and when
// there are none of these either, what stands for pods that are asleep.
func (s *Service) Endpoints(of []*Slice) []Endpoint {
	if ready := merge(of, func(s *Slice) []Endpoint { return s.ready }); len(ready) > 0 {
		return ready
	}
	if draining := merge(of, func(s *Slice) []Endpoint { return s.draining }); len(draining) > 0 {
		return draining
	}
	return s.idle
}

// DatagramEndpoints merges what the slices of a Service have for UDP, as Endpoints does. A
// datagram wakes no pods.
func DatagramEndpoints(of []*Slice) []Endpoint {
	if ready := merge(of, func(s *Slice) []Endpoint { return s.ofDatagrams().ready }); len(ready) > 0 {
		return ready
	}
	return merge(of, func(s *Slice) []Endpoint { return s.ofDatagrams().draining })
}

// merge returns the endpoints of all slices by name, each once.
func merge(of []*Slice, which func(*Slice) []Endpoint) []Endpoint {
	var all []Endpoint
	for _, s := range of {
		all = append(all, which(s)...)
	}
	slices.SortFunc(all, func(a, b Endpoint) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(all, func(a, b Endpoint) bool { return a.ID == b.ID })
}

func collect(service string, s *discoveryv1.EndpointSlice, usable func(netip.Addr) bool, takes func(discoveryv1.EndpointConditions) bool, protocol corev1.Protocol) []Endpoint {
	if s.AddressType == discoveryv1.AddressTypeFQDN || !slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool { return speaks(p, protocol) }) {
		return nil
	}
	var all []Endpoint
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if !takes(e.Conditions) {
			continue
		}
		for _, addr := range addresses(e, usable) {
			for _, p := range s.Ports {
				if speaks(p, protocol) {
					all = append(all, newEndpoint(service, e, addr, p))
				}
			}
		}
	}
	return slices.Clip(all)
}

// addresses returns the usable addresses of an endpoint.
func addresses(e *discoveryv1.Endpoint, usable func(netip.Addr) bool) []netip.Addr {
	var out []netip.Addr
	for _, text := range e.Addresses {
		if addr, err := netip.ParseAddr(text); err == nil && usable(addr) {
			out = append(out, addr)
		}
	}
	return out
}

// speaks reports whether a port is of a protocol, by default TCP, and can be connected to.
func speaks(p discoveryv1.EndpointPort, protocol corev1.Protocol) bool {
	of := corev1.ProtocolTCP
	if p.Protocol != nil && *p.Protocol != "" {
		of = *p.Protocol
	}
	return of == protocol && p.Port != nil && *p.Port >= 1 && *p.Port <= 65535
}

func newEndpoint(service string, e *discoveryv1.Endpoint, addr netip.Addr, p discoveryv1.EndpointPort) Endpoint {
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
	return Endpoint{ID: id, Address: ap, PortName: name, H2C: protocol == "h2c" || protocol == "kubernetes.io/h2c"}
}

// annotationIdledAt on a Service says that its pods were scaled to zero and
// wake at the first request to its cluster address.
const annotationIdledAt = "idling.alpha.openshift.io/idled-at"

// idled returns the cluster address of an idled Service, one endpoint for each
// port: a request that goes there wakes the pods. A health check would, too,
// so these are never checked.
func idled(s *corev1.Service) []Endpoint {
	if s.Annotations[annotationIdledAt] == "" {
		return nil
	}
	addr, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil {
		return nil // headless
	}
	var all []Endpoint
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if p.Protocol != "" && p.Protocol != corev1.ProtocolTCP {
			continue
		}
		e := newEndpoint(s.Name, &discoveryv1.Endpoint{}, addr, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, AppProtocol: p.AppProtocol})
		e.Idle, e.targetPort = true, p.TargetPort.String()
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
		s = s[:maxName-32] + MD5(s)
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// WithPort selects the endpoints whose port has the name or, as decimal text,
// the number.
func WithPort(all []Endpoint, port string) []Endpoint {
	var out []Endpoint
	for _, e := range all {
		if e.PortName == port || strconv.Itoa(int(e.Address.Port())) == port || e.Idle && e.targetPort == port {
			out = append(out, e)
		}
	}
	return out
}

// OfPort selects the endpoints of a Service's port.
func OfPort(all []Endpoint, p Port) []Endpoint {
	var out []Endpoint
	for _, e := range all {
		if e.PortName == p.Name {
			out = append(out, e)
		}
	}
	return out
}

// PortNames returns the distinct port names, sorted.
func PortNames(all []Endpoint) []string {
	var names []string
	for _, e := range all {
		names = append(names, e.PortName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Weights computes HAProxy weights (0 to 256) for the endpoints of each
// service, so that the services together get traffic in the ratio of their
// weights, as OpenShift's router computes them.
func Weights(weights []int, counts []int) []int {
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
			out[i] = max(int(float32(w)/float32(counts[i])*MaxWeight/top), 1)
		}
	}
	return out
}

// MaxWeight is the largest weight of a HAProxy server.
const MaxWeight = 256

// ClampWeight bounds a route's own weights (route.openshift.io/v1).
func ClampWeight(w *int32) int {
	if w == nil {
		return 1
	}
	return int(min(max(*w, 0), MaxWeight))
}

// MD5 returns the hash of a text in hexadecimal, as OpenShift's router names
// cookies and servers by it.
func MD5(s string) string {
	sum := md5.Sum([]byte(s)) //nolint:gosec // an identity, not a secret
	return hex.EncodeToString(sum[:])
}
