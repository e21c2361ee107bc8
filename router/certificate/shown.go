package certificate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/model"
)

// Shown returns a certificate as a listener of an object shows it at a port of the router's
// pod to clients that ask for some names. It is a copy of its own, with an ID that no
// other port and no other names have.
func Shown(c *model.Certificate, owner model.Object, slot int, names []string) model.ListenerCertificate {
	id := contentID(owner, strconv.Itoa(slot)+"/"+strings.Join(names, " "), c.PEM)
	return model.ListenerCertificate{Certificate: &model.Certificate{ID: id, Chain: c.Chain, PEM: c.PEM}, Names: names}
}

// Excluding returns a name with those of other lines that it covers left out of it. HAProxy
// prefers, of all lines that fit, one with an ECDSA key, so a wildcard's would be shown in
// the place of an exact name's RSA key (3.4.7).
func Excluding(name string, others []string) []string {
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
