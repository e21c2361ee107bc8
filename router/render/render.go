// Package render turns settings and a wanted state into the text of HAProxy's
// files: the configuration, the maps and the crt-list. It is pure; equal input
// gives byte-identical text.
//
// The text is what HAProxy starts from. Later changes go over its runtime
// socket, and the files follow so that a restart begins where it stopped.
package render

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/templates"
)

// Layout says where the files of one router are.
type Layout struct {
	// Dir is the absolute work directory.
	Dir string
}

// RunDir holds the sockets.
func (l Layout) RunDir() string { return filepath.Join(l.Dir, "run") }

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

// LuaFile holds the actions that HAProxy has no words for.
func (l Layout) LuaFile() string { return filepath.Join(l.Dir, "headers.lua") }

// MapFile is the file, and HAProxy's name, of a map.
func (l Layout) MapFile(m plan.Map) string {
	return filepath.Join(l.MapsDir(), string(m)+".map")
}

// CertFile is the file, and HAProxy's name, of a certificate. It has no colon,
// after which "del ssl crt-list" would expect a line number (3.4.7).
// Underscores stand for them, which names of Kubernetes objects do not have.
func (l Layout) CertFile(id string) string {
	return filepath.Join(l.CertsDir(), strings.ReplaceAll(id, ":", "_")+".pem")
}

// CertID returns the ID of the certificate that CertFile names.
func (l Layout) CertID(file string) (string, bool) {
	id, ok := cutAffixes(file, l.CertsDir()+"/", ".pem")
	return strings.ReplaceAll(id, "_", ":"), ok
}

// CAFile is the file, and HAProxy's name, of a CA bundle.
func (l Layout) CAFile(id string) string { return filepath.Join(l.CertsDir(), id+".ca") }

// CAID returns the ID of the CA bundle that CAFile names.
func (l Layout) CAID(file string) (string, bool) {
	return cutAffixes(file, l.CertsDir()+"/", ".ca")
}

func cutAffixes(s, prefix, suffix string) (string, bool) {
	s, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, suffix)
}

// Settings are the router-wide values that need a reload to change.
type Settings struct {
	// HTTPPort and HTTPSPort are the ports of the listeners.
	HTTPPort, HTTPSPort int
	// MaxConn is the limit of concurrent connections; default 20000, less
	// where the file limit does not allow that.
	MaxConn int
	// Threads is HAProxy's number of threads; default 1.
	Threads int
	// IPv6 also listens on IPv6 addresses.
	IPv6 bool
}

// descriptionPrefix marks, in "show info", a process that runs our skeleton.
const descriptionPrefix = "fairlead-"

// Skeleton returns the configuration text without route backends, and its
// fingerprint, which a running process shows as its description. A process
// with another fingerprint needs a reload.
func Skeleton(s Settings, l Layout, caps plan.Capabilities) (text, fingerprint string, err error) {
	tmpl, err := template.New("haproxy.cfg").Parse(templates.Skeleton)
	if err != nil {
		return "", "", fmt.Errorf("parse the HAProxy template: %w", err)
	}
	data := skeletonData(s, l, caps)
	var body bytes.Buffer
	if err := tmpl.Execute(&body, data); err != nil {
		return "", "", fmt.Errorf("render the HAProxy template: %w", err)
	}
	h := fnv.New64a()
	for _, text := range [][]byte{body.Bytes(), templates.Unavailable, templates.NotFound, templates.HeadersLua} {
		_, _ = h.Write(text)
	}
	fingerprint = descriptionPrefix + strconv.FormatUint(h.Sum64(), 16)
	data.Description = fingerprint
	body.Reset()
	if err := tmpl.Execute(&body, data); err != nil {
		return "", "", fmt.Errorf("render the HAProxy template: %w", err)
	}
	return body.String(), fingerprint, nil
}

type skeleton struct {
	Description, HardStopAfter string
	MaxConn, Threads           int
	RunDir, MapsDir, PagesDir  string
	CrtList                    string
	GlobalExtra, HTTPBinds     []string
	FrontExtra                 []string
	HTTPSBinds                 []string
	PolicyRules, ResponseRules []string
	HTTPProfiles, TCPProfiles  []profile
}

type profile struct {
	Name, Balance, Tunnel string
	Cookie                bool
}

func skeletonData(s Settings, l Layout, caps plan.Capabilities) *skeleton {
	d := &skeleton{
		Description: "fairlead", HardStopAfter: "1h",
		MaxConn: s.MaxConn, Threads: max(s.Threads, 1),
		RunDir: l.RunDir(), MapsDir: l.MapsDir(), PagesDir: l.PagesDir(), CrtList: l.CrtList(),
		HTTPBinds: binds(s.HTTPPort, s.IPv6), HTTPSBinds: binds(s.HTTPSPort, s.IPv6),
		PolicyRules: policyRules(l, caps), ResponseRules: responseRules(l, caps),
	}
	if caps.Lua {
		d.GlobalExtra = append(d.GlobalExtra, "lua-load-per-thread "+l.LuaFile())
	}
	if caps.DynamicBackends {
		d.GlobalExtra = append(d.GlobalExtra, "tune.cli.max-payload-size 1048576")
	} else {
		// Reloads are part of every day here: a client whose connection is idle
		// hears of its end with the next answer, because a plain close could
		// cross its next request. The price is that the old process, also at
		// the end of a pod, stays until idle clients have left.
		d.FrontExtra = append(d.FrontExtra, "option idle-close-on-response")
	}
	for _, p := range model.Profiles() {
		r := profile{Name: p.Name(), Balance: string(p.Balance), Cookie: p.Cookie, Tunnel: strconv.Itoa(int(p.Tunnel.Seconds())) + "s"}
		if p.TCP {
			d.TCPProfiles = append(d.TCPProfiles, r)
			continue
		}
		if p.Balance == model.SourceHash {
			// The map-based hash refuses servers that come and go.
			r.Balance += "\n  hash-type consistent"
		}
		d.HTTPProfiles = append(d.HTTPProfiles, r)
	}
	return d
}

// binds listens on IPv4 and, separately, on IPv6: on one socket for both, an
// IPv4 client would look like an IPv6 one to allow-lists.
func binds(port int, ipv6 bool) []string {
	b := []string{fmt.Sprintf("*:%d", port)}
	if ipv6 {
		b = append(b, fmt.Sprintf(":::%d v6only", port))
	}
	return b
}

// Backends writes the route backends of a state as configuration text.
func Backends(w io.Writer, st *plan.State, l Layout, caps plan.Capabilities) error {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(st.Backends)) {
		be := st.Backends[name]
		b.Reset()
		fmt.Fprintf(&b, "\nbackend %s from %s\n", name, be.Profile)
		for _, srv := range slices.Sorted(maps.Keys(be.Servers)) {
			fmt.Fprintf(&b, "  server %s %s\n", srv, ServerArgs(be.Servers[srv], l, caps))
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return fmt.Errorf("write backend %s: %w", name, err)
		}
	}
	return nil
}

// ServerArgs returns what follows a server's name, the same text for the
// configuration file and for "add server".
func ServerArgs(s plan.Server, l Layout, caps plan.Capabilities) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s weight %d", s.Address, s.Weight)
	if s.MaxConn > 0 {
		fmt.Fprintf(&b, " maxconn %d", s.MaxConn)
	}
	o := s.Options
	if o.Cookie != "" {
		b.WriteString(" cookie " + o.Cookie)
	}
	if o.CheckInterval != "" {
		b.WriteString(" check inter " + o.CheckInterval)
	}
	if o.H2C {
		b.WriteString(" proto h2")
	}
	if o.TLS {
		b.WriteString(tlsArgs(o, l, caps))
	}
	return b.String()
}

// tlsArgs names SNI and verification outright: from 3.3 on HAProxy would
// otherwise send the Host as SNI and refuse certificates that lack it.
func tlsArgs(o model.ServerOptions, l Layout, caps plan.Capabilities) string {
	args := " ssl alpn h2,http/1.1"
	if o.CAID == "" {
		args += " verify none"
	} else {
		args += " verify required ca-file " + l.CAFile(o.CAID)
	}
	switch {
	case o.VerifyHost != "":
		args += " sni str(" + o.VerifyHost + ") verifyhost " + o.VerifyHost
		if o.CheckInterval != "" {
			args += " check-sni " + o.VerifyHost
		}
	case caps.AutoSNI:
		args += " no-sni-auto"
		if o.CheckInterval != "" {
			args += " no-check-sni-auto"
		}
	}
	return args
}

// MapFile writes one map as text.
func MapFile(w io.Writer, st *plan.State, m plan.Map) error {
	var lines []string
	for e, v := range st.Entries {
		if e.Map == m {
			lines = append(lines, e.Key+" "+v+"\n")
		}
	}
	slices.Sort(lines)
	for _, line := range lines {
		if _, err := io.WriteString(w, line); err != nil {
			return fmt.Errorf("write map %s: %w", m, err)
		}
	}
	return nil
}

// CrtLine is one line of the list: a certificate, its options, a filter.
func CrtLine(l Layout, certID, filter string) string {
	if plan.HTTP2(certID) {
		return l.CertFile(certID) + " [alpn h2,http/1.1] " + filter
	}
	return l.CertFile(certID) + " " + filter
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
		if _, err := io.WriteString(w, CrtLine(l, st.Lines[f], f)+"\n"); err != nil {
			return fmt.Errorf("write crt-list: %w", err)
		}
	}
	return nil
}
