package explain

import (
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
)

// place is where classes are that differ in the clients they are for.
type place struct {
	secure              bool
	host, path, written string
	below, odd          bool
	with                string
	gateway, words      string
}

func (c *class) place() place {
	p := place{c.request.Secure, c.host, c.path, c.written, c.below, c.odd, c.with, "", c.words}
	if c.at != nil {
		p.gateway = ", at Gateway " + c.at.gateway.String()
	}
	return p
}

// inWords says which requests classes are. Those that together are everything below a
// path, or all clients, are one.
func inWords(classes []class) []string {
	w := wording{clients: map[place]string{}}
	by := map[place][]class{}
	for _, c := range classes {
		by[c.place()] = append(by[c.place()], c)
	}
	for p, of := range by {
		w.clients[p] = clients(of)
	}
	var out []string
	for p, of := range by {
		if text := w.text(p, of[0].borders); text != "" {
			out = append(out, text+w.clients[p]+p.gateway)
		}
	}
	slices.Sort(out)
	return out
}

// wording knows for which clients each place is among the classes.
type wording struct{ clients map[place]string }

// whole reports whether a path and all below it, up to the next border, is there for the
// same clients as p, which has the path's host.
func (w wording) whole(p place, path string) bool {
	at := place{secure: p.secure, host: p.host, gateway: p.gateway, path: path + "/"}
	below := at
	below.below = true
	all := []place{at, below}
	if at.path = path; path != "" {
		all = append(all, at)
	}
	return !slices.ContainsFunc(all, func(q place) bool { c, there := w.clients[q]; return !there || c != w.clients[p] })
}

// text names a place, or returns "" for one that another one's text includes. Borders are
// the paths of the host that make a difference.
func (w wording) text(p place, borders []string) string {
	path, at := strings.TrimSuffix(p.path, "/"), address(p.secure, p.host)
	switch {
	case p.words != "":
		return p.words
	case p.odd && w.whole(p, ""):
		return "" // what is true below / is true of them
	case p.odd:
		return at + ": paths that programs read in different ways"
	case p.written != "":
		return at + ": paths that match " + p.written + conditionWords(p.with)
	case p.with != "":
		return at + p.path + " where " + p.with
	case !w.whole(p, path) && p.below:
		return "below " + at + p.path
	case !w.whole(p, path):
		return at + p.path
	}
	if !p.below || w.whole(p, parent(path, borders)) && path != "" {
		return ""
	}
	var except []string
	for _, b := range borders {
		if b != path && parent(b, borders) == path && !w.whole(p, b) {
			except = append(except, b)
		}
	}
	text := at + path + " and below"
	if path == "" {
		text = at + "/*"
	}
	if len(except) > 0 {
		text += " except " + strings.Join(except, ", ")
	}
	return text
}

func conditionWords(with string) string {
	if with == "" {
		return ""
	}
	return " where " + with
}

// parent returns the longest border above a path; "" is the root.
func parent(path string, borders []string) (above string) {
	for _, b := range borders {
		if strings.HasPrefix(path, b+"/") && len(b) > len(above) {
			above = b
		}
	}
	return above
}

func address(secure bool, host string) string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	if rest, anyHost := strings.CutPrefix(host, "*"); anyHost && !strings.HasPrefix(rest, ".") {
		host = "(any other host)" + rest
	}
	return scheme + host
}

// clients say which clients some classes are for, or are empty for all.
func clients(classes []class) string {
	spans, in := classes[0].spans, map[int]bool{}
	for _, c := range classes {
		in[c.client] = true
	}
	var these, others []string
	for i := 0; i < len(spans); {
		first, end, is := spans[i].first, spans[i].last, in[i]
		for i++; i < len(spans) && in[i] == is && spans[i].first == end.Next(); i++ {
			end = spans[i].last
		}
		if text := (span{first, end}).String(); is {
			these = append(these, text)
		} else {
			others = append(others, text)
		}
	}
	switch {
	case len(others) == 0:
		return ""
	case len(others) < len(these):
		return ", clients but those from " + strings.Join(others, ", ")
	}
	return ", clients from " + strings.Join(these, ", ")
}

// String writes a prefix if the span is one.
func (s span) String() string {
	if !s.first.IsValid() {
		return "anywhere"
	}
	for bits := range s.first.BitLen() + 1 {
		if p := netip.PrefixFrom(s.first, bits); p.Masked().Addr() == s.first && last(p) == s.last {
			return p.String()
		}
	}
	return s.first.String() + " to " + s.last.String()
}

// marks stand before changes that need a second look.
func (k ChangeKind) mark() string {
	if k == ChangeWeaker || k == ChangeLost {
		return string(k) + "!"
	}
	return string(k)
}

// mostRequests bounds how many requests of one change are shown.
const mostRequests = 8

// shown returns the first requests, and says how many more there are.
func (c *Change) shown() []string {
	if len(c.Requests) <= mostRequests {
		return c.Requests
	}
	return append(slices.Clone(c.Requests[:mostRequests]), fmt.Sprintf("and %d more", len(c.Requests)-mostRequests))
}

// Text writes the changes for a terminal.
func (d *Difference) Text(w io.Writer) error {
	p := &printer{w: w}
	for i := range d.Changes {
		c := &d.Changes[i]
		route := ""
		if c.Route != "" {
			route = "  (route " + c.Route + ")"
		}
		p.line("%s%s", c.Kind.mark(), route)
		for _, r := range c.shown() {
			p.line("  %s", r)
		}
		p.line("    before: %s", c.Before)
		p.line("    after:  %s", c.After)
	}
	if len(d.Findings) > 0 {
		p.line("new findings:")
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		p.line("  %s %s %s: %s", strings.TrimSpace(f.File+" "+f.Object+" "+f.Field), f.Severity, f.Reason, f.Message)
	}
	for _, n := range d.Notes {
		p.line("note: %s", n)
	}
	p.line("%s", d.summary())
	return p.err
}

func (d *Difference) summary() string {
	changes := "nothing changes for clients"
	if n := len(d.Changes); n > 0 {
		changes = count(n, "change")
	}
	return fmt.Sprintf("%s; no change for %s. HAProxy: %s", changes, count(d.Unchanged, "route"), d.HAProxy.text())
}

func (e *Effort) text() string {
	if e.Reload != "" {
		return "a new process reads everything, because " + e.Reload
	}
	var words []string
	for _, part := range []struct {
		noun string
		n    Count
	}{{"backend", e.Backends}, {"server", e.Servers}, {"key", e.Keys}, {"certificate", e.Certificates}} {
		for _, of := range []struct {
			verb string
			n    int
		}{{"added", part.n.Added}, {"changed", part.n.Changed}, {"removed", part.n.Removed}} {
			if of.n > 0 {
				words = append(words, count(of.n, part.noun)+" "+of.verb)
			}
		}
	}
	if len(words) == 0 {
		return "nothing to do"
	}
	return strings.Join(words, ", ") + "; no reload"
}

// Markdown writes the changes as a table, for a comment on a pull request.
func (d *Difference) Markdown(w io.Writer) error {
	p := &printer{w: w}
	if len(d.Changes) > 0 {
		p.line("| change | requests | before | after | route |")
		p.line("|---|---|---|---|---|")
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		requests := c.shown()
		for j := range requests {
			requests[j] = cell(requests[j])
		}
		p.line("| **%s** | %s | %s | %s | %s |", c.Kind.mark(), strings.Join(requests, "<br>"), cell(c.Before), cell(c.After), cell(c.Route))
	}
	for i := range d.Findings {
		f := &d.Findings[i]
		p.line("* %s %s: %s: %s", f.Severity, f.Reason, cell(f.Object+" "+f.Field), cell(f.Message))
	}
	p.line("")
	p.line("%s", d.summary())
	return p.err
}

// cell makes a text one that Markdown shows as it is. Names and messages come from
// all who may write objects.
func cell(text string) string {
	if text == "" {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '`' {
			return ' '
		}
		return r
	}, text)
	return "`` " + strings.ReplaceAll(text, "|", `\|`) + " ``"
}
