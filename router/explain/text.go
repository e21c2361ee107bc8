package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
)

// Text writes the explanation for a terminal.
func (e *Explanation) Text(w io.Writer) error {
	p := &printer{w: w}
	verdict := "NOT SERVED"
	switch {
	case e.Served:
		verdict = "SERVED"
	case e.Result.Location != "":
		verdict = "REDIRECTED"
	}
	p.line("%s  %s", verdict, e.URL)
	p.line("")
	p.table(e.rows())
	e.endpointText(p)
	p.findings(e.Findings)
	if len(e.Others) > 0 {
		p.line("\nOther routes of this host:")
		rows := make([][]string, 0, len(e.Others))
		for _, o := range e.Others {
			rows = append(rows, []string{"  " + o.Route.Namespace + "/" + o.Route.Name, claimText(o.Route.Host, o.Route.Path, o.Route.Exact), o.Code, o.Why})
		}
		p.table(rows)
	}
	p.list("Next:", e.Next)
	p.list("Notes:", e.Notes)
	return p.err
}

func (e *Explanation) rows() [][]string {
	rows := [][]string{
		{"  router", e.Router},
		{"  listener", strings.TrimPrefix(fmt.Sprintf("%s, port %d", e.Listener.Name, e.Listener.Port), ", ")},
	}
	if e.Gateway != "" {
		rows = slices.Insert(rows, 1, []string{"  gateway", e.Gateway})
	}
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{"  " + name, value})
		}
	}
	if e.Listener.Name != "http" && (e.Gateway == "" || e.SNI != "") {
		sni := e.SNI
		if sni == "" {
			sni = "none"
		}
		add("server name", sni)
	}
	add("certificate", e.Certificate.text())
	if e.HTTP2 {
		add("HTTP/2", "is offered")
	}
	add("host", e.Host)
	if e.Listener.Name != "passthrough" {
		add("path", e.Path)
	}
	if e.Route != nil {
		add("route", e.Route.text())
	}
	add("route", e.GatewayRoute)
	add("backend", e.Backend)
	if e.Branch != nil {
		add("canary", e.Branch.text())
	}
	for i, policy := range e.Policies {
		name := ""
		if i == 0 {
			name = "policies"
		}
		rows = append(rows, []string{"  " + name, fmt.Sprintf("%s = %s (%s)", policy.Name, policy.Value, policy.Source)})
	}
	add("pod sees", e.PodPath)
	add("result", e.Result.Text)
	add("answered by", e.Result.Policy)
	return rows
}

func (e *Explanation) endpointText(p *printer) {
	if len(e.Endpoints) == 0 {
		return
	}
	p.line("\nEndpoints:")
	rows := make([][]string, 0, len(e.Endpoints))
	for _, s := range e.Endpoints {
		sticky := ""
		if s.Sticky {
			sticky = "this request, by its cookie"
		}
		rows = append(rows, []string{"  " + s.Name, s.Address, fmt.Sprintf("weight %d", s.Weight), fmt.Sprintf("%.1f %%", s.Share), sticky})
	}
	p.table(rows)
}

func (c *Certificate) text() string {
	if c == nil {
		return ""
	}
	text := c.Source
	if c.Route != "" {
		text += " " + c.Route
	}
	if len(c.Names) > 0 {
		text += ": " + strings.Join(c.Names, ", ")
	} else if c.Subject != "" {
		text += ": " + c.Subject
	}
	if c.Expires != nil {
		word := ", expires "
		if c.Expired {
			word = ", EXPIRED "
		}
		text += word + c.Expires.Format(time.DateOnly)
	}
	if c.Covers != nil && !*c.Covers {
		text += ", does NOT cover the name"
	}
	if c.Note != "" {
		text += " (" + c.Note + ")"
	}
	return text
}

func (r *RouteInfo) text() string {
	text := r.Namespace + "/" + r.Name + ": " + claimText(r.Host, r.Path, r.Exact)
	switch {
	case r.Termination == "":
		text += ", plain"
	case r.Insecure != "" && r.Termination != "passthrough":
		text += ", " + r.Termination + ", plain HTTP: " + r.Insecure
	default:
		text += ", " + r.Termination
	}
	if r.Created != nil {
		text += ", created " + r.Created.Format(time.RFC3339)
	}
	if r.Ingress != "" {
		text += ", made of Ingress " + r.Ingress
	}
	if r.File != "" {
		text += ", " + r.File
	}
	return text
}

// printer keeps the first error, so that callers check once.
type printer struct {
	w   io.Writer
	err error
}

// line writes one line, whatever the arguments hold. A format that begins with a
// line break gives an empty line before it.
func (p *printer) line(format string, args ...any) {
	if p.err != nil {
		return
	}
	format, apart := strings.CutPrefix(format, "\n")
	text := terminal.Line(fmt.Sprintf(format, args...)) + "\n"
	if apart {
		text = "\n" + text
	}
	_, p.err = io.WriteString(p.w, text)
}

// lines writes a text of several lines.
func (p *printer) lines(text string) {
	for l := range strings.Lines(text) {
		p.line("%s", strings.TrimSuffix(l, "\n"))
	}
}

// table aligns rows.
func (p *printer) table(rows [][]string) {
	if p.err != nil {
		return
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, cell := range r {
			cells[i] = terminal.Line(cell)
		}
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush()
	for line := range strings.Lines(b.String()) {
		p.line("%s", strings.TrimRight(line, " \n"))
	}
}

func (p *printer) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.line("\n%s", title)
	for _, i := range items {
		p.line("  - %s", i)
	}
}

func (p *printer) findings(findings []Finding) {
	if len(findings) == 0 {
		return
	}
	p.line("\nFindings:")
	for _, f := range findings {
		p.finding(f)
	}
}

func (p *printer) finding(f Finding) {
	text := fmt.Sprintf("%s %s", f.Severity, f.Reason)
	if f.Field != "" {
		text += " " + f.Field
	}
	text += ": " + f.Message
	if f.Effect != "" {
		text += "; " + f.Effect
	}
	p.line("  - %s", text)
	if f.Remedy != "" {
		p.line("    because %s", f.Cause)
		p.line("    remedy: %s", f.Remedy)
	}
}
