package haproxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// ReadBack returns what the running process has. Profiles, server options and
// certificate texts cannot be read; names stand for them, because names carry
// a hash of everything fixed. Whether a backend is published is not read, so
// one that no key leads to counts as unpublished; Inspect looks.
func (r *Runtime) ReadBack() (*plan.State, error) {
	st := plan.NewState()
	for _, read := range []func(*plan.State) error{r.readMaps, r.readBackends, r.readServers, r.readLimits, r.readCertificates, r.readLines} {
		if err := read(st); err != nil {
			return nil, fmt.Errorf("read back from HAProxy: %w", err)
		}
	}
	return st, nil
}

func (r *Runtime) readMaps(st *plan.State) error {
	for _, m := range plan.Maps() {
		err := r.stream("show map "+r.layout.MapFile(m), func(l string) {
			// "0x55… key value with blanks"
			if ref, rest, ok := strings.Cut(l, " "); ok && strings.HasPrefix(ref, "0x") {
				key, value, _ := strings.Cut(rest, " ")
				st.Entries[plan.Entry{Map: m, Key: key}] = value
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Runtime) readBackends(st *plan.State) error {
	reached := map[string]bool{}
	for e, v := range st.Entries {
		if e.Map.Routes() {
			reached[v] = true
		}
	}
	return r.stream("show backend", func(l string) {
		name := strings.TrimSpace(l)
		if strings.HasPrefix(name, "be_") {
			st.Backends[name] = &plan.Backend{Servers: map[string]*plan.Server{}, Unpublished: !reached[name]}
		}
	})
}

// Columns of "show servers state", format 1 (HAProxy management guide 9.3).
const (
	colBackend    = 1
	colServer     = 3
	colAddress    = 4
	colAdminState = 6
	colWeight     = 7
	colPort       = 18
	columns       = 19
)

// stoppedStates are the bits of srv_admin_state for forced maintenance and
// forced drain.
const stoppedStates = 0x01 | 0x08

func (r *Runtime) readServers(st *plan.State) error {
	var wrong error
	err := r.stream("show servers state", func(l string) {
		if err := readServer(st, l); err != nil {
			wrong = err
		}
	})
	return errors.Join(err, wrong)
}

func readServer(st *plan.State, l string) error {
	if strings.HasPrefix(l, "#") || strings.Count(l, " ") < columns-1 {
		return nil
	}
	var f [columns]string
	rest := l
	for i := range f {
		f[i], rest, _ = strings.Cut(rest, " ")
	}
	be := st.Backends[f[colBackend]]
	if be == nil {
		return nil
	}
	addr, err1 := netip.ParseAddr(f[colAddress])
	port, err2 := strconv.ParseUint(f[colPort], 10, 16)
	weight, err3 := strconv.Atoi(f[colWeight])
	admin, err4 := strconv.Atoi(f[colAdminState])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return fmt.Errorf("server %s/%s: unexpected state %q", f[colBackend], f[colServer], l)
	}
	// A copy lets go of the line.
	be.Servers[strings.Clone(f[colServer])] = &plan.Server{
		Address: netip.AddrPortFrom(addr, uint16(port)),
		Weight:  weight, Stopped: admin&stoppedStates != 0,
	}
	return nil
}

func (r *Runtime) readCertificates(st *plan.State) error {
	for _, c := range []struct {
		command string
		id      func(string) (string, bool)
		into    map[string]string
		foreign bool // the router's own are all that should be
	}{
		{"show ssl cert", r.layout.CertID, st.Certs, true},
		{"show ssl ca-file", r.layout.CAID, st.CAs, false},
	} {
		var open []string // transactions that a former router left
		err := r.stream(c.command, func(l string) {
			name := strings.TrimSpace(l)
			if before, _, ok := strings.Cut(name, " - "); ok {
				name = before // "… - 1 certificate(s)"
			}
			id, ok := c.id(name)
			switch {
			case strings.HasPrefix(name, "*"):
				open = append(open, name[1:])
			case ok:
				c.into[id] = ""
			case c.foreign && strings.HasPrefix(name, "/"):
				c.into[render.Foreign(name)] = ""
			}
		})
		if err != nil {
			return err
		}
		for _, name := range open {
			if _, err := r.raw(strings.Replace(c.command, "show", "abort", 1) + " " + name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLines reads the list of certificates. Lines that the router cannot have
// made, of a certificate or for a name that has one already, go by the place
// where they stand.
func (r *Runtime) readLines(st *plan.State) error {
	seen := map[string]bool{}
	return r.stream("show ssl crt-list -n "+r.layout.CrtList(), func(l string) {
		f := strings.Fields(l)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") {
			return
		}
		place, filter := f[0], f[len(f)-1]
		file := place
		if i := strings.LastIndexByte(file, ':'); i > strings.LastIndexByte(file, '.') {
			file = file[:i] // "-n" appends the line number
		}
		id, ours := r.layout.CertID(file)
		// The first line of a filter answers, as in HAProxy.
		if !ours || st.Lines[filter] != "" || seen[id] {
			st.Lines[render.Foreign(place)] = render.Foreign(place)
			return
		}
		st.Lines[filter], seen[id] = id, true
	})
}
