package haproxy

import (
	"fmt"
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
)

// line is what one connection to the runtime socket carries: commands, the
// last of which may have a payload.
type line struct {
	text  strings.Builder
	steps []plan.Step
	// cost counts commands, with those that take long counted more.
	cost int
	// removes is true if every command takes something away, so that what is
	// already gone is no failure.
	removes bool
}

// encoder packs steps into as few lines as is safe.
type encoder struct {
	layout render.Layout
	caps   plan.Capabilities
	lines  []*line
	open   *line
}

// encode turns steps into lines, in order.
func encode(steps []plan.Step, l render.Layout, caps plan.Capabilities) []*line {
	e := &encoder{layout: l, caps: caps}
	for i := 0; i < len(steps); i++ {
		if _, ok := steps[i].(plan.EntryAdd); ok {
			n := e.entriesFrom(steps[i:])
			e.addEntries(steps[i : i+n])
			i += n - 1
			continue
		}
		e.step(steps[i])
	}
	return e.lines
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

// command appends commands to the open line, or opens one. The step counts as
// done when the line that has its last command succeeded.
func (e *encoder) command(cost int, step plan.Step, commands ...string) {
	if e.open != nil && e.open.removes {
		e.open = nil
	}
	e.append(cost, step, commands...)
}

func (e *encoder) append(cost int, step plan.Step, commands ...string) {
	text := strings.Join(commands, ";")
	if e.open != nil && (e.open.text.Len()+len(text) > maxLine || e.open.cost+cost > maxCommands) {
		e.open = nil
	}
	if e.open == nil {
		e.open = &line{}
		e.lines = append(e.lines, e.open)
	}
	if e.open.text.Len() > 0 {
		e.open.text.WriteByte(';')
	}
	e.open.text.WriteString(text)
	e.open.cost += cost
	if step != nil {
		e.open.steps = append(e.open.steps, step)
	}
}

// remove appends commands that take something away. They never share a line
// with others.
func (e *encoder) remove(cost int, step plan.Step, commands ...string) {
	if e.open != nil && !e.open.removes {
		e.open = nil
	}
	e.append(cost, step, commands...)
	e.open.removes = true
}

// payload appends a command with a payload, which ends the line.
func (e *encoder) payload(cost int, steps []plan.Step, command, body string) {
	if !strings.HasSuffix(body, "\n") {
		body += "\n"
	}
	e.command(cost, nil, command+" <<"+terminator+"\n"+body+terminator)
	e.open.steps = append(e.open.steps, steps...)
	e.open = nil
}

func (e *encoder) addEntries(steps []plan.Step) {
	var body strings.Builder
	for _, s := range steps {
		add := s.(plan.EntryAdd)
		body.WriteString(add.Key + " " + add.Value + "\n")
	}
	m := steps[0].(plan.EntryAdd).Map
	e.payload(1, steps, "add map "+e.layout.MapFile(m), body.String())
}

func (e *encoder) step(s plan.Step) {
	switch s := s.(type) {
	case plan.CertPut, plan.CertSet, plan.CertDel, plan.CAPut, plan.CASet, plan.CADel, plan.LineSet, plan.LineDel:
		e.certificateStep(s)
	case plan.BackendAdd:
		e.command(costBackend, s, "add backend "+s.Name+" from "+s.Profile)
	case plan.BackendPublish:
		e.command(1, s, "publish backend "+s.Name)
	case plan.BackendUnpublish:
		e.command(1, s, "unpublish backend "+s.Name)
	case plan.BackendDel:
		e.remove(costBackend, s, "del backend "+s.Name)
	case plan.FrontendEnable:
		e.command(1, s, "enable frontend "+s.Name)
	case plan.LimitSet:
		e.command(1, s, fmt.Sprintf("set %s %d", s.What, s.Value))
	case plan.EntrySet:
		e.command(1, s, fmt.Sprintf("set map %s %s %s", e.layout.MapFile(s.Map), escape(s.Key), escape(s.Value)))
	case plan.EntryDel:
		e.remove(1, s, fmt.Sprintf("del map %s %s", e.layout.MapFile(s.Map), escape(s.Key)))
	default:
		e.serverStep(s)
	}
}

func (e *encoder) serverStep(s plan.Step) {
	switch s := s.(type) {
	case plan.ServerAdd:
		id := s.Backend + "/" + s.Name
		cost, commands := 2, []string{
			"add server " + id + " " + render.ServerArgs(&s.Server, e.layout, e.caps),
			"enable server " + id,
		}
		if s.Server.Options.CheckInterval != "" {
			commands = append(commands, "enable health "+id)
		}
		if s.Server.Options.TLS {
			cost = maxCommands / maxTLSServers
		}
		e.command(cost, s, commands...)
	case plan.ServerAddr:
		e.command(1, s, fmt.Sprintf("set server %s/%s addr %s port %d", s.Backend, s.Name, s.Address.Addr(), s.Address.Port()))
	case plan.ServerWeight:
		e.command(1, s, fmt.Sprintf("set server %s/%s weight %d", s.Backend, s.Name, s.Weight))
	case plan.ServerMaxConn:
		e.command(1, s, fmt.Sprintf("set maxconn server %s/%s %d", s.Backend, s.Name, s.MaxConn))
	case plan.ServerReady:
		e.command(1, s, fmt.Sprintf("set server %s/%s state ready", s.Backend, s.Name))
	case plan.ServerCheck:
		e.command(1, s, fmt.Sprintf("enable health %s/%s", s.Backend, s.Name))
	case plan.ServerUp:
		e.command(1, s, fmt.Sprintf("set server %s/%s health up", s.Backend, s.Name))
	case plan.ServerDrain:
		e.command(1, s, fmt.Sprintf("set server %s/%s state drain", s.Backend, s.Name))
	case plan.ServerDel:
		e.remove(2, s, fmt.Sprintf("set server %s/%s state maint", s.Backend, s.Name),
			fmt.Sprintf("del server %s/%s", s.Backend, s.Name))
	}
}

func (e *encoder) certificateStep(s plan.Step) {
	l := e.layout
	switch s := s.(type) {
	case plan.CertPut:
		e.command(1, nil, "new ssl cert "+l.CertFile(s.ID))
		e.payload(costCertificate, nil, "set ssl cert "+l.CertFile(s.ID), s.PEM)
		e.command(1, s, "commit ssl cert "+l.CertFile(s.ID))
	case plan.CertSet:
		e.payload(costCertificate, nil, "set ssl cert "+l.CertFile(s.ID), s.PEM)
		e.command(1, s, "commit ssl cert "+l.CertFile(s.ID))
	case plan.CAPut:
		e.command(1, nil, "new ssl ca-file "+l.CAFile(s.ID))
		e.setCA(s, s.ID, s.PEM)
	case plan.CASet:
		e.setCA(s, s.ID, s.PEM)
	case plan.LineSet:
		e.payload(costLine, []plan.Step{s}, "add ssl crt-list "+l.CrtList(), render.CrtLine(l, s.CertID, s.Filter))
		if s.Old != "" {
			// The older line answers until it is gone.
			e.remove(1, nil, "del ssl crt-list "+l.CrtList()+" "+l.CertFile(s.Old))
		}
	case plan.LineDel:
		e.remove(1, s, "del ssl crt-list "+l.CrtList()+" "+l.CertFile(s.CertID))
	case plan.CertDel:
		e.remove(1, s, "del ssl cert "+l.CertFile(s.ID))
	case plan.CADel:
		e.remove(1, s, "del ssl ca-file "+l.CAFile(s.ID))
	}
}

func (e *encoder) setCA(s plan.Step, id, pem string) {
	file := e.layout.CAFile(id)
	e.payload(costCertificate, nil, "set ssl ca-file "+file, pem)
	e.command(1, s, "commit ssl ca-file "+file)
}

// escape quotes what the command line would take as a separator.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `;`, `\;`, ` `, `\ `).Replace(s)
}

// failure finds the first error in the answer to a line whose first command
// was "set severity-output number": "[3]: …" and below are errors. Commands on
// certificates that take a while answer without numbers: what is wrong, and
// then "Failed!".
func failure(answer string, removes bool) string {
	last := ""
	for l := range strings.Lines(answer) {
		l = strings.TrimSpace(l)
		if l == "Failed!" {
			return last
		}
		if l != "" {
			last = l
		}
		if len(l) < 4 || l[0] != '[' || l[2] != ']' {
			continue
		}
		severity, err := strconv.Atoi(l[1:2])
		if err != nil || severity > 3 {
			continue
		}
		text := strings.TrimSpace(l[4:])
		if !removes || !gone(text) {
			return text
		}
	}
	return ""
}

// gone recognises the answers to the removal of what does not exist.
func gone(text string) bool {
	for _, known := range []string{"No such backend", "No such server", "Key not found", "certificate doesn't exist", "Can't delete the CA file: "} {
		if strings.HasPrefix(text, known) {
			return true
		}
	}
	return false
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
