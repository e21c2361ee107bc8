// Package plan compares what HAProxy has with what it should have, and returns
// the ordered steps that lead from one to the other.
//
// It is pure: it neither talks to HAProxy nor knows Routes. The order of the
// steps is what keeps requests from failing while things change:
//
//	certificates → backends → servers → policies → publish → crt-list → routing keys
//	routing keys gone → (pause) → unpublish → servers → backend → certificates
package plan

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Map names one of the router's maps.
type Map string

// The maps, by the name of their file without ".map".
const (
	// MapHTTP leads host and path to a Target on the HTTP listener.
	MapHTTP Map = "http"
	// MapHTTPS does the same for connections whose TLS ended at the router.
	MapHTTPS Map = "https"
	// MapSNI leads a server name to a passthrough backend.
	MapSNI Map = "sni"
	// MapListeners has the listeners of Gateways (pipeline's listenerEntries):
	//
	//	SLOT        the port that clients know
	//	SLOT!       what handshakes ask clients for (model.ListenerClients.Mark)
	//	SLOT/+      there if MapSuffixes has listeners of the slot
	//	SLOT/HOST   the prefix of a scope: that of an exact hostname
	//	SLOT/*      the same, for all other hosts
	//	SCOPE~      there if the listener ends TLS of connections that are handed on whole
	MapListeners Map = "listeners"
	// MapSuffixes has what covers hosts with any number of labels before, by these labels
	// from behind: "SLOT/com.example." has the prefix of a scope, and
	// "SCOPE~com.example." the host "*.example.com" that claims of the scope have.
	MapSuffixes Map = "suffixes"
	// MapPolicy holds the policy records of passthrough backends.
	MapPolicy Map = "policy"
	// MapAllow holds the addresses that restricted backends admit, MapDeny those
	// that backends refuse.
	MapAllow Map = "allow"
	MapDeny  Map = "deny"
	// MapExempt holds the addresses that reach backends under maintenance, and those
	// that limits do not count.
	MapExempt Map = "exempt"
	// MapSubjects holds the subjects of client certificates that backends let in.
	MapSubjects Map = "subjects"
	// MapKeys holds the consumers of backends, by the hashes of their API keys.
	MapKeys Map = "apikeys"
	// MapRedirects holds the redirects of backends, by path.
	MapRedirects Map = "redirects"
	// MapCORS holds the origins that backends admit.
	MapCORS Map = "cors"
	// MapRequestHeaders and MapResponseHeaders hold changes of headers.
	MapRequestHeaders  Map = "headers-request"
	MapResponseHeaders Map = "headers-response"
	// MapPages holds which page a backend shows for a status, and MapPageTexts the pages
	// themselves. In the order of names texts come before what leads to them.
	MapPages     Map = "pages"
	MapPageTexts Map = "page-texts"
)

// Maps returns all maps in a fixed order.
func Maps() []Map {
	return []Map{MapHTTP, MapHTTPS, MapSNI, MapListeners, MapSuffixes, MapPolicy, MapAllow, MapDeny, MapExempt, MapSubjects, MapKeys, MapRedirects, MapCORS, MapRequestHeaders, MapResponseHeaders, MapPageTexts, MapPages}
}

// Entry names one key of one map.
type Entry struct {
	Map Map
	Key string
}

// State is what HAProxy holds beyond its static skeleton, in HAProxy's terms.
type State struct {
	Backends map[string]*Backend
	Entries  map[Entry]string
	// Certs and CAs map the ID to the PEM text. A state that was read back
	// from HAProxy has empty texts: the ID stands for the content.
	Certs map[string]string
	CAs   map[string]string
	// Lines map a crt-list filter (a host, "*.domain" or "*") to a certificate ID.
	Lines map[string]string
	// ClientLines are those of hosts that ask clients for certificates, by the host or
	// "*.domain".
	ClientLines map[string]ClientLine
	// SlotLines are those of the ports of Gateways.
	SlotLines map[SlotLine]SlotTerms
	// Repairs are steps that put right what another program has changed in the parts
	// of HAProxy that are no route's. Only live states have them.
	Repairs []Step
	// Broken says what of those parts only a new process puts right, or is
	// empty. Only live states have it.
	Broken string
}

// Altered is the text of a certificate or CA bundle, in a live state, that is
// not the one of its ID.
const Altered = "altered"

// DefaultCertID names the router's default certificate. It is the one ID that
// does not stand for a content: HAProxy never lets go of the first certificate
// of a listener, so its content is replaced instead.
const DefaultCertID = "default:router:certificate"

// http2Suffix ends the ID of a certificate whose line offers HTTP/2, so that
// the options of a line are in the name of its certificate, too.
const http2Suffix = "-h2"

// WithHTTP2 returns the ID of a certificate whose line offers HTTP/2.
func WithHTTP2(id string) string { return id + http2Suffix }

// HTTP2 reports whether the line of a certificate offers HTTP/2.
func HTTP2(id string) bool { return strings.HasSuffix(id, http2Suffix) }

// NewState returns an empty state.
func NewState() *State {
	return &State{
		Backends: map[string]*Backend{},
		Entries:  map[Entry]string{},
		Certs:    map[string]string{},
		CAs:      map[string]string{},
		Lines:    map[string]string{},

		ClientLines: map[string]ClientLine{}, SlotLines: map[SlotLine]SlotTerms{},
	}
}

// Clone returns a state that shares the backends, but not the maps, with s.
func (s *State) Clone() *State {
	return &State{
		Backends: maps.Clone(s.Backends), Entries: maps.Clone(s.Entries),
		Certs: maps.Clone(s.Certs), CAs: maps.Clone(s.CAs), Lines: maps.Clone(s.Lines),
		ClientLines: maps.Clone(s.ClientLines), SlotLines: maps.Clone(s.SlotLines),
	}
}

// Backend is one backend with its servers by name. Once it is part of a state
// it is never changed, only replaced, so that states can share it.
type Backend struct {
	Profile string
	Servers Servers
	// Unpublished backends get no request. Only live states have them.
	Unpublished bool
}

// Server is one server of a backend, as unchanging as that.
type Server struct {
	Address netip.AddrPort
	Weight  int
	MaxConn int
	// Options are fixed for the server's life; unset in a state read back.
	Options model.ServerOptions
	// Stopped servers are drained or in maintenance, and Unchecked ones have health
	// checks that do not run. Only live states have them.
	Stopped, Unchecked bool
	// Down servers get no requests. HAProxy does not check them: the router's probes
	// said so, or, in a live state, another program.
	Down bool
}

// WantBackend converts a route's backend to HAProxy's terms. Sick reports whether a server,
// which is probed, does not answer as it should.
func WantBackend(b *model.Backend, sick func(*model.Server, model.ProbeTarget) bool) *Backend {
	w := &Backend{Profile: b.Profile.Name(), Servers: make(Servers, 0, len(b.Servers))}
	for i := range b.Servers {
		s := &b.Servers[i]
		w.Servers.Set(s.Name(), &Server{Address: s.Address, Weight: s.Weight, MaxConn: s.MaxConn, Options: s.Options})
	}
	w.layDown(b, sick)
	return w
}

// layDown takes sick servers out, unless too few healthy ones are left.
func (b *Backend) layDown(of *model.Backend, sick func(*model.Server, model.ProbeTarget) bool) {
	var down []string
	probed := 0
	of.Targets(func(s *model.Server, t model.ProbeTarget) {
		if probed++; sick(s, t) {
			down = append(down, s.Name())
		}
	})
	if len(down) == 0 || (probed-len(down))*100 < of.Health.PanicPercent*probed {
		return
	}
	for _, name := range down {
		b.Servers.Get(name).Down = true
	}
}

// Scope lists the names that a comparison looks at. Everything else is taken
// as equal, so the cost of a change is that of what changed.
type Scope struct {
	Backends map[string]struct{}
	Entries  map[Entry]struct{}
	Certs    map[string]struct{}
	CAs      map[string]struct{}
	Lines    map[string]struct{}

	ClientLines map[string]struct{}
	SlotLines   map[SlotLine]struct{}
}

// NewScope returns a scope that looks at nothing.
func NewScope() *Scope {
	return &Scope{
		Backends: map[string]struct{}{},
		Entries:  map[Entry]struct{}{},
		Certs:    map[string]struct{}{},
		CAs:      map[string]struct{}{},
		Lines:    map[string]struct{}{},

		ClientLines: map[string]struct{}{}, SlotLines: map[SlotLine]struct{}{},
	}
}

// FullScope returns the scope of everything that either state has.
func FullScope(states ...*State) *Scope {
	sc := NewScope()
	for _, s := range states {
		addKeys(sc.Backends, s.Backends)
		addKeys(sc.Entries, s.Entries)
		addKeys(sc.Certs, s.Certs)
		addKeys(sc.CAs, s.CAs)
		addKeys(sc.Lines, s.Lines)
		addKeys(sc.ClientLines, s.ClientLines)
		addKeys(sc.SlotLines, s.SlotLines)
	}
	return sc
}

func addKeys[K comparable, V any](to map[K]struct{}, from map[K]V) {
	for k := range from {
		to[k] = struct{}{}
	}
}

// Recall takes over from a former state what cannot be read back from HAProxy:
// server options, texts of certificates, and which backends are published.
func (s *State) Recall(former *State) {
	s.recallClientLines(former)
	for name, b := range s.Backends {
		old := former.Backends[name]
		if old == nil {
			continue
		}
		b.Unpublished, b.Profile = old.Unpublished, old.Profile
		for _, srv := range b.Servers {
			if o := old.Servers.Get(srv.Name); o != nil {
				srv.Options = o.Options
			}
		}
	}
	for _, texts := range []struct{ to, from map[string]string }{{s.Certs, former.Certs}, {s.CAs, former.CAs}} {
		for id, text := range texts.to {
			if text != Altered {
				texts.to[id] = texts.from[id]
			}
		}
	}
}

// Share lets s hold what it has in common with another state, within a scope,
// only once for both. Server options and the texts of certificates, which cannot
// be read back, are in the names.
func (s *State) Share(with *State, sc *Scope) {
	for name := range sc.Backends {
		if b := with.Backends[name]; b != nil && s.Backends[name].equal(b) {
			delete(s.Backends, name) // an assignment would keep the old key
			s.Backends[name] = b
		}
	}
	for e := range sc.Entries {
		value, ok := with.Entries[e]
		if have, too := s.Entries[e]; ok && too && have == value {
			delete(s.Entries, e)
			s.Entries[e] = value
		}
	}
	for id := range sc.Certs {
		if text, ok := s.Certs[id]; ok && text == "" && id != DefaultCertID {
			s.Certs[id] = with.Certs[id]
		}
	}
	for id := range sc.CAs {
		if text, ok := s.CAs[id]; ok && text == "" {
			s.CAs[id] = with.CAs[id]
		}
	}
}

func (b *Backend) equal(o *Backend) bool {
	return b != nil && b.Unpublished == o.Unpublished && slices.EqualFunc(b.Servers, o.Servers, func(x, y NamedServer) bool {
		return x.Name == y.Name && x.Address == y.Address && x.Weight == y.Weight && x.MaxConn == y.MaxConn &&
			x.Stopped == y.Stopped && x.Unchecked == y.Unchecked && x.Down == y.Down
	})
}

// Add makes the scope look at what another one looks at, too.
func (sc *Scope) Add(other *Scope) {
	maps.Copy(sc.Backends, other.Backends)
	maps.Copy(sc.Entries, other.Entries)
	maps.Copy(sc.Certs, other.Certs)
	maps.Copy(sc.CAs, other.CAs)
	maps.Copy(sc.Lines, other.Lines)
	maps.Copy(sc.ClientLines, other.ClientLines)
	maps.Copy(sc.SlotLines, other.SlotLines)
}
