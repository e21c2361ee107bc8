package explain

import (
	"slices"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// indexHosts notes under which host each route is to be found.
func (s *Snapshot) indexHosts() {
	for _, key := range s.source.keys() {
		host := ""
		if c, _ := s.pipeline.Claim(key); c != nil {
			host = c.Host
		} else if known, _ := s.pipeline.Known(key); known {
			host = match.Host(s.pipeline.Status(key).Host)
		} else {
			host = match.Host(s.source.routes[key].Spec.Host)
		}
		s.byHost[host] = append(s.byHost[host], key)
		all, _ := s.pipeline.Claims(key)
		for _, c := range all {
			if c.Alias {
				s.byHost[c.Host] = append(s.byHost[c.Host], key)
			}
		}
	}
}

// about returns the routes of a host, of the wildcard that covers it, and
// those for any host.
func (s *Snapshot) about(host string) []model.Object {
	return slices.Concat(s.byHost[host], s.byHost[match.Wildcard(host)], s.byHost[match.Any])
}
