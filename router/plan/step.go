package plan

import (
	"net/netip"
	"slices"
)

// Step is one change to HAProxy. The router/haproxy package turns steps into
// runtime commands; nothing else may.
type Step interface {
	// apply records in the live state that the step has succeeded.
	apply(*State)
}

// The steps. Each is idempotent: "already there" and "already gone" count as
// success.
type (
	// CertPut creates a certificate.
	CertPut struct{ ID, PEM string }
	// CertSet replaces the content of one that is in use.
	CertSet struct{ ID, PEM string }
	// CertDel deletes one that no crt-list line uses.
	CertDel struct{ ID string }
	// CAPut creates a CA bundle.
	CAPut struct{ ID, PEM string }
	// CASet puts the content of one right that another program has changed.
	CASet struct{ ID, PEM string }
	// CADel deletes one that no server uses.
	CADel struct{ ID string }
	// LineSet makes a crt-list filter answer with a certificate. Old is the
	// certificate that answers until now, or empty.
	LineSet struct{ Filter, CertID, Old string }
	// LineDel removes a filter.
	LineDel struct{ Filter, CertID string }
	// ClientLineSet makes a filter of the list for client certificates answer by a line, as
	// LineSet does of the other list.
	ClientLineSet struct {
		Filter string
		Line   ClientLine
		Old    string
	}
	// ClientLineDel removes a filter of that list.
	ClientLineDel struct{ Filter, CertID string }
	// SlotLineAdd has a port of Gateways show a certificate.
	SlotLineAdd struct {
		SlotLine
		SlotTerms
	}
	// SlotLineDel removes a line of such a port.
	SlotLineDel struct{ SlotLine }
	// BackendAdd creates an empty backend that gets no request yet.
	BackendAdd struct{ Name, Profile string }
	// BackendPublish lets a backend get requests.
	BackendPublish struct{ Name string }
	// BackendUnpublish keeps new requests from a backend.
	BackendUnpublish struct{ Name string }
	// BackendDel removes an unpublished backend without servers. It fails
	// while connections last, and is then tried again.
	BackendDel struct{ Name string }
	// ServerAdd creates a server and puts it to work.
	ServerAdd struct {
		Backend, Name string
		Server        Server
	}
	// ServerAddr moves a server to another address.
	ServerAddr struct {
		Backend, Name string
		Address       netip.AddrPort
	}
	// ServerWeight sets a weight from 0 to 256.
	ServerWeight struct {
		Backend, Name string
		Weight        int
	}
	// ServerMaxConn sets the limit of concurrent connections; 0 is none.
	ServerMaxConn struct {
		Backend, Name string
		MaxConn       int
	}
	// ServerReady puts a stopped server back to work.
	ServerReady struct{ Backend, Name string }
	// ServerCheck lets the health checks of a server run.
	ServerCheck struct{ Backend, Name string }
	// ServerUp calls a server healthy that has no health checks.
	ServerUp struct{ Backend, Name string }
	// ServerDown calls a server sick that has no health checks of HAProxy's.
	ServerDown struct{ Backend, Name string }
	// ServerDrain gives a server no new sessions.
	ServerDrain struct{ Backend, Name string }
	// ServerDel removes a drained server. It fails while requests last, and
	// is then tried again.
	ServerDel struct{ Backend, Name string }
	// FrontendEnable lets a paused frontend take connections.
	FrontendEnable struct{ Name string }
	// LimitSet sets a limit of a frontend or of the process. What is as the
	// runtime socket names it, such as "maxconn global".
	LimitSet struct {
		What  string
		Value int
	}
	// EntryAdd adds a key that the map does not have.
	EntryAdd struct {
		Entry
		Value string
	}
	// EntrySet changes the value of a key.
	EntrySet struct {
		Entry
		Value string
	}
	// EntryDel removes a key.
	EntryDel struct{ Entry }
)

// Apply records the success of a step in the live state.
func (s *State) Apply(st Step) {
	st.apply(s)
	if len(s.Repairs) > 0 {
		s.Repairs = slices.DeleteFunc(s.Repairs, func(r Step) bool { return r == st })
	}
}

func (st CertPut) apply(s *State) { s.Certs[st.ID] = st.PEM }
func (st CertSet) apply(s *State) { s.Certs[st.ID] = st.PEM }
func (st CertDel) apply(s *State) { delete(s.Certs, st.ID) }
func (st CAPut) apply(s *State)   { s.CAs[st.ID] = st.PEM }
func (st CASet) apply(s *State)   { s.CAs[st.ID] = st.PEM }
func (st CADel) apply(s *State)   { delete(s.CAs, st.ID) }
func (st LineSet) apply(s *State) { s.Lines[st.Filter] = st.CertID }
func (st LineDel) apply(s *State) { delete(s.Lines, st.Filter) }

func (st ClientLineSet) apply(s *State) { s.ClientLines[st.Filter] = st.Line }
func (st ClientLineDel) apply(s *State) { delete(s.ClientLines, st.Filter) }
func (st SlotLineAdd) apply(s *State)   { s.SlotLines[st.SlotLine] = st.SlotTerms }
func (st SlotLineDel) apply(s *State)   { delete(s.SlotLines, st.SlotLine) }

func (st BackendAdd) apply(s *State) {
	s.Backends[st.Name] = &Backend{Profile: st.Profile, Unpublished: true}
}

// changeBackend replaces a backend by a changed copy.
func (s *State) changeBackend(name string, change func(*Backend)) {
	if b := s.Backends[name]; b != nil {
		c := &Backend{Profile: b.Profile, Unpublished: b.Unpublished, Servers: slices.Clone(b.Servers)}
		change(c)
		s.Backends[name] = c
	}
}

func (st BackendPublish) apply(s *State) {
	s.changeBackend(st.Name, func(b *Backend) { b.Unpublished = false })
}

func (st BackendUnpublish) apply(s *State) {
	s.changeBackend(st.Name, func(b *Backend) { b.Unpublished = true })
}
func (st BackendDel) apply(s *State) { delete(s.Backends, st.Name) }

func (st ServerAdd) apply(s *State) {
	added := st.Server
	added.Down = false // which is a step of its own
	s.changeBackend(st.Backend, func(b *Backend) { b.Servers.Set(st.Name, &added) })
}

func (s *State) changeServer(backend, name string, change func(*Server)) {
	s.changeBackend(backend, func(b *Backend) {
		if old := b.Servers.Get(name); old != nil {
			changed := *old
			change(&changed)
			b.Servers.Set(name, &changed)
		}
	})
}

func (st ServerAddr) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.Address = st.Address })
}

func (st ServerWeight) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.Weight = st.Weight })
}

func (st ServerMaxConn) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.MaxConn = st.MaxConn })
}

func (st ServerReady) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.Stopped = false })
}

func (st ServerDrain) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.Stopped = true })
}

func (st ServerDel) apply(s *State) {
	s.changeBackend(st.Backend, func(b *Backend) { b.Servers.Delete(st.Name) })
}

func (st ServerCheck) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.Unchecked = false })
}

func (st ServerUp) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.Down = false })
}

func (st ServerDown) apply(s *State) {
	s.changeServer(st.Backend, st.Name, func(v *Server) { v.Down = true })
}
func (st FrontendEnable) apply(*State) {}
func (st LimitSet) apply(*State)       {}
func (st EntryAdd) apply(s *State)     { s.Entries[st.Entry] = st.Value }
func (st EntrySet) apply(s *State)     { s.Entries[st.Entry] = st.Value }
func (st EntryDel) apply(s *State)     { delete(s.Entries, st.Entry) }
