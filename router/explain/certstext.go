package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/router/certificate"
)

// Text writes a table, or all that there is to say about the certificate of one Route.
func (l *Certs) Text(w io.Writer) error {
	p := &printer{w: w}
	switch {
	case len(l.Items) == 0:
		p.line("no certificate is served")
	case l.detail:
		for i := range l.Items {
			l.detailOf(p, &l.Items[i])
		}
	default:
		l.table(p)
	}
	l.handshake(p)
	for _, n := range l.Notes {
		p.line("note: %s", n)
	}
	return p.err
}

func (l *Certs) table(p *printer) {
	rows := [][]string{{"HOST", "ROUTE", "FROM", "ISSUER", "KEY", "ENDS", "STATE"}}
	managed := slices.ContainsFunc(l.Items, func(c Cert) bool { return c.CertManager != nil })
	if managed {
		rows[0] = append(rows[0], "CERT-MANAGER")
	}
	for i := range l.Items {
		c := &l.Items[i]
		name, state := cmp.Or(c.Route, c.Listener), c.State
		if name == "" {
			name = "(default)"
			state += ", used by " + count(c.Hosts, "host")
		}
		rows = append(rows, []string{dashed(c.Host), name, c.From, dashed(c.Issuer), dashed(c.Key), l.ends(c.NotAfter), state})
		if managed {
			rows[i+1] = append(rows[i+1], dashed(c.CertManager.Text()))
		}
	}
	p.table(rows)
	for i := range l.Items {
		for _, problem := range l.Items[i].Problems {
			p.line("%s: %s", strings.TrimSpace(l.Items[i].Host+" "+cmp.Or(l.Items[i].Route, l.Items[i].Listener)), problem)
		}
	}
}

// ends is a date with the days until then.
func (l *Certs) ends(at *time.Time) string {
	if at == nil {
		return "-"
	}
	left := at.Sub(l.now)
	if left < 0 {
		return certificate.Day(*at) + " (over)"
	}
	return fmt.Sprintf("%s (%d d)", certificate.Day(*at), int(left.Hours()/24))
}

func (l *Certs) detailOf(p *printer, c *Cert) {
	p.line("%s  %s of route %s", c.State, c.Host, c.Route)
	rows := [][]string{{"  from", c.From}, {"  router", l.Router}}
	if c.Fingerprint != "" {
		rows = append(rows, []string{"  subject", c.Subject}, []string{"  fingerprint", c.Fingerprint}, []string{"  key", c.Key})
	}
	if c.NotBefore != nil {
		rows = append(rows, []string{"  valid from", certificate.Day(*c.NotBefore)}, []string{"  ends", l.ends(c.NotAfter)})
	}
	if c.CertManager != nil {
		rows = append(rows, []string{"  cert-manager", c.CertManager.Text()})
	}
	if len(c.SameAs) > 0 {
		rows = append(rows, []string{"  also of", strings.Join(c.SameAs, ", ")})
	}
	p.table(rows)
	if len(c.Chain) > 0 {
		p.line("\nChain, as it is sent:")
		for i, link := range c.Chain {
			p.line("%s%s, %s, ends %s", strings.Repeat("  ", i+1), link.Subject, link.Key, l.ends(&link.NotAfter))
		}
		if last := c.Chain[len(c.Chain)-1]; last.Subject != last.Issuer {
			p.line("%sissued by %s, which clients must have", strings.Repeat("  ", len(c.Chain)+1), last.Issuer)
		}
	}
	p.line("\nChecks:")
	l.checks(p, c)
}

// checks are the questions that were asked, with their answers.
func (l *Certs) checks(p *printer, c *Cert) {
	if c.Fingerprint == "" {
		for _, problem := range c.Problems {
			p.line("  WRONG %s", problem)
		}
		return
	}
	for _, q := range []struct {
		good   string
		faults []certificate.Fault
	}{
		{"it is valid now", []certificate.Fault{certificate.Expired, certificate.NotYetValid, certificate.EndsSoon}},
		{"it is for " + c.Host, []certificate.Fault{certificate.NotCovering, certificate.WithoutNames}},
		{"the chain is whole and in order", []certificate.Fault{certificate.ChainOutOfOrder, certificate.ChainIncomplete}},
	} {
		i := slices.IndexFunc(c.faults, func(f certificate.Problem) bool { return slices.Contains(q.faults, f.Fault) })
		switch {
		case i < 0:
			p.line("  ok    %s", q.good)
		case c.faults[i].Fault == certificate.EndsSoon:
			p.line("  soon  it %s", c.faults[i].Text)
		default:
			p.line("  WRONG it %s", c.faults[i].Text)
		}
	}
	p.line("  ok    the router takes its key, its signature and its size")
	if c.State == certNotServed {
		p.line("  WRONG %s", c.Problems[len(c.Problems)-1])
	}
}

func (l *Certs) handshake(p *printer) {
	h := l.Handshake
	if h == nil {
		return
	}
	p.line("\n%s shows for %s: %s, sha256 %s", h.Address, h.Name, h.Subject, h.Fingerprint)
	switch {
	case h.AsPlanned:
		p.line("  as planned, from %s", h.From)
	case h.Planned == "":
		p.line("  what is planned is not known: the certificate from %s could not be read", h.From)
	default:
		p.line("  NOT as planned: the router should show the certificate from %s, sha256 %s", h.From, h.Planned)
	}
}

func dashed(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
