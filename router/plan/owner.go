package plan

import (
	"maps"

	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Owners say which object each name in HAProxy belongs to: those of backends,
// certificates and CAs. What a router shares out among all of them, such as its
// default certificate, has no owner.
type Owners map[string]model.Object

// Of returns the object that a step is for, and false for a step of no single one.
// The live state says where a key that goes leads to until now: a key that
// redirects or refuses belongs to the owner of the TLS backend of that key.
func (o Owners) Of(live *State, s Step) (model.Object, bool) {
	name := nameIn(s)
	if del, goes := s.(EntryDel); goes && !del.Map.isPolicy() {
		if owner, known := o.ofValue(live.Entries[del.Entry]); known {
			return owner, true
		}
		return o.ofValue(live.Entries[Entry{Map: MapHTTPS, Key: del.Key}])
	}
	owner, known := o[name]
	return owner, known
}

// ofValue returns the object that a routing key is of; of a list, that of its first entry
// which has one.
func (o Owners) ofValue(value string) (owner model.Object, known bool) {
	for _, name := range TargetBackends(value) {
		if owner, known = o[name]; known {
			return owner, true
		}
	}
	return model.Object{}, false
}

// nameIn returns the name that a step is about, or "".
func nameIn(s Step) string {
	switch s := s.(type) {
	case CertPut:
		return s.ID
	case CertSet:
		return s.ID
	case CAPut:
		return s.ID
	case CASet:
		return s.ID
	case LineSet:
		return s.CertID
	case ClientLineSet:
		return s.Line.CertID
	case SlotLineAdd:
		return s.CertID
	case BackendAdd:
		return s.Name
	case BackendPublish:
		return s.Name
	case ServerAdd:
		return s.Backend
	case ServerAddr:
		return s.Backend
	case ServerWeight:
		return s.Backend
	case ServerMaxConn:
		return s.Backend
	case ServerReady:
		return s.Backend
	case ServerDrain:
		return s.Backend
	case ServerCheck:
		return s.Backend
	case ServerUp:
		return s.Backend
	case ServerDown:
		return s.Backend
	case EntryAdd:
		return nameOf(s.Entry, s.Value)
	case EntrySet:
		return nameOf(s.Entry, s.Value)
	}
	return nameInRemoval(s)
}

// Refills returns the backend of which a step changes the servers that get requests, or "".
func Refills(s Step) string {
	switch s.(type) {
	case ServerAdd, ServerWeight, ServerReady, ServerDrain, ServerUp, ServerDown, ServerDel:
		return nameIn(s)
	}
	return ""
}

func nameInRemoval(s Step) string {
	switch s := s.(type) {
	case LineDel:
		return s.CertID
	case ClientLineDel:
		return s.CertID
	case SlotLineDel:
		return s.CertID
	case CertDel:
		return s.ID
	case CADel:
		return s.ID
	case BackendUnpublish:
		return s.Name
	case BackendDel:
		return s.Name
	case ServerDel:
		return s.Backend
	case EntryDel:
		if s.Map.isPolicy() {
			return s.policyBackend()
		}
	}
	return ""
}

// nameOf returns the backend that an entry belongs to.
func nameOf(e Entry, value string) string {
	if e.Map.isPolicy() {
		return e.policyBackend()
	}
	return TargetBackends(value)[0]
}

// Without returns the state less what has one of some names: backends, the keys
// that lead to them, certificates and CAs.
func (s *State) Without(names map[string]struct{}) *State {
	if len(names) == 0 {
		return s
	}
	kept := func(name string) bool { _, out := names[name]; return !out }
	out := NewState()
	for name, b := range s.Backends {
		if kept(name) {
			out.Backends[name] = b
		}
	}
	for e, v := range s.Entries {
		if v, stays := entryWithout(e, v, kept); stays {
			out.Entries[e] = v
		}
	}
	maps.Copy(out.Lines, s.Lines)
	maps.DeleteFunc(out.Lines, func(_, id string) bool { return !kept(id) })
	maps.Copy(out.ClientLines, s.ClientLines)
	maps.DeleteFunc(out.ClientLines, func(_ string, l ClientLine) bool { return !kept(l.CertID) || !kept(l.CA) })
	maps.Copy(out.SlotLines, s.SlotLines)
	maps.DeleteFunc(out.SlotLines, func(l SlotLine, t SlotTerms) bool { return !kept(l.CertID) || t.CA != "" && !kept(t.CA) })
	for _, texts := range []struct{ from, to map[string]string }{{s.Certs, out.Certs}, {s.CAs, out.CAs}} {
		for id, pem := range texts.from {
			if kept(id) {
				texts.to[id] = pem
			}
		}
	}
	return out
}

// entryWithout returns the value of an entry for the backends that stay, if it has one.
func entryWithout(e Entry, value string, kept func(backend string) bool) (string, bool) {
	if e.Map.isPolicy() {
		return value, kept(e.policyBackend())
	}
	value = match.WithoutValues(value, func(v string) bool { return !kept(TargetBackend(v)) })
	return value, value != ""
}
