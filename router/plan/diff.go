package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Plan is the way from one state to another.
type Plan struct {
	// Steps are to be taken at once and in order.
	Steps []Step
	// Removals are to be taken after a pause, when running requests have
	// left. They may fail for as long as connections last.
	Removals []Step
	// Reload is why the change cannot be made at run time, or empty. Then
	// Steps and Removals are empty: a new process reads the wanted state.
	Reload string
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool {
	return len(p.Steps) == 0 && len(p.Removals) == 0 && p.Reload == ""
}

// Removal returns the steps that a planned removal takes in a live state: a
// backend goes after its servers, and after nothing new can reach it.
func Removal(live *State, s Step) []Step {
	del, ok := s.(BackendDel)
	if !ok {
		return []Step{s}
	}
	b := live.Backends[del.Name]
	if b == nil {
		return nil
	}
	steps := []Step{BackendUnpublish(del)}
	for _, s := range b.Servers {
		steps = append(steps, ServerDel{Backend: del.Name, Name: s.Name})
	}
	return append(steps, del)
}

// Diff returns the plan that makes live like want within a scope.
func Diff(live, want *State, scope *Scope, caps Capabilities) Plan {
	d := differ{live: live, want: want, caps: caps}
	backends := sorted(scope.Backends)
	entries := slices.SortedFunc(maps.Keys(scope.Entries), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Map, b.Map), cmp.Compare(a.Key, b.Key))
	})
	d.reload = live.Broken
	d.add(live.Repairs...)
	d.newCertificates(scope)
	for _, name := range backends {
		d.backend(name)
	}
	d.entries(entries, func(e Entry) bool { return e.Map.isPolicy() })
	d.steps = append(d.steps, d.publish...)
	d.lines(scope)
	d.clientLines(scope)
	d.slotLines(scope)
	d.entries(innermostFirst(entries), func(e Entry) bool { return !e.Map.isPolicy() })
	d.steps = append(d.steps, d.drain...)
	d.oldEntries(entries)
	d.oldClientLines(scope)
	d.oldSlotLines(scope)
	d.oldCertificates(scope)
	if d.reload != "" {
		return Plan{Reload: d.reload}
	}
	return Plan{Steps: d.steps, Removals: d.removals}
}

type differ struct {
	live, want *State
	caps       Capabilities
	steps      []Step
	publish    []Step
	drain      []Step
	removals   []Step
	reload     string
}

func (d *differ) add(s ...Step) { d.steps = append(d.steps, s...) }

func (d *differ) newCertificates(scope *Scope) {
	for _, id := range sorted(scope.CAs) {
		pem, wanted := d.want.CAs[id]
		have, ok := d.live.CAs[id]
		switch {
		case wanted && !ok:
			d.add(CAPut{ID: id, PEM: pem})
		case wanted && have == Altered && pem != "":
			d.add(CASet{ID: id, PEM: pem})
		}
	}
	for _, id := range sorted(scope.Certs) {
		pem, wanted := d.want.Certs[id]
		have, ok := d.live.Certs[id]
		switch {
		case !wanted:
		case !ok:
			d.defaultCertificate(id, pem)
			d.add(CertPut{ID: id, PEM: pem})
		case id == DefaultCertID && have != pem, have == Altered && pem != "":
			d.defaultCertificate(id, pem)
			d.add(CertSet{ID: id, PEM: pem})
		}
	}
}

// defaultCertificate asks for a reload if the router's own certificate, which is
// an administrator's, fits no command. One of a route that does not fit is
// refused instead, by ingest and by the encoder: no tenant makes HAProxy reload.
func (d *differ) defaultCertificate(id, pem string) {
	if id == DefaultCertID && len(pem) > d.caps.MaxPayload {
		d.reload = "default certificate larger than HAProxy takes at run time"
	}
}

func (d *differ) backend(name string) {
	have, want := d.live.Backends[name], d.want.Backends[name]
	switch {
	case want == nil && have == nil:
	case want == nil && !d.caps.DynamicBackends:
		// The empty backend stays until the next reload; no key leads to it.
		d.servers(name, have, &Backend{})
	case want == nil:
		d.removals = append(d.removals, BackendDel{Name: name})
	case have == nil:
		if !d.caps.DynamicBackends {
			d.reload = "backend added, which HAProxy before 3.4 cannot do at run time"
		}
		d.add(BackendAdd{Name: name, Profile: want.Profile})
		d.servers(name, &Backend{}, want)
		d.publish = append(d.publish, BackendPublish{Name: name})
	default:
		d.servers(name, have, want)
		if have.Unpublished && !want.Unpublished && d.caps.DynamicBackends {
			d.publish = append(d.publish, BackendPublish{Name: name})
		}
	}
}

func (d *differ) servers(backend string, have, want *Backend) {
	for _, server := range want.Servers {
		name, w := server.Name, server.Server
		h := have.Servers.Get(name)
		if h == nil {
			d.newServer(backend, name, w)
			continue
		}
		if h.Address != w.Address {
			d.add(ServerAddr{Backend: backend, Name: name, Address: w.Address})
		}
		if h.Weight != w.Weight {
			d.add(ServerWeight{Backend: backend, Name: name, Weight: w.Weight})
		}
		if h.MaxConn != w.MaxConn {
			d.add(ServerMaxConn{Backend: backend, Name: name, MaxConn: w.MaxConn})
		}
		d.fitness(backend, name, h, w)
		// Only a live state that is compared with HAProxy itself wants servers
		// stopped: those that lasting connections still use.
		switch {
		case h.Stopped && !w.Stopped:
			d.add(ServerReady{Backend: backend, Name: name})
		case w.Stopped && !h.Stopped:
			d.drain = append(d.drain, ServerDrain{Backend: backend, Name: name})
		}
	}
	// New servers work before old ones are drained, so the backend is never empty.
	for _, server := range have.Servers {
		if want.Servers.Get(server.Name) != nil {
			continue
		}
		if !server.Stopped {
			d.drain = append(d.drain, ServerDrain{Backend: backend, Name: server.Name})
		}
		d.removals = append(d.removals, ServerDel{Backend: backend, Name: server.Name})
	}
}

func (d *differ) newServer(backend, name string, want *Server) {
	d.add(ServerAdd{Backend: backend, Name: name, Server: *want})
	if want.Down {
		d.add(ServerDown{Backend: backend, Name: name})
	}
}

// fitness says which servers are down, and takes back what another program has set
// about a server in HAProxy.
func (d *differ) fitness(backend, name string, have, want *Server) {
	if have.Unchecked && !want.Unchecked {
		d.add(ServerCheck{Backend: backend, Name: name})
	}
	switch {
	case have.Down && !want.Down:
		d.add(ServerUp{Backend: backend, Name: name})
	case want.Down && !have.Down:
		d.add(ServerDown{Backend: backend, Name: name})
	}
}

func (d *differ) entries(entries []Entry, in func(Entry) bool) {
	for _, e := range entries {
		if !in(e) {
			continue
		}
		want, wanted := d.want.Entries[e]
		have, ok := d.live.Entries[e]
		switch {
		case wanted && !ok:
			d.add(EntryAdd{Entry: e, Value: want})
		case wanted && have != want:
			d.add(EntrySet{Entry: e, Value: want})
		}
	}
}

// innermostFirst returns entries in an order in which a host's longer paths come before those that
// they are below: what is for "/admin" must not meet the key of "/" for as long as its own is not
// there. They go in the other order.
func innermostFirst(entries []Entry) []Entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b Entry) int {
		if a.Map != b.Map || a.Map != MapHTTP && a.Map != MapHTTPS {
			return cmp.Or(cmp.Compare(a.Map, b.Map), cmp.Compare(a.Key, b.Key))
		}
		hostA, pathA, _ := strings.Cut(a.Key, "/")
		hostB, pathB, _ := strings.Cut(b.Key, "/")
		return cmp.Or(cmp.Compare(hostA, hostB), cmp.Compare(pathB, pathA))
	})
}

// oldEntries removes routing keys at once, so that nothing new reaches what is
// about to go. A policy stays until its backend has gone.
func (d *differ) oldEntries(entries []Entry) {
	for _, e := range entries {
		if _, wanted := d.want.Entries[e]; wanted {
			continue
		}
		if _, have := d.live.Entries[e]; !have {
			continue
		}
		// An address that is no longer admitted goes at once.
		if e.Map.isPolicy() && d.want.Backends[e.policyBackend()] == nil {
			d.removals = append(d.removals, EntryDel{Entry: e})
		} else {
			d.add(EntryDel{Entry: e})
		}
	}
}

func (d *differ) lines(scope *Scope) {
	for _, filter := range sorted(scope.Lines) {
		want, wanted := d.want.Lines[filter]
		have, ok := d.live.Lines[filter]
		switch {
		case wanted && have != want:
			d.add(LineSet{Filter: filter, CertID: want, Old: have})
		case !wanted && ok:
			d.add(LineDel{Filter: filter, CertID: have})
		}
	}
}

func (d *differ) oldCertificates(scope *Scope) {
	for _, id := range sorted(scope.Certs) {
		_, wanted := d.want.Certs[id]
		if _, have := d.live.Certs[id]; have && !wanted {
			d.removals = append(d.removals, CertDel{ID: id})
		}
	}
	for _, id := range sorted(scope.CAs) {
		_, wanted := d.want.CAs[id]
		if _, have := d.live.CAs[id]; have && !wanted {
			d.removals = append(d.removals, CADel{ID: id})
		}
	}
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
