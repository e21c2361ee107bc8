package haproxy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// terminator ends a payload. With HAProxy's default, an empty line would end
// it, and the rest of a certificate would be run as commands.
const terminator = "%FL%"

const (
	// maxLine keeps a command line well below tune.bufsize.
	maxLine = 12 << 10
	// maxCommands bounds how long one line occupies a thread of HAProxy, in
	// commands that take 10 µs.
	maxCommands = 40
	// maxTLSServers is the same for servers with TLS, which cost 0.25 ms each.
	maxTLSServers = 5
	// costBackend is that of a backend that comes or goes: 3.4 walks the list of
	// all of them, 0.35 to 1 ms at 10,000. So there is one in a line, with its
	// servers.
	costBackend = 36
	// costCertificate and costLine are those of a certificate's text and of its
	// line in the list.
	costCertificate, costLine = 12, 12
	// maxEntries bounds the keys in one payload; 100 bytes each stay far
	// below the payload limit.
	maxEntries = 100
	// maxAlone is the longest command, in bytes, that adds a single key without a payload,
	// which takes longer ones.
	maxAlone = 1 << 10
)

// line is what one connection to the runtime socket carries: commands, the
// last of which may have a payload.
type line struct {
	text  strings.Builder
	units []unit
	// cost counts commands, with those that take long counted more.
	cost int
	// payload is true if the line ends in one.
	payload bool
}

// unit is commands whose answers stand together, before an answer to mark.
type unit struct {
	steps []plan.Step
	// last is true if the steps are done when this unit is.
	last bool
	// removes is true if every command takes something away, so that what is
	// already gone is no failure.
	removes bool
}

// encoder packs steps into as few lines as is safe.
type encoder struct {
	layout render.Layout
	caps   plan.Capabilities
	// most is the longest command without its payload, and the longest entry of
	// a map, which could else neither be changed nor read back.
	most  int
	lines []*line
	open  *line
	// unsafe are steps with values that must not be sent, because the first of
	// them for the first reason.
	unsafe []plan.Step
	reason error
}

// encode turns steps into lines, in order. If a step has a value that must not
// be sent, nothing is.
func encode(steps []plan.Step, l render.Layout, caps plan.Capabilities, most int) ([]*line, error) {
	e := &encoder{layout: l, caps: caps, most: most}
	for i := 0; i < len(steps); i++ {
		if _, ok := steps[i].(plan.EntryAdd); ok {
			n := e.entriesFrom(steps[i:])
			e.addEntries(steps[i : i+n])
			i += n - 1
			continue
		}
		e.step(steps[i])
	}
	if e.reason != nil {
		return nil, &RefusedError{Message: "not sent to HAProxy: " + e.reason.Error(), Steps: e.unsafe}
	}
	return e.lines, nil
}

// refuse notes that a step must not be sent.
func (e *encoder) refuse(step plan.Step, err error) {
	if e.reason == nil {
		e.reason = err
	}
	if !slices.Contains(e.unsafe, step) {
		e.unsafe = append(e.unsafe, step)
	}
}

// entriesFrom returns how many steps from the first one on add keys to its map
// and fit one payload together.
func (e *encoder) entriesFrom(steps []plan.Step) int {
	m, size := steps[0].(plan.EntryAdd).Map, 0
	for n, s := range steps {
		add, ok := s.(plan.EntryAdd)
		size += len(add.Key) + len(add.Value) + 2
		if !ok || add.Map != m || n == maxEntries || n > 0 && size > e.caps.MaxPayload {
			return n
		}
	}
	return len(steps)
}

// command appends commands that make up a step to the open line, or opens one.
func (e *encoder) command(cost int, step plan.Step, commands ...command) {
	e.append(cost, unit{steps: []plan.Step{step}, last: true}, commands...)
}

// remove is command for those that take something away.
func (e *encoder) remove(cost int, step plan.Step, commands ...command) {
	e.append(cost, unit{steps: []plan.Step{step}, last: true, removes: true}, commands...)
}

// begin is command for a step that later ones go on with.
func (e *encoder) begin(cost int, step plan.Step, commands ...command) {
	e.append(cost, unit{steps: []plan.Step{step}}, commands...)
}

func (e *encoder) append(cost int, u unit, commands ...command) {
	size := 0
	for _, c := range commands {
		before, _, _ := strings.Cut(c.text, "\n")
		if c.err == nil && len(before) > e.most {
			c.err = fmt.Errorf("a command of %d bytes, of which HAProxy takes %d", len(before), e.most)
		}
		if c.err != nil {
			e.refuse(u.steps[0], c.err)
			return
		}
		size += len(c.text) + 1
	}
	if e.open != nil && (e.open.text.Len()+size > maxLine || e.open.cost+cost > maxCommands) {
		e.open = nil
	}
	if e.open == nil {
		e.open = &line{}
		e.lines = append(e.lines, e.open)
	}
	for i, c := range commands {
		if i > 0 {
			e.open.text.WriteByte(';')
		} else if e.open.text.Len() > 0 {
			e.open.text.WriteString(";" + mark + ";")
		}
		e.open.text.WriteString(c.text)
	}
	e.open.cost += cost
	e.open.units = append(e.open.units, u)
}

// payload appends a command with a payload, which ends the line. The payload has
// been checked, but for its size and its end.
func (e *encoder) payload(cost int, u unit, c command, body string) {
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	switch {
	case c.err != nil:
	case len(body) > e.caps.MaxPayload:
		c.err = fmt.Errorf("a text of %d bytes, of which HAProxy takes %d at run time", len(body), e.caps.MaxPayload)
	case strings.Contains(body, terminator):
		c.err = fmt.Errorf("the end of a payload within it: %s", terminator)
	}
	if c.err != nil {
		for _, s := range u.steps {
			e.refuse(s, c.err)
		}
		return
	}
	e.append(cost, u, command{text: c.text + " <<" + terminator + "\n" + body + terminator})
	e.open.payload = true
	e.open = nil
}

func (e *encoder) addEntries(steps []plan.Step) {
	var body strings.Builder
	safe := make([]plan.Step, 0, len(steps))
	for _, s := range steps {
		add := s.(plan.EntryAdd)
		err := render.CheckEntry(add.Key, add.Value)
		if size := len(add.Key) + len(add.Value); err == nil && size > e.most {
			err = fmt.Errorf("a map entry of %d bytes, of which HAProxy takes %d", size, e.most)
		}
		if err != nil {
			e.refuse(s, err)
			continue
		}
		safe = append(safe, s)
		body.WriteString(add.Key + " " + add.Value + "\n")
	}
	if len(safe) == 0 {
		return
	}
	first := safe[0].(plan.EntryAdd)
	file := e.layout.MapFile(first.Map)
	// One alone is a command that others follow on the same connection: a new path, and the old one away.
	if c := say("add map ? ? ?", file, first.Key, first.Value); len(safe) == 1 && c.err == nil && len(c.text) <= maxAlone {
		e.command(1, first, c)
		return
	}
	e.payload(1, unit{steps: safe, last: true}, say("add map ?", file), body.String())
}

func (e *encoder) step(s plan.Step) {
	switch s := s.(type) {
	case plan.CertPut, plan.CertSet, plan.CertDel, plan.CAPut, plan.CASet, plan.CADel, plan.LineSet, plan.LineDel, plan.ClientLineSet, plan.ClientLineDel, plan.SlotLineAdd, plan.SlotLineDel:
		e.certificateStep(s)
	case plan.BackendAdd:
		e.command(costBackend, s, sayWords("add backend", []string{s.Name, "from", s.Profile}, render.GUIDWords(s.Name, e.caps)...))
	case plan.BackendPublish:
		e.command(1, s, say("publish backend ?", s.Name))
	case plan.BackendUnpublish:
		e.command(1, s, say("unpublish backend ?", s.Name))
	case plan.BackendDel:
		e.remove(costBackend, s, say("del backend ?", s.Name))
	case plan.FrontendEnable:
		e.command(1, s, say("enable frontend ?", s.Name))
	case plan.LimitSet:
		e.command(1, s, sayWords("set", strings.Fields(s.What), strconv.Itoa(s.Value)))
	case plan.EntrySet:
		c := say("set map ? ? ?", e.layout.MapFile(s.Map), s.Key, s.Value)
		if err := render.CheckEntry(s.Key, s.Value); err != nil {
			c.err = err
		}
		e.command(1, s, c)
	case plan.EntryDel:
		e.remove(1, s, say("del map ? ?", e.layout.MapFile(s.Map), s.Key))
	default:
		e.serverStep(s)
	}
}

func (e *encoder) serverStep(s plan.Step) {
	switch s := s.(type) {
	case plan.ServerAdd:
		id := s.Backend + "/" + s.Name
		cost, commands := 2, []command{
			sayWords("add server", append([]string{id}, render.ServerWords(&s.Server, e.layout, e.caps)...)),
			say("enable server ?", id),
		}
		if s.Server.Options.CheckInterval != "" {
			commands = append(commands, say("enable health ?", id))
		}
		if s.Server.Options.TLS {
			cost = maxCommands / maxTLSServers
		}
		e.command(cost, s, commands...)
	case plan.ServerAddr:
		e.command(1, s, say("set server ? addr ? port ?", s.Backend+"/"+s.Name, s.Address.Addr().String(), strconv.Itoa(int(s.Address.Port()))))
	case plan.ServerWeight:
		e.command(1, s, say("set server ? weight ?", s.Backend+"/"+s.Name, strconv.Itoa(s.Weight)))
	case plan.ServerMaxConn:
		e.command(1, s, say("set maxconn server ? ?", s.Backend+"/"+s.Name, strconv.Itoa(s.MaxConn)))
	case plan.ServerReady:
		e.command(1, s, say("set server ? state ready", s.Backend+"/"+s.Name))
	case plan.ServerCheck:
		e.command(1, s, say("enable health ?", s.Backend+"/"+s.Name))
	case plan.ServerUp:
		e.command(1, s, say("set server ? health up", s.Backend+"/"+s.Name))
	case plan.ServerDown:
		e.command(1, s, say("set server ? health down", s.Backend+"/"+s.Name))
	case plan.ServerDrain:
		e.command(1, s, say("set server ? state drain", s.Backend+"/"+s.Name))
	case plan.ServerDel:
		id := s.Backend + "/" + s.Name
		e.remove(2, s, say("set server ? state maint", id), say("del server ?", id))
	}
}

func (e *encoder) certificateStep(s plan.Step) {
	l := e.layout
	switch s := s.(type) {
	case plan.CertPut:
		e.begin(1, s, say("new ssl cert ?", l.CertFile(s.ID)))
		e.setCertificate(s, l.CertFile(s.ID), s.PEM)
	case plan.CertSet:
		e.setCertificate(s, l.CertFile(s.ID), s.PEM)
	case plan.CAPut:
		e.begin(1, s, say("new ssl ca-file ?", l.CAFile(s.ID)))
		e.setAuthorities(s, l.CAFile(s.ID), s.PEM)
	case plan.CASet:
		e.setAuthorities(s, l.CAFile(s.ID), s.PEM)
	case plan.LineSet:
		text, err := render.CrtLine(l, s.CertID, s.Filter)
		e.line(s, l.CrtList(), text, s.Old, err)
	case plan.LineDel:
		e.remove(1, s, say("del ssl crt-list ? ?", l.CrtList(), l.CertFile(s.CertID)))
	case plan.ClientLineSet:
		text, err := render.ClientLine(l, s.Filter, s.Line)
		e.line(s, l.ClientList(), text, s.Old, err)
	case plan.ClientLineDel:
		e.remove(1, s, say("del ssl crt-list ? ?", l.ClientList(), l.CertFile(s.CertID)))
	case plan.SlotLineAdd:
		text, err := render.SlotLine(l, s.SlotLine, s.SlotTerms)
		e.line(s, l.SlotList(s.Slot), text, "", err)
	case plan.SlotLineDel:
		e.remove(1, s, say("del ssl crt-list ? ?", l.SlotList(s.Slot), l.CertFile(s.CertID)))
	case plan.CertDel:
		e.remove(1, s, say("del ssl cert ?", l.CertFile(s.ID)))
	case plan.CADel:
		e.remove(1, s, say("del ssl ca-file ?", l.CAFile(s.ID)))
	}
}

// line adds a line to a list, and removes the one with the certificate old, if there is
// any: the older line answers until it is gone.
func (e *encoder) line(s plan.Step, list, text, old string, err error) {
	if err != nil {
		e.refuse(s, err)
		return
	}
	e.payload(costLine, unit{steps: []plan.Step{s}, last: old == ""}, say("add ssl crt-list ?", list), text)
	if old != "" {
		e.remove(1, s, say("del ssl crt-list ? ?", list, e.layout.CertFile(old)))
	}
}

func (e *encoder) setCertificate(s plan.Step, file, pem string) {
	c := say("set ssl cert ?", file)
	if err := render.CheckPEM(pem); err != nil {
		c.err = err
	}
	e.payload(costCertificate, unit{steps: []plan.Step{s}}, c, pem)
	e.command(1, s, say("commit ssl cert ?", file))
}

// setAuthorities sends a CA bundle, in several commands if it does not fit one.
func (e *encoder) setAuthorities(s plan.Step, file, pem string) {
	err := render.CheckPEM(pem)
	form := form("set ssl ca-file ?")
	for _, part := range parts(pem, e.caps.MaxPayload) {
		c := say(form, file)
		if err != nil {
			c.err = err
		}
		e.payload(costCertificate, unit{steps: []plan.Step{s}}, c, part)
		form = "add ssl ca-file ?"
	}
	e.command(1, s, say("commit ssl ca-file ?", file))
}

// parts splits a PEM text between its certificates and revocation lists into texts of at
// most so many bytes, if none of them alone has more. There is one at least.
func parts(pem string, most int) []string {
	const begin = "\n-----BEGIN "
	var out []string
	open := ""
	for pem != "" {
		n := len(pem)
		if i := strings.Index(pem, begin); i >= 0 {
			n = i + 1
		}
		if open != "" && len(open)+n >= most {
			out, open = append(out, open), ""
		}
		open, pem = open+pem[:n], pem[n:]
	}
	return append(out, open)
}

// Describe returns the first steps as words, without the texts of certificates.
func Describe(steps []plan.Step, most int) []string {
	var out []string
	for _, s := range steps[:min(most, len(steps))] {
		words := strings.TrimPrefix(fmt.Sprintf("%T", s), "plan.") + " "
		switch s := s.(type) {
		case plan.CertPut:
			words += s.ID
		case plan.CertSet:
			words += s.ID
		case plan.CAPut:
			words += s.ID
		case plan.CASet:
			words += s.ID
		default:
			words += strings.Trim(fmt.Sprintf("%v", s), "{}")
		}
		out = append(out, words)
	}
	return out
}
