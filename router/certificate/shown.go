package certificate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Line is a certificate as a listener shows it at a slot, to clients that ask for some names.
type Line struct {
	// Certificate is the listener's own copy: its ID stands for the slot, and for all else that
	// the line says.
	*model.Certificate
	// Owner is the object that has the listener.
	Owner model.Object
	// Clients is what clients are asked for, nil for nothing.
	Clients *model.ListenerClients
	// ALPN names the protocols that clients may agree on, empty for the default of the slot.
	ALPN string
	// Names are hosts, "*.example.com" for those with one label before, or "*" for all
	// names that no other listener of the slot has, and for clients that send none.
	Names []string
}

// anyName is the name of clients that no other name is for.
const anyName = "*"

// mostExcluded bounds the names that a line excludes, in bytes: tenants choose how many there
// are, and HAProxy before 3.4 takes commands of 15 kB, each version lines of 64 kB in a file. At
// hosts over it clients that prefer the kind of the wildcard's key get its certificate.
const mostExcluded = 8 << 10

// Shown are the listeners of a slot that have certificates. One without takes no names
// from others.
type Shown struct {
	slot int
	// byHost are those with a hostname: several only until conflicts between them are settled.
	byHost map[string][]*model.Listener
	// below are the hostnames with one label before a name, the shortest ones first.
	below map[string][]string
}

// NewShown returns those of a slot without listeners.
func NewShown(slot int) *Shown {
	return &Shown{slot: slot, byHost: map[string][]*model.Listener{}, below: map[string][]string{}}
}

// Add adds a listener.
func (s *Shown) Add(l *model.Listener) {
	if len(l.Certificates) == 0 {
		return
	}
	s.byHost[l.Hostname] = append(s.byHost[l.Hostname], l)
	if all := s.byHost[l.Hostname]; len(all) > 1 {
		slices.SortFunc(all, byOwner)
		return
	}
	if parent, is := parentOf(l.Hostname); is {
		at, _ := slices.BinarySearchFunc(s.below[parent], l.Hostname, shorter)
		s.below[parent] = slices.Insert(s.below[parent], at, l.Hostname)
	}
}

// Remove removes a listener.
func (s *Shown) Remove(l *model.Listener) {
	all := s.byHost[l.Hostname]
	at := slices.Index(all, l)
	if at < 0 {
		return
	}
	if all = slices.Delete(all, at, at+1); len(all) > 0 {
		s.byHost[l.Hostname] = all
		return
	}
	delete(s.byHost, l.Hostname)
	if parent, is := parentOf(l.Hostname); is {
		names := s.below[parent]
		if at, found := slices.BinarySearchFunc(names, l.Hostname, shorter); found {
			names = slices.Delete(names, at, at+1)
		}
		if s.below[parent] = names; len(names) == 0 {
			delete(s.below, parent)
		}
	}
}

// byOwner puts Gateways before ListenerSets.
func byOwner(a, b *model.Listener) int {
	return cmp.Or(
		strings.Compare(string(a.Owner.Kind), string(b.Owner.Kind)), strings.Compare(a.Owner.Namespace, b.Owner.Namespace),
		strings.Compare(a.Owner.Name, b.Owner.Name), strings.Compare(string(a.Scope), string(b.Scope)),
	)
}

func shorter(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }

// parentOf returns what follows the first label of a host, and false for a wildcard.
func parentOf(host string) (string, bool) {
	label, parent, _ := strings.Cut(host, ".")
	return parent, label != "*"
}

// Beside returns the listeners, in any order and some of them twice, whose lines depend on
// whether a listener is there and on its certificates: those with its hostname, the one that has
// its names otherwise, and those of the wildcard that excludes it.
func (s *Shown) Beside(l *model.Listener) []*model.Listener {
	all := slices.Clone(s.byHost[l.Hostname])
	if above := s.above(l.Hostname); above != nil {
		all = append(all, above)
	}
	if parent, is := parentOf(l.Hostname); is {
		all = append(all, s.byHost["*."+parent]...)
		if has := s.mostSpecific("*." + parent); has != nil {
			all = append(all, has)
		}
	}
	return all
}

// Lines says for which names a listener shows its certificates: the first one of each kind of key
// for its hostname, and each for the names in it that belong to the listener.
func (s *Shown) Lines(l *model.Listener) (lines []Line) {
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
			names = append(names, primary)
		}
		for _, name := range c.Names {
			if name != primary && s.mostSpecific(name) == l && take(c, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			lines = append(lines, shown(c, l, s.slot, s.excluding(names, c.Algorithm)))
		}
	}
	return lines
}

func shown(c *model.ListenerCertificate, l *model.Listener, slot int, names []string) Line {
	terms := strconv.Itoa(slot) + "/" + strings.Join(names, " ")
	if l.Clients != nil {
		terms += "/" + l.Clients.CA.ID + l.Clients.Mark()
	}
	if l.ALPN != "" {
		terms += "/alpn " + l.ALPN
	}
	id := contentID(l.Owner, terms, c.ID) // which stands for the content
	return Line{Certificate: &model.Certificate{ID: id, Chain: c.Chain, PEM: c.PEM}, Owner: l.Owner, Names: names, Clients: l.Clients, ALPN: l.ALPN}
}

// mostSpecific returns the listener that a name belongs to, or nil.
func (s *Shown) mostSpecific(name string) *model.Listener {
	if all := s.byHost[name]; len(all) > 0 {
		return all[0]
	}
	return s.above(name)
}

// above returns the listener that a name belongs to if none has it as its hostname, or nil.
func (s *Shown) above(name string) *model.Listener {
	for _, parent, more := strings.Cut(name, "."); more; _, parent, more = strings.Cut(parent, ".") {
		if all := s.byHost["*."+parent]; len(all) > 0 && "*."+parent != name {
			return all[0]
		}
	}
	if all := s.byHost[""]; len(all) > 0 && name != "" {
		return all[0]
	}
	return nil
}

// excluding returns names with those hosts below them left out that have no certificate for
// the kind of key: HAProxy prefers, of all lines that fit, one with an ECDSA key, so a
// wildcard's would be shown in the place of an exact name's RSA key (3.4.7).
func (s *Shown) excluding(names []string, algorithm string) []string {
	left, all := mostExcluded, make([]string, 0, len(names))
	for _, name := range names {
		all = append(all, name)
		base, wildcard := strings.CutPrefix(name, "*.")
		if !wildcard {
			continue
		}
		for _, host := range s.below[base] {
			if has(s.byHost[host], algorithm) {
				continue
			}
			if left -= len(" !") + len(host); left < 0 {
				break
			}
			all = append(all, "!"+host)
		}
	}
	return all
}

func has(listeners []*model.Listener, algorithm string) bool {
	return slices.ContainsFunc(listeners, func(l *model.Listener) bool {
		return slices.ContainsFunc(l.Certificates, func(c model.ListenerCertificate) bool { return c.Algorithm == algorithm })
	})
}
