package explain

import (
	"slices"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// indexHosts notes under which host each route is to be found.
func (s *Snapshot) indexHosts() {
	for _, key := range s.source.keys() {
		s.hostsOf[key] = s.hostsNow(key)
		for _, host := range s.hostsOf[key] {
			s.byHost[host] = append(s.byHost[host], key)
		}
	}
}

// hostsNow are the hosts under which a route is to be found: its own first, and its aliases.
func (s *Snapshot) hostsNow(key model.Object) []string {
	r := s.source.routes[key]
	if r == nil {
		return nil
	}
	host := ""
	if c, _ := s.pipeline.Claim(key); c != nil {
		host = c.Host
	} else if known, _ := s.pipeline.Known(key); known {
		host = match.Host(s.pipeline.Status(key).Host)
	} else {
		host = match.Host(r.Spec.Host)
	}
	hosts := []string{host}
	all, _ := s.pipeline.Claims(key)
	for _, c := range all {
		if c.Alias {
			hosts = append(hosts, c.Host)
		}
	}
	return hosts
}

// indexAgain notes the hosts of a route that may have others now, and adds those that it had or
// has to a set.
func (s *Snapshot) indexAgain(key model.Object, hosts map[string]struct{}) {
	before, now := s.hostsOf[key], s.hostsNow(key)
	for _, h := range slices.Concat(before, now) {
		hosts[h] = struct{}{}
	}
	if slices.Equal(before, now) {
		return
	}
	for _, h := range before {
		if at, found := slices.BinarySearchFunc(s.byHost[h], key, compareKeys); found {
			s.byHost[h] = slices.Delete(s.byHost[h], at, at+1)
		}
		if len(s.byHost[h]) == 0 {
			delete(s.byHost, h)
		}
	}
	for _, h := range now {
		at, _ := slices.BinarySearchFunc(s.byHost[h], key, compareKeys)
		s.byHost[h] = slices.Insert(s.byHost[h], at, key)
	}
	if s.hostsOf[key] = now; now == nil {
		delete(s.hostsOf, key)
	}
}

// about returns the routes of a host, of the wildcard that covers it, and
// those for any host.
func (s *Snapshot) about(host string) []model.Object {
	return slices.Concat(s.byHost[host], s.byHost[match.Wildcard(host)], s.byHost[match.Any])
}
