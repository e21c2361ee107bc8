package pipeline

import (
	"github.com/fairlead/fairlead/router/admit"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// sharedListeners are those of Gateways at the router's own ports. They bring certificates for
// hosts that their claims win.
type sharedListeners struct {
	byScope map[model.ScopeID]*model.Listener
	// hosts are those with the certificate of a listener.
	hosts map[model.ScopeID]map[string]struct{}
	// changed are listeners that may have another certificate.
	changed map[model.ScopeID]struct{}
}

func newSharedListeners() sharedListeners {
	return sharedListeners{
		byScope: map[model.ScopeID]*model.Listener{},
		hosts:   map[model.ScopeID]map[string]struct{}{}, changed: map[model.ScopeID]struct{}{},
	}
}

func (s *sharedListeners) remove(l *model.Listener) {
	s.changed[l.Scope] = struct{}{}
	delete(s.byScope, l.Scope)
}

func (s *sharedListeners) add(l *model.Listener) {
	s.changed[l.Scope], s.byScope[l.Scope] = struct{}{}, l
}

// addHosts adds the hosts that changes of listeners concern.
func (s *sharedListeners) addHosts(hosts map[string]struct{}) {
	for scope := range s.changed {
		for host := range s.hosts[scope] {
			hosts[host] = struct{}{}
		}
	}
	clear(s.changed)
}

// certify completes the table of a host that has the certificate of a listener.
func (s *sharedListeners) certify(host string, old, h *admit.Host) {
	if from := old.Table.Listener; from != "" {
		delete(s.hosts[from], host)
		if len(s.hosts[from]) == 0 {
			delete(s.hosts, from)
		}
	}
	to := h.Table.Listener
	if to == "" {
		return
	}
	if s.hosts[to] == nil {
		s.hosts[to] = map[string]struct{}{}
	}
	s.hosts[to][host] = struct{}{}
	if l := s.byScope[to]; l != nil && len(l.Certificates) > 0 {
		h.Table.Certificate = certificate.Copy(l.Certificates[0].Certificate, host)
	}
}

// owners adds whose the certificates of hosts are.
func (s *sharedListeners) owners(all plan.Owners, hosts map[string]*admit.Host) {
	for scope, names := range s.hosts {
		for host := range names {
			if c := hosts[host].Table.Certificate; c != nil && s.byScope[scope] != nil {
				all[c.ID], all[plan.WithHTTP2(c.ID)] = s.byScope[scope].Owner, s.byScope[scope].Owner
			}
		}
	}
}
