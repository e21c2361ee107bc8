package haproxy

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// A digest is the sum of the hashes of items, so their order does not matter.
// HAProxy's answers and a state give the same one if they hold the same items,
// which costs the router a tenth of reading a state and comparing it, and no
// memory, because nothing is kept of the answers.

// Depth says how much of HAProxy a digest is about.
type Depth bool

const (
	// Routes is what ReadBack reads.
	Routes Depth = false
	// Everything is what Inspect reads as well.
	Everything Depth = true
)

// digest adds items up.
type digest struct {
	seed maphash.Seed
	sum  uint64
	item []byte
}

// add adds an item of a kind.
func add[T ~string | ~[]byte](d *digest, kind string, parts ...T) {
	d.item = append(append(d.item[:0], kind...), 0)
	for _, p := range parts {
		d.item = append(append(d.item, p...), 0)
	}
	d.sum += maphash.Bytes(d.seed, d.item)
}

// wrong adds items that no state has, because they are to be put right.
func (d *digest) wrong(n int) {
	for range n {
		add(d, "wrong", "")
	}
}

// server adds a server. The address may be of any length.
func (d *digest) server(backend, name, address, port, weight []byte, flags byte) {
	add(d, "server", backend, name, address, port, weight, []byte{flags})
}

// flags are the properties of a server that are true or not.
func flags(properties ...bool) (b byte) {
	for i, set := range properties {
		if set {
			b |= 1 << i
		}
	}
	return b
}

// Expect returns the digest of a HAProxy that has what a state says.
func (r *Runtime) Expect(st *plan.State, depth Depth) uint64 {
	d := &digest{seed: r.seed}
	var name, server, address, port, weight []byte
	for id, b := range st.Backends {
		add(d, "backend", id)
		if depth == Everything && r.caps.DynamicBackends && b.Unpublished {
			add(d, "unpublished", id)
		}
		name = append(name[:0], id...)
		for _, s := range b.Servers {
			server = append(server[:0], s.Name...)
			address = s.Address.Addr().AppendTo(address[:0])
			port = strconv.AppendUint(port[:0], uint64(s.Address.Port()), 10)
			weight = strconv.AppendInt(weight[:0], int64(s.Weight), 10)
			d.server(name, server, address, port, weight, flags(s.Stopped, s.Unchecked, s.Down))
			if s.MaxConn > 0 {
				weight = strconv.AppendInt(weight[:0], int64(s.MaxConn), 10)
				add(d, "limit", name, server, weight)
			}
		}
	}
	for e, v := range st.Entries {
		add(d, string(e.Map), e.Key, v)
	}
	for filter, id := range st.Lines {
		add(d, "line", filter, r.layout.CertFile(id))
	}
	for filter, l := range st.ClientLines {
		add(d, "client line", filter, r.layout.CertFile(l.CertID))
	}
	for l, terms := range st.SlotLines {
		d.addSlotLine(l.Slot, r.layout.CertFile(l.CertID), render.SlotTermsText(r.layout, terms))
	}
	var p printer
	for _, of := range r.stored() {
		for id, text := range of.texts(st) {
			name = append(name[:0], of.file(id)...)
			add(d, of.command, name)
			if depth == Everything && text != "" {
				p.prints(text, of.whole, func(sum []byte) { add(d, "print", name, sum) })
			}
		}
	}
	return d.sum
}

// Digest returns the digest of what HAProxy has. The texts that a state knows
// are those whose fingerprints are asked for.
func (r *Runtime) Digest(known *plan.State, depth Depth) (uint64, error) {
	d := &digest{seed: r.seed}
	asks := []func(*digest) error{r.digestBackends, r.digestMaps, r.digestStored, r.digestLines, func(d *digest) error {
		return r.slotLines(func(l listedLine) { d.addSlotLine(l.slot, l.file, l.terms) })
	}}
	if depth == Everything {
		asks = append(asks, r.digestProxies, func(d *digest) error {
			return r.fingerprints(known, func(_ stored, file, sum []byte) { add(d, "print", file, sum) })
		})
	}
	for _, ask := range asks {
		if err := ask(d); err != nil {
			return 0, fmt.Errorf("take a digest of HAProxy's state: %w", err)
		}
	}
	return d.sum, nil
}

func (r *Runtime) digestBackends(d *digest) error {
	if err := r.streamBytes("show backend", func(l []byte) {
		if name := bytes.TrimSpace(l); model.IsBackendName(name) {
			add(d, "backend", name)
		}
	}); err != nil {
		return err
	}
	if err := r.streamBytes("show servers state", func(l []byte) {
		row, ok := parseServer(l)
		switch {
		case !ok:
		case model.IsBackendName(row.backend):
			d.server(row.backend, row.server, row.address, row.port, row.weight, flags(row.stopped, row.unchecked, row.down))
		default:
			d.wrong(len(row.repairs()))
		}
	}); err != nil {
		return err
	}
	return r.limits(func(body io.Reader) error {
		return r.eachBytes(body, func(l []byte) {
			if backend, server, value, ok := parseLimit(l); ok {
				add(d, "limit", backend, server, value)
			}
		})
	})
}

func (r *Runtime) digestMaps(d *digest) error {
	for _, m := range plan.Maps() {
		err := r.streamBytes("show map "+r.layout.MapFile(m), func(l []byte) {
			if ref, rest, ok := bytes.Cut(l, []byte(" ")); ok && bytes.HasPrefix(ref, []byte("0x")) {
				key, value, _ := bytes.Cut(rest, []byte(" "))
				add(d, string(m), key, value)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Runtime) digestStored(d *digest) error {
	for _, of := range r.stored() {
		err := r.streamBytes(of.command, func(l []byte) {
			name, _, _ := bytes.Cut(bytes.TrimSpace(l), []byte(" - ")) // "… - 1 certificate(s)"
			switch _, ours := of.id(string(name)); {
			case string(name) == r.layout.SlotDefault():
			case bytes.HasPrefix(name, []byte("*")):
				d.wrong(1) // a transaction that another program left open
			case ours, !of.whole && bytes.HasPrefix(name, []byte("/")):
				add(d, of.command, name)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Runtime) digestLines(d *digest) error {
	for list, kind := range map[string]string{r.layout.CrtList(): "line", r.layout.ClientList(): "client line"} {
		if err := r.streamBytes("show ssl crt-list -n "+list, func(l []byte) {
			if file, filter, ok := parseLine(l); ok {
				add(d, kind, filter, file)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runtime) digestProxies(d *digest) error {
	steps, limit, err := r.processLimits()
	if err != nil {
		return err
	}
	d.wrong(len(steps))
	return r.proxies(func(p proxyRow) {
		if p.unpublished() && model.IsBackendName(p.name) {
			add(d, "unpublished", p.name)
		}
		if steps, broken := p.repairs(limit); len(steps) > 0 || broken != "" {
			d.wrong(len(steps) + 1)
		}
	})
}

// parseLine reads "FILE:NUMBER [options] FILTER" of the list of certificates.
func parseLine(l []byte) (file, filter []byte, ok bool) {
	l = bytes.TrimSpace(l)
	fileLine, rest, ok := bytes.Cut(l, []byte(" "))
	if !ok || len(l) == 0 || l[0] == '#' {
		return nil, nil, false
	}
	// "-n" appends the line number.
	if i := bytes.LastIndexByte(fileLine, ':'); i > bytes.LastIndexByte(fileLine, '.') {
		fileLine = fileLine[:i]
	}
	return fileLine, rest[bytes.LastIndexByte(rest, ' ')+1:], true
}
