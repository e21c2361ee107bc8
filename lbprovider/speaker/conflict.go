package speaker

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/lbprovider/l2"
)

// Conflict tells the owners of the Services at an address that another host
// claims it. It does not block; the announcer bounds how often it is called.
func (s *Speaker) Conflict(c l2.Conflict) { go s.tellConflict(c) }

func (s *Speaker) tellConflict(c l2.Conflict) {
	for _, name := range s.announcing(c.Address) {
		svc := s.facts.Service(name)
		if svc == nil {
			continue // it has just gone
		}
		s.events.Eventf(svc, corev1.EventTypeWarning, string(api.ReasonAddressConflict),
			"another host, %s on interface %s of node %q, claims the address %s; clients reach one or the other",
			c.MAC, c.Interface, s.opts.NodeName, c.Address)
	}
}

// announcing returns the Services whose address addr is announced here.
func (s *Speaker) announcing(addr netip.Addr) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []types.NamespacedName
	for name, v := range s.services {
		if v.Announce && slices.Contains(v.addrs, addr) {
			names = append(names, name)
		}
	}
	return names
}
