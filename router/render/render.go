// Package render turns settings and a wanted state into the text of HAProxy's
// files: the configuration, the maps and the crt-list. It is pure; equal input
// gives byte-identical text.
//
// The text is what HAProxy starts from. Later changes go over its runtime
// socket, and the files follow so that a restart begins where it stopped.
package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// Layout says where the files of one router are.
type Layout struct {
	// Dir is the absolute work directory.
	Dir string
	// Run is the absolute directory of the sockets; by default one in Dir.
	Run string
}

// RunDir holds the sockets. It is all that HAProxy writes to.
func (l Layout) RunDir() string { return cmp.Or(l.Run, filepath.Join(l.Dir, "run")) }

// MapsDir holds one file per map.
func (l Layout) MapsDir() string { return filepath.Join(l.Dir, "maps") }

// PagesDir holds the answers that HAProxy gives itself.
func (l Layout) PagesDir() string { return filepath.Join(l.Dir, "pages") }

// CertsDir holds certificates with their keys, and CA bundles.
func (l Layout) CertsDir() string { return filepath.Join(l.Dir, "certs") }

// Config is HAProxy's configuration file.
func (l Layout) Config() string { return filepath.Join(l.Dir, "haproxy.cfg") }

// CrtList is the list that leads a server name to a certificate.
func (l Layout) CrtList() string { return filepath.Join(l.Dir, "crt.list") }

// ClientList is the list for hosts that ask clients for certificates.
func (l Layout) ClientList() string { return filepath.Join(l.Dir, "clients.list") }

// LuaFile holds the actions that HAProxy has no words for.
func (l Layout) LuaFile() string { return filepath.Join(l.Dir, "headers.lua") }

// StateDir is where the router keeps what its next process reads, if it is given
// no folder for that. HAProxy does not read it.
func (l Layout) StateDir() string { return filepath.Join(l.Dir, "state") }

// MapFile is the file, and HAProxy's name, of a map.
func (l Layout) MapFile(m plan.Map) string {
	return filepath.Join(l.MapsDir(), string(m)+".map")
}

// CertFile is the file, and HAProxy's name, of a certificate. It has no colon,
// after which "del ssl crt-list" would expect a line number (3.4.7).
// Underscores stand for them, which names of Kubernetes objects do not have.
func (l Layout) CertFile(id string) string {
	if file, ok := strings.CutPrefix(id, unmanaged); ok {
		return file
	}
	return filepath.Join(l.CertsDir(), strings.ReplaceAll(id, ":", "_")+".pem")
}

// unmanaged begins the ID of what the router did not make. No name of a
// Kubernetes object has it.
const unmanaged = "@"

// Unmanaged returns the ID of a certificate, or a line of the list ("FILE:LINE"),
// that another program made in HAProxy. It only occurs in live states, and
// CertFile gives its name back.
func Unmanaged(name string) string { return unmanaged + name }

// CertID returns the ID of the certificate that CertFile names.
func (l Layout) CertID(file string) (string, bool) {
	id, ok := cutAffixes(file, l.CertsDir()+"/", ".pem")
	return strings.ReplaceAll(id, "_", ":"), ok
}

// CAFile is the file, and HAProxy's name, of a CA bundle. It has no colon
// either, after which "show ssl ca-file" would expect a number (3.4.7).
func (l Layout) CAFile(id string) string {
	return filepath.Join(l.CertsDir(), strings.ReplaceAll(id, ":", "_")+".ca")
}

// CAID returns the ID of the CA bundle that CAFile names.
func (l Layout) CAID(file string) (string, bool) {
	id, ok := cutAffixes(file, l.CertsDir()+"/", ".ca")
	return strings.ReplaceAll(id, "_", ":"), ok
}

func cutAffixes(s, prefix, suffix string) (string, bool) {
	s, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, suffix)
}

// Backends writes the route backends of a state as configuration text.
func Backends(w io.Writer, st *plan.State, l Layout, caps plan.Capabilities) error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(st.Backends)) {
		be := st.Backends[name]
		b.Reset()
		b.WriteString("\n")
		err := writeWords(&b, "backend", name, "from", be.Profile)
		if words := GUIDWords(name, caps); words != nil {
			b.WriteString("  ")
			err = errors.Join(err, writeWords(&b, words...))
		}
		for _, srv := range be.Servers {
			b.WriteString("  ")
			words := append([]string{"server", srv.Name}, ServerWords(srv.Server, l, caps)...)
			err = errors.Join(err, writeWords(&b, words...))
		}
		if err != nil {
			return &UnsafeError{Step: plan.BackendAdd{Name: name, Profile: be.Profile}, Err: err}
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return fmt.Errorf("write backend %s: %w", name, err)
		}
	}
	return nil
}

// longestGUID is HAProxy's limit, in bytes.
const longestGUID = 127

// GUIDWords give a backend its name as identifier, the same words for the configuration file
// and for "add backend". There are none if HAProxy does not take the name.
func GUIDWords(name string, caps plan.Capabilities) []string {
	if !caps.GUIDs || len(name) > longestGUID || strings.ContainsFunc(name, func(r rune) bool {
		return r != '.' && r != ':' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return nil
	}
	return []string{"guid", name}
}

// ServerWords returns what follows a server's name, the same words for the
// configuration file and for "add server".
func ServerWords(s *plan.Server, l Layout, caps plan.Capabilities) []string {
	words := []string{s.Address.String(), "weight", strconv.Itoa(s.Weight)}
	add := func(more ...string) { words = append(words, more...) }
	if s.MaxConn > 0 {
		add("maxconn", strconv.Itoa(s.MaxConn))
	}
	o := s.Options
	if o.Cookie != "" {
		add("cookie", o.Cookie)
	}
	if o.CheckInterval != "" {
		add("check", "inter", o.CheckInterval)
	}
	if o.SlowStart != "" {
		add("slowstart", o.SlowStart)
	}
	if o.H2C {
		add("proto", "h2")
	}
	add(proxyWords(&o)...)
	if o.HashByAddress {
		add("hash-key", "addr-port")
	}
	if o.TLS {
		add(tlsWords(o, l, caps)...)
	}
	return words
}

// proxyWords have connections, and health checks, begin with a PROXY header.
func proxyWords(o *model.ServerOptions) []string {
	var words []string
	switch o.Rare().ProxyProtocol {
	case 1:
		words = []string{"send-proxy"}
	case 2:
		words = []string{"send-proxy-v2"}
	default:
		return nil
	}
	if o.CheckInterval != "" {
		words = append(words, "check-send-proxy")
	}
	return words
}

// tlsWords names SNI and verification outright: from 3.3 on HAProxy would
// otherwise send the Host as SNI and refuse certificates that lack it.
func tlsWords(o model.ServerOptions, l Layout, caps plan.Capabilities) []string {
	words, more := []string{"ssl"}, o.Rare()
	if o.CheckInterval != "" {
		// A server from the file would check with TLS by itself; one that is
		// added at run time does not, and takes this from no default.
		words = append(words, "check-ssl")
	}
	add := func(more ...string) { words = append(words, more...) }
	switch {
	case more.OnlyHTTP2:
		add("alpn", "h2", "proto", "h2")
	case o.HTTP2:
		add("alpn", "h2,http/1.1")
		if caps.AutoSNI {
			// From 3.3 on HAProxy remembers the protocol that a server chose
			// last, and speaks it at once on the next connection: after a
			// websocket, which takes HTTP/1.1, also to a server that then
			// chooses HTTP/2 (github.com/haproxy/haproxy/issues/3473, 3.4.7).
			// It remembers it by the name of the pool, so websockets get one
			// of their own.
			add("pool-conn-name", "req.hdr(upgrade)")
		}
	}
	if o.CAID == "" {
		add("verify", "none")
	} else {
		add("verify", "required", "ca-file", l.CAFile(o.CAID))
	}
	if o.VerifyHost != "" {
		add("verifyhost", o.VerifyHost)
	}
	if more.ClientCert != "" {
		add("crt", l.CertFile(more.ClientCert))
	}
	switch sni := cmp.Or(more.SNI, o.VerifyHost); {
	case sni != "":
		add("sni", "str("+sni+")")
		if o.CheckInterval != "" {
			add("check-sni", sni)
		}
	case caps.AutoSNI:
		add("no-sni-auto")
		if o.CheckInterval != "" {
			add("no-check-sni-auto")
		}
	}
	return words
}

// MapFile writes one map as text.
func MapFile(w io.Writer, st *plan.State, m plan.Map) error {
	var keys []string
	for e, v := range st.Entries {
		if e.Map != m {
			continue
		}
		if err := CheckEntry(e.Key, v); err != nil {
			return &UnsafeError{Step: plan.EntryAdd{Entry: e, Value: v}, Err: err}
		}
		keys = append(keys, e.Key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		// One by one: together all lines would be as long as the file.
		for _, part := range []string{key, " ", st.Entries[plan.Entry{Map: m, Key: key}], "\n"} {
			if _, err := io.WriteString(w, part); err != nil {
				return fmt.Errorf("write map %s: %w", m, err)
			}
		}
	}
	return nil
}

// CrtLine is one line of the list: a certificate, its options, a filter.
func CrtLine(l Layout, certID, filter string) (string, error) {
	file := l.CertFile(certID)
	if err := errors.Join(checkPlain(file), checkPlain(filter)); err != nil {
		return "", &UnsafeError{Step: plan.LineSet{Filter: filter, CertID: certID}, Err: err}
	}
	if plan.HTTP2(certID) {
		return file + " [alpn h2,http/1.1] " + filter, nil
	}
	return file + " " + filter, nil
}

// CrtList writes the list of certificates. The default certificate stands
// first, because it also answers clients that send no name, and under the
// filter "*", so that its own names do not win over a route's certificate.
func CrtList(w io.Writer, st *plan.State, l Layout) error {
	filters := slices.SortedFunc(maps.Keys(st.Lines), func(a, b string) int {
		if (a == "*") != (b == "*") {
			if a == "*" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, f := range filters {
		line, err := CrtLine(l, st.Lines[f], f)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return fmt.Errorf("write crt-list: %w", err)
		}
	}
	return nil
}
