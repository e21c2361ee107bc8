package certificate

import (
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Line is a certificate as a listener shows it at a slot, to clients that ask for some names.
type Line struct {
	// Certificate is the listener's own copy: its ID stands for the slot, the names and Clients,
	// too.
	*model.Certificate
	// Owner is the object that has the listener.
	Owner model.Object
	// Clients is what clients are asked for, nil for nothing.
	Clients *model.ListenerClients
	// Names are hosts, "*.example.com" for those with one label before, or "*" for all
	// names that no other listener of the slot has, and for clients that send none.
	Names []string
}

// anyName is the name of clients that no other name is for.
const anyName = "*"

// Lines says for which names the listeners of a slot show their certificates: each listener
// the first one of each kind of key for its hostname, and each for the names in it that
// belong to the listener. A listener without certificates takes no names from others.
func Lines(slot int, all []model.Listener) (lines []Line) {
	showing := hostnames{first: map[string]*model.Listener{}, last: map[string]*model.Listener{}, below: map[string][]string{}}
	for i := range all {
		if l := &all[i]; len(l.Certificates) > 0 {
			showing.add(l)
		}
	}
	for i := range all {
		lines = append(lines, linesOf(&all[i], slot, &showing)...)
	}
	return lines
}

// hostnames are the listeners of a slot that have certificates, by their hostnames.
type hostnames struct {
	// first and last are those with a hostname.
	first, last map[string]*model.Listener
	// below are the hostnames with one label before a name.
	below map[string][]string
}

func (h *hostnames) add(l *model.Listener) {
	if h.last[l.Hostname] = l; h.first[l.Hostname] != nil {
		return
	}
	h.first[l.Hostname] = l
	if label, parent, _ := strings.Cut(l.Hostname, "."); label != "*" {
		h.below[parent] = append(h.below[parent], l.Hostname)
	}
}

// linesOf returns the lines of one listener.
func linesOf(l *model.Listener, slot int, showing *hostnames) (lines []Line) {
	taken := map[string]bool{}
	take := func(c *model.ListenerCertificate, name string) bool {
		key := c.Algorithm + "/" + name
		was := taken[key]
		taken[key] = true
		return !was
	}
	primary := l.Hostname
	if primary == "" {
		primary = anyName
	}
	for i := range l.Certificates {
		c, names := &l.Certificates[i], []string(nil)
		if take(c, primary) {
			names = append(names, showing.excluding(primary)...)
		}
		for _, name := range c.Names {
			if name != primary && showing.mostSpecific(name) == l && take(c, name) {
				names = append(names, showing.excluding(name)...)
			}
		}
		if len(names) > 0 {
			lines = append(lines, shown(c, l, slot, names))
		}
	}
	return lines
}

func shown(c *model.ListenerCertificate, l *model.Listener, slot int, names []string) Line {
	terms := strconv.Itoa(slot) + "/" + strings.Join(names, " ")
	if l.Clients != nil {
		terms += "/" + l.Clients.CA.ID + l.Clients.Mark()
	}
	id := contentID(l.Owner, terms, c.ID) // which stands for the content
	return Line{Certificate: &model.Certificate{ID: id, Chain: c.Chain, PEM: c.PEM}, Owner: l.Owner, Names: names, Clients: l.Clients}
}

// mostSpecific returns the listener of a slot that a name belongs to, or nil.
func (h *hostnames) mostSpecific(name string) *model.Listener {
	if l := h.last[name]; l != nil {
		return l
	}
	for _, parent, more := strings.Cut(name, "."); more; _, parent, more = strings.Cut(parent, ".") {
		if l := h.first["*."+parent]; l != nil {
			return l
		}
	}
	return h.first[""]
}

// excluding returns a name with those of other lines that it covers left out of it. HAProxy
// prefers, of all lines that fit, one with an ECDSA key, so a wildcard's would be shown in
// the place of an exact name's RSA key (3.4.7).
func (h *hostnames) excluding(name string) []string {
	names := []string{name}
	if base, wildcard := strings.CutPrefix(name, "*."); wildcard {
		for _, o := range h.below[base] {
			names = append(names, "!"+o)
		}
	}
	return names
}
