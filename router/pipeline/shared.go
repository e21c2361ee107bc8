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
	// changed has the IDs of the certificates that listeners had before they changed.
	changed map[model.ScopeID]string
}

func newSharedListeners() sharedListeners {
	return sharedListeners{
		byScope: map[model.ScopeID]*model.Listener{},
		hosts:   map[model.ScopeID]map[string]struct{}{}, changed: map[model.ScopeID]string{},
	}
}

func (s *sharedListeners) remove(l *model.Listener) {
	s.note(l.Scope)
	delete(s.byScope, l.Scope)
}

func (s *sharedListeners) add(l *model.Listener) {
	s.note(l.Scope)
	s.byScope[l.Scope] = l
}

// note remembers what was shown for a listener.
func (s *sharedListeners) note(scope model.ScopeID) {
	if _, noted := s.changed[scope]; !noted {
		s.changed[scope] = certID(s.certificate(scope))
	}
}

// certificate returns that of a listener, or nil.
func (s *sharedListeners) certificate(scope model.ScopeID) *model.Certificate {
	if l := s.byScope[scope]; l != nil && len(l.Certificates) > 0 {
		return l.Certificates[0].Certificate
	}
	return nil
}

// addHosts adds the hosts whose certificate changes of listeners concern.
func (s *sharedListeners) addHosts(hosts map[string]struct{}) {
	for scope, before := range s.changed {
		if certID(s.certificate(scope)) == before {
			continue
		}
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
	if c := s.certificate(to); c != nil {
		h.Table.Certificate = certificate.Copy(c, host)
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
