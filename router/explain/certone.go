package explain

import (
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/model"
)

// certOf adds what clients of one Route's host are shown. Of the other Routes it looks only for those with
// the same certificate.
func (s *Snapshot) certOf(list *Certs, key model.Object, soon time.Duration) {
	c, own := s.routeCert(key, soon)
	if c == nil || s.hides(key) {
		return
	}
	if c.From == fromDefault && s.defaultCert == nil {
		list.Notes = append(list.Notes, "the default certificate, which the host gets, is not known here")
	}
	if why := s.source.unreadable[key]; why != "" {
		list.Notes = append(list.Notes, notChecked(key, why))
	}
	if mine := s.leafOf(key); own && mine != "" {
		for _, other := range s.source.keys() {
			if other != key && !s.hides(other) && s.leafOf(other) == mine {
				c.SameAs = append(c.SameAs, other.String())
			}
		}
	}
	list.Items = append(list.Items, *c)
}

// leafOf is the text of the certificate that a Route brings and is served with, without its chain; the
// certificates of claims are all written in the same way.
func (s *Snapshot) leafOf(key model.Object) string {
	_, served := s.pipeline.Claims(key)
	if len(served) == 0 || served[0].Certificate == nil {
		return ""
	}
	text, _, _ := strings.Cut(served[0].Certificate.PEM, "-----END")
	return text
}
