package l2

import (
	"maps"
	"slices"
)

// scan opens what has appeared and closes what is gone.
func (s *state) scan() {
	s.retry = false
	found, own, err := links(s.excluded)
	if err != nil {
		s.log.Error("interfaces", "err", err)
		s.retry = true
		return
	}
	s.own.Store(&own)
	s.checkKernel(found)
	want := map[string]link{}
	for _, l := range found {
		want[l.name] = l
	}
	for name, p := range s.ports {
		if want[name] != p.link {
			s.drop(p)
			continue
		}
		s.join(p) // where that failed before
	}
	for _, l := range found {
		if s.ports[l.name] == nil {
			s.open(l)
		}
	}
	names, without := slices.Sorted(maps.Keys(s.ports)), []string{}
	for _, name := range names {
		if !s.ports[name].v6 {
			without = append(without, name)
		}
	}
	if s.names == nil || !slices.Equal(names, s.names) || !slices.Equal(without, s.without) {
		s.names, s.without = append([]string{}, names...), without
		s.log.Info("usable interfaces", "interfaces", names, "without IPv6", without)
		s.opts.LinksChanged(s.names, s.without)
	}
}

func (s *state) open(l link) {
	p, err := openPort(l)
	if err != nil {
		s.log.Error("interface", "err", err)
		s.retry = true
		return
	}
	s.ports[l.name] = p
	s.join(p)
	arp, ndp := protocols()
	s.listen(p, p.arp, arp)
	if l.v6 {
		s.listen(p, p.ndp, ndp)
	}
	s.restartBursts()
}

// listen starts a receiver.
func (s *state) listen(p *port, by socket, speaks protocol) {
	go func() {
		err := p.receive(s.Announcer, by, speaks)
		s.do <- func(s *state) {
			if s.ports[p.name] == p { // else it was closed on purpose
				s.log.Info("interface lost", "interface", p.name, "err", err)
				s.drop(p)
				s.retry = true
			}
		}
	}()
}

func (s *state) drop(p *port) {
	delete(s.ports, p.name)
	if err := p.close(); err != nil {
		s.log.Debug("close", "interface", p.name, "err", err)
	}
}

func (s *state) close() {
	for _, p := range s.ports {
		s.drop(p)
	}
}

// join lets a port receive the questions for what is announced.
func (s *state) join(p *port) {
	if err := p.join(*s.claims.Load()); err != nil {
		// Most cards and switches pass everything on, so this rarely shows.
		s.log.Error("join multicast groups", "interface", p.name, "err", err)
		s.retry = true
	}
}
