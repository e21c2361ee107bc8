package haproxy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// ReadBack returns what the running process has. Profiles, server options and
// certificate texts cannot be read; names stand for them, because names carry
// a hash of everything fixed. Whether a backend is published is not read, so
// one that no key leads to counts as unpublished; Inspect looks at that, and at
// what another program can change behind a name.
func (r *Runtime) ReadBack() (*plan.State, error) {
	st := plan.NewState()
	for _, read := range []func(*plan.State) error{r.readMaps, r.readBackends, r.readServers, r.readLimits, r.readCertificates, r.readLines, r.readSlotLines} {
		if err := read(st); err != nil {
			return nil, fmt.Errorf("read back from HAProxy: %w", err)
		}
	}
	return st, nil
}

func (r *Runtime) readMaps(st *plan.State) error {
	for _, m := range plan.Maps() {
		err := r.stream("show map "+r.layout.MapFile(m), func(l string) {
			// "0x55… key value with spaces"
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
			for _, name := range plan.TargetBackends(v) {
				reached[name] = true
			}
		}
	}
	return r.stream("show backend", func(l string) {
		name := strings.TrimSpace(l)
		if model.IsBackendName(name) {
			st.Backends[name] = &plan.Backend{Unpublished: !reached[name]}
		}
	})
}

func (r *Runtime) readServers(st *plan.State) error {
	var wrong error
	err := r.streamBytes("show servers state", func(l []byte) {
		if err := readServer(st, l); err != nil {
			wrong = err
		}
	})
	return errors.Join(err, wrong)
}

func readServer(st *plan.State, l []byte) error {
	row, ok := parseServer(l)
	if !ok {
		return nil
	}
	be := st.Backends[string(row.backend)]
	if be == nil {
		st.Repairs = append(st.Repairs, row.repairs()...)
		return nil
	}
	addr, err1 := netip.ParseAddr(string(row.address))
	port, err2 := strconv.ParseUint(string(row.port), 10, 16)
	weight, err3 := strconv.Atoi(string(row.weight))
	if err := errors.Join(err1, err2, err3); err != nil {
		return fmt.Errorf("server %s/%s: unexpected state %q: %w", row.backend, row.server, l, err)
	}
	be.Servers.Set(string(row.server), &plan.Server{
		Address: netip.AddrPortFrom(addr, uint16(port)), Weight: weight,
		Stopped: row.stopped, Unchecked: row.unchecked, Down: row.down,
	})
	return nil
}

func (r *Runtime) readCertificates(st *plan.State) error {
	for _, c := range []struct {
		command string
		abort   form
		id      func(string) (string, bool)
		into    map[string]string
		all     bool // what the router did not make is read, too
	}{
		{"show ssl cert", "abort ssl cert ?", r.layout.CertID, st.Certs, true},
		{"show ssl ca-file", "abort ssl ca-file ?", r.layout.CAID, st.CAs, false},
	} {
		var open []string // transactions that a former router left
		err := r.stream(c.command, func(l string) {
			name := strings.TrimSpace(l)
			if before, _, ok := strings.Cut(name, " - "); ok {
				name = before // "… - 1 certificate(s)"
			}
			id, ok := c.id(name)
			switch {
			case strings.HasPrefix(name, "*") && r.ReadOnly:
			case strings.HasPrefix(name, "*"):
				open = append(open, name[1:])
			case ok:
				c.into[id] = ""
			case c.all && strings.HasPrefix(name, "/") && name != r.layout.SlotDefault():
				c.into[render.Unmanaged(name)] = ""
			}
		})
		if err != nil {
			return err
		}
		for _, name := range open {
			if err := r.abort(c.abort, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// abort ends a transaction. One that has ended meanwhile is no failure. The name is
// what another program chose, and the typed call of the library sends it unescaped:
// "x;shutdown …" would be a second command.
func (r *Runtime) abort(f form, name string) error {
	c := say(f, name)
	if c.err != nil {
		return fmt.Errorf("transaction on %q: %w", name, c.err)
	}
	l := &line{units: make([]unit, 1)}
	l.text.WriteString(c.text)
	answers, err := r.run(l)
	if err == nil && len(answers) == 0 {
		err = fmt.Errorf("%w: no answer to %s", ErrGone, c.text)
	}
	return err
}

// readLines reads the two lists of certificates.
func (r *Runtime) readLines(st *plan.State) error {
	if err := r.readList(r.layout.CrtList(), func(filter string) bool { return st.Lines[filter] != "" }, func(filter, id string) { st.Lines[filter] = id }); err != nil {
		return err
	}
	return r.readList(r.layout.ClientList(), func(filter string) bool { return st.ClientLines[filter].CertID != "" }, func(filter, id string) {
		st.ClientLines[filter] = plan.ClientLine{CertID: id}
	})
}

// readList reads a list. Lines that the router cannot have made, of a certificate or for
// a name that has one already, go by the file and line where they stand.
func (r *Runtime) readList(list string, taken func(filter string) bool, take func(filter, id string)) error {
	seen := map[string]bool{}
	return r.stream("show ssl crt-list -n "+list, func(l string) {
		f := strings.Fields(l)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") {
			return
		}
		fileLine, filter := f[0], f[len(f)-1]
		file := fileLine
		if i := strings.LastIndexByte(file, ':'); i > strings.LastIndexByte(file, '.') {
			file = file[:i] // "-n" appends the line number
		}
		id, ours := r.layout.CertID(file)
		// The first line of a filter answers, as in HAProxy.
		if !ours || taken(filter) || seen[id] {
			take(render.Unmanaged(fileLine), render.Unmanaged(fileLine))
			return
		}
		take(filter, id)
		seen[id] = true
	})
}
