package plan

import (
	"slices"
	"strings"
)

// Servers are those of one backend, sorted by name. Most backends have a few, for which a
// map would take several times the memory.
type Servers []NamedServer

// NamedServer is a server with its name in HAProxy, which is unique in its backend.
type NamedServer struct {
	Name string
	*Server
}

// Get returns the server with a name, or nil if the backend has none.
func (s Servers) Get(name string) *Server {
	if i, found := s.find(name); found {
		return s[i].Server
	}
	return nil
}

// Set adds a server, or replaces the one with that name.
func (s *Servers) Set(name string, server *Server) {
	i, found := s.find(name)
	if !found {
		*s = slices.Insert(*s, i, NamedServer{Name: name})
	}
	(*s)[i].Server = server
}

// Delete removes the server with that name, if there is one.
func (s *Servers) Delete(name string) {
	if i, found := s.find(name); found {
		*s = slices.Delete(*s, i, i+1)
	}
}

func (s Servers) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(s, name, func(of NamedServer, name string) int { return strings.Compare(of.Name, name) })
}
