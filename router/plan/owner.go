package plan

import (
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Owner returns the route that a step serves, as far as names tell, so that a
// refused step can be laid at its door. Steps of no single route report false.
func Owner(s Step) (model.Object, bool) {
	switch s := s.(type) {
	case CertPut:
		return idOwner(s.ID)
	case CertSet:
		return idOwner(s.ID)
	case CAPut:
		return idOwner(s.ID)
	case CASet:
		return idOwner(s.ID)
	case LineSet:
		return idOwner(s.CertID)
	case BackendAdd:
		return backendOwner(s.Name)
	case BackendPublish:
		return backendOwner(s.Name)
	case ServerAdd:
		return backendOwner(s.Backend)
	case ServerAddr:
		return backendOwner(s.Backend)
	case ServerWeight:
		return backendOwner(s.Backend)
	case ServerMaxConn:
		return backendOwner(s.Backend)
	case ServerReady:
		return backendOwner(s.Backend)
	case ServerDrain:
		return backendOwner(s.Backend)
	case ServerCheck:
		return backendOwner(s.Backend)
	case ServerUp:
		return backendOwner(s.Backend)
	case EntryAdd:
		return entryOwner(s.Entry, s.Value)
	case EntrySet:
		return entryOwner(s.Entry, s.Value)
	}
	return removalOwner(s)
}

func removalOwner(s Step) (model.Object, bool) {
	switch s := s.(type) {
	case LineDel:
		return idOwner(s.CertID)
	case CertDel:
		return idOwner(s.ID)
	case CADel:
		return idOwner(s.ID)
	case BackendUnpublish:
		return backendOwner(s.Name)
	case BackendDel:
		return backendOwner(s.Name)
	case ServerDel:
		return backendOwner(s.Backend)
	case EntryDel:
		if s.Map == MapPolicy {
			return backendOwner(s.Key)
		}
	}
	return model.Object{}, false
}

// OwnerIn is Owner, and for a key that goes, the route that it leads to until
// now. A key that redirects or refuses belongs to the TLS route of that key.
func OwnerIn(live *State, s Step) (model.Object, bool) {
	del, ok := s.(EntryDel)
	if !ok || del.Map == MapPolicy {
		return Owner(s)
	}
	if owner, ok := backendOwner(TargetBackend(live.Entries[del.Entry])); ok {
		return owner, true
	}
	return backendOwner(TargetBackend(live.Entries[Entry{Map: MapHTTPS, Key: del.Key}]))
}

// Without returns the state less what some routes bring: backends, the keys
// that lead to them, and certificates.
func (s *State) Without(owners model.Objects) *State {
	if len(owners) == 0 {
		return s
	}
	kept := func(owner model.Object, owned bool) bool {
		_, out := owners[owner]
		return !owned || !out
	}
	out := NewState()
	for name, b := range s.Backends {
		if kept(backendOwner(name)) {
			out.Backends[name] = b
		}
	}
	for e, v := range s.Entries {
		if kept(entryOwner(e, v)) {
			out.Entries[e] = v
		}
	}
	for filter, id := range s.Lines {
		if kept(idOwner(id)) {
			out.Lines[filter] = id
		}
	}
	for _, texts := range []struct{ from, to map[string]string }{{s.Certs, out.Certs}, {s.CAs, out.CAs}} {
		for id, pem := range texts.from {
			if kept(idOwner(id)) {
				texts.to[id] = pem
			}
		}
	}
	return out
}

func entryOwner(e Entry, value string) (model.Object, bool) {
	if e.Map.isPolicy() {
		return backendOwner(e.policyBackend())
	}
	return backendOwner(TargetBackend(value))
}

// backendOwner splits "be_http:namespace:name:hash".
func backendOwner(name string) (model.Object, bool) {
	p := strings.Split(name, ":")
	if len(p) != 4 {
		return model.Object{}, false
	}
	return model.Object{Namespace: p[1], Name: p[2]}, true
}

// idOwner splits "namespace:name:hash".
func idOwner(id string) (model.Object, bool) {
	p := strings.Split(id, ":")
	if len(p) != 3 || strings.HasPrefix(p[1], model.LongName) {
		return model.Object{}, false
	}
	return model.Object{Namespace: p[0], Name: p[1]}, true
}
