package gateway

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// coalesces reports whether clients may use a connection to a listener for several hosts.
func coalesces(l *gatewayv1.Listener, v ListenerVerdict) bool {
	return l.Protocol == gatewayv1.HTTPSProtocolType && v.Accepted()
}

// hostnames counts those of the listeners of one port.
type hostnames struct {
	all, any int
	// exact are those without a wildcard, and wild what follows that of the others. below are
	// the suffixes that either have.
	exact, wild, below map[string]int
}

// portHosts are the hostnames of each port.
type portHosts map[gatewayv1.PortNumber]*hostnames

// add counts the listeners whose connections clients may use for several hosts.
func (p portHosts) add(listeners []gatewayv1.Listener, verdicts []ListenerVerdict) {
	for i := range listeners {
		l := &listeners[i]
		if !coalesces(l, verdicts[i]) {
			continue
		}
		if p[l.Port] == nil {
			p[l.Port] = &hostnames{exact: map[string]int{}, wild: map[string]int{}, below: map[string]int{}}
		}
		p[l.Port].add(hostname(l))
	}
}

// overlaps says, of each listener of an object, whether a host can fit one of another object of
// the port as well. It is nil if that is so of none.
func (p portHosts) overlaps(listeners []gatewayv1.Listener, verdicts []ListenerVerdict) (with []bool) {
	for i := range listeners {
		l := &listeners[i]
		if !coalesces(l, verdicts[i]) || p[l.Port].meeting(hostname(l)) == meetingOwn(listeners, verdicts, i) {
			continue
		}
		if with == nil {
			with = make([]bool, len(listeners))
		}
		with[i] = true
	}
	return with
}

// meetingOwn counts the listeners of the same object and port, with itself, that a request can
// fit as well as a listener.
func meetingOwn(listeners []gatewayv1.Listener, verdicts []ListenerVerdict, i int) (n int) {
	for k := range listeners {
		if o := &listeners[k]; o.Port == listeners[i].Port && coalesces(o, verdicts[k]) && meets(hostname(&listeners[i]), hostname(o)) {
			n++
		}
	}
	return n
}

// meets reports whether a host can fit both of two hostnames.
func meets(a, b string) bool {
	baseA, wildA := strings.CutPrefix(a, Wildcard)
	baseB, wildB := strings.CutPrefix(b, Wildcard)
	return a == "" || b == "" || a == b || wildA && below(baseB, baseA) || wildB && below(baseA, baseB)
}

// below reports whether a name has a label more than another one, or several.
func below(name, parent string) bool {
	rest, is := strings.CutSuffix(name, parent)
	return is && strings.HasSuffix(rest, ".")
}

// clear forgets all, and keeps the memory of it.
func (h *hostnames) clear() {
	h.all, h.any = 0, 0
	clear(h.exact)
	clear(h.wild)
	clear(h.below)
}

func (h *hostnames) add(host string) {
	h.all++
	base, wild := strings.CutPrefix(host, Wildcard)
	switch {
	case host == "":
		h.any++
		return
	case wild:
		h.wild[base]++
	default:
		h.exact[host]++
	}
	for parent := range parents(base) {
		h.below[parent]++
	}
}

// meeting counts the listeners that a request can fit as well as one with a hostname.
func (h *hostnames) meeting(host string) int {
	if host == "" {
		return h.all
	}
	n := h.any
	base, wild := strings.CutPrefix(host, Wildcard)
	if wild {
		n += h.wild[base] + h.below[base]
	} else {
		n += h.exact[host]
	}
	for parent := range parents(base) {
		n += h.wild[parent]
	}
	return n
}

// parents yields what follows each dot of a name.
func parents(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			_, rest, more := strings.Cut(name, ".")
			if !more || !yield(rest) {
				return
			}
			name = rest
		}
	}
}
