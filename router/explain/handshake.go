package explain

import (
	"cmp"
	"crypto/x509"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/router/certificate"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/match"
	"github.com/fairlead/fairlead/router/model"
)

// Handshake is what a client that names a server was shown.
type Handshake struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Fingerprint is that of the certificate that was shown, Planned that of the one that
	// the router should show, empty if it is not known. From says where that is from.
	Fingerprint string `json:"fingerprint"`
	Subject     string `json:"subject"`
	Planned     string `json:"planned"`
	From        string `json:"from"`
	AsPlanned   bool   `json:"asPlanned"`
}

// Compare adds what a handshake showed, a certificate in DER.
func (s *Snapshot) Compare(l *Certs, name, address string, leaf *x509.Certificate) {
	text, from := s.shown(match.ServerName(name))
	h := &Handshake{Name: name, Address: address, Fingerprint: fingerprint(leaf), Subject: leaf.Subject.String(), From: from}
	if chain := certificate.Parse(text); len(chain) > 0 {
		h.Planned = fingerprint(chain[0])
	}
	h.AsPlanned = h.Planned == h.Fingerprint
	l.Handshake = h
}

// RouterAddress returns the address of the router's load-balancer Service, "" if it is not
// known.
func (s *Snapshot) RouterAddress() string {
	v := s.objects.Services[model.Object{Kind: door.KindService, Namespace: api.OperandNamespace, Name: api.RouterName(s.options.Router)}]
	if v == nil {
		return ""
	}
	for _, i := range v.Status.LoadBalancer.Ingress {
		return cmp.Or(i.IP, i.Hostname)
	}
	return ""
}
