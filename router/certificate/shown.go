package certificate

import (
	"slices"
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
	var showing []*model.Listener
	var hostnames []string
	for i := range all {
		if l := &all[i]; len(l.Certificates) > 0 {
			showing, hostnames = append(showing, l), append(hostnames, l.Hostname)
		}
	}
	for _, l := range showing {
		lines = append(lines, linesOf(l, slot, showing, hostnames)...)
	}
	return lines
}

// linesOf returns the lines of one listener of those that have certificates.
func linesOf(l *model.Listener, slot int, showing []*model.Listener, hostnames []string) (lines []Line) {
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
			names = append(names, excluding(primary, hostnames)...)
		}
		for _, name := range c.Names {
			if name != primary && mostSpecific(showing, name) == l && take(c, name) {
				names = append(names, excluding(name, hostnames)...)
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
	id := contentID(l.Owner, terms, c.PEM)
	return Line{Certificate: &model.Certificate{ID: id, Chain: c.Chain, PEM: c.PEM}, Owner: l.Owner, Names: names, Clients: l.Clients}
}

// mostSpecific returns the listener of a slot that a name belongs to.
func mostSpecific(all []*model.Listener, name string) (best *model.Listener) {
	for _, l := range all {
		covers := l.Hostname == "" || l.Hostname == name ||
			strings.HasPrefix(l.Hostname, "*.") && strings.HasSuffix(name, l.Hostname[1:]) && name != l.Hostname[1:]
		if covers && (best == nil || l.Hostname == name || best.Hostname != name && len(l.Hostname) > len(best.Hostname)) {
			best = l
		}
	}
	return best
}

// excluding returns a name with those of other lines that it covers left out of it. HAProxy
// prefers, of all lines that fit, one with an ECDSA key, so a wildcard's would be shown in
// the place of an exact name's RSA key (3.4.7).
func excluding(name string, others []string) []string {
	names := []string{name}
	base, wildcard := strings.CutPrefix(name, "*.")
	if !wildcard {
		return names
	}
	for _, o := range others {
		if label, rest, _ := strings.Cut(o, "."); rest == base && label != "*" && !slices.Contains(names, "!"+o) {
			names = append(names, "!"+o)
		}
	}
	return names
}
