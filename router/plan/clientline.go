package plan

import (
	"hash/fnv"
	"strconv"

	"github.com/fairlead/fairlead/router/model"
)

// ClientLine is a line of the list of certificates for hosts that ask clients for one.
type ClientLine struct {
	// CertID names the certificate, and stands for all that follows: a line with a name
	// has the options of that name. A line that was read back has nothing else.
	CertID string
	// CA names the authorities of clients.
	CA string
	// Required ends the handshake with a client that has no certificate.
	Required bool
	// HTTP2 offers HTTP/2.
	HTTP2 bool
}

// NewClientLine returns the line of a host that shows a certificate. Each host has a
// copy of its own, so that the copy's name can say what its line does.
func NewClientLine(host, certificate string, ca *model.CA, required, http2 bool) ClientLine {
	l := ClientLine{CA: ca.ID, Required: required, HTTP2: http2}
	h := fnv.New64a()
	_, _ = h.Write([]byte(host + "\x00" + ca.ID + "\x00" + strconv.FormatBool(required) + strconv.FormatBool(http2)))
	l.CertID = certificate + clientInfix + strconv.FormatUint(h.Sum64(), 16)
	return l
}

// clientInfix stands between the ID of a certificate and what its line does.
const clientInfix = "-c"

// recallClientLines takes over what lines do from a former state.
func (s *State) recallClientLines(former *State) {
	for filter, l := range s.ClientLines {
		if old := former.ClientLines[filter]; old.CertID == l.CertID {
			s.ClientLines[filter] = old
		}
	}
}

// clientLines adds the lines that are new or others. Those that go do so when no name
// leads to the list any more: oldClientLines.
func (d *differ) clientLines(scope *Scope) {
	for _, filter := range sorted(scope.ClientLines) {
		want, wanted := d.want.ClientLines[filter]
		if have := d.live.ClientLines[filter]; wanted && have.CertID != want.CertID {
			d.add(ClientLineSet{Filter: filter, Line: want, Old: have.CertID})
		}
	}
}

func (d *differ) oldClientLines(scope *Scope) {
	for _, filter := range sorted(scope.ClientLines) {
		if have, ok := d.live.ClientLines[filter]; ok {
			if _, wanted := d.want.ClientLines[filter]; !wanted {
				d.add(ClientLineDel{Filter: filter, CertID: have.CertID})
			}
		}
	}
}
