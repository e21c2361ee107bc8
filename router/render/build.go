package render

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	parser "github.com/haproxytech/config-parser/v5"
	"github.com/haproxytech/config-parser/v5/common"
	"github.com/haproxytech/config-parser/v5/options"
	"github.com/haproxytech/config-parser/v5/params"
	"github.com/haproxytech/config-parser/v5/types"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/plan"
)

// frontDefaults is the name of the section that all frontends are made from.
const frontDefaults = "d_front"

// sections are built with HAProxy's configuration library: each value has its type
// and its place, so that none can become another line.
type sections struct {
	p parser.Parser
	// section and name are where set puts what follows.
	section parser.Section
	name    string
	err     error
}

// buildHead returns the text of the sections that the IngressController decides most
// of: global, and the defaults of the frontends.
func buildHead(s Settings, l Layout, caps plan.Capabilities, description string) (string, error) {
	p, err := parser.New(options.String(""))
	if err != nil {
		return "", fmt.Errorf("build the HAProxy configuration: %w", err)
	}
	b := &sections{p: p, section: parser.Global, name: parser.GlobalSectionName}
	b.global(s, l, caps, description)
	if err := p.SectionsCreate(parser.Defaults, frontDefaults); err != nil {
		return "", fmt.Errorf("build the HAProxy configuration: %w", err)
	}
	b.section, b.name = parser.Defaults, frontDefaults
	b.set("mode", types.StringC{Value: "http"})
	b.timeouts(s.Timeouts)
	if closesIdle(s, caps) {
		b.line("option idle-close-on-response")
	}
	if b.err != nil {
		return "", b.err
	}
	return strings.TrimSpace(p.String()), nil
}

// set sets an attribute of the section.
func (b *sections) set(attribute string, data common.ParserData) {
	if err := b.p.Set(b.section, b.name, attribute, data); err != nil && b.err == nil {
		b.err = fmt.Errorf("build the HAProxy configuration: %s %s: %w", b.name, attribute, err)
	}
}

// line adds a line that the library does not know.
func (b *sections) line(text string) {
	lines, _ := b.p.Get(b.section, b.name, "")
	known, _ := lines.([]types.UnProcessed)
	b.set("", append(known, types.UnProcessed{Value: text}))
}

func (b *sections) number(attribute string, n int) {
	b.set(attribute, types.Int64C{Value: int64(n)})
}

// text sets an attribute unless the text is empty.
func (b *sections) text(attribute, text string) {
	if text != "" {
		b.set(attribute, types.StringC{Value: text})
	}
}

func (b *sections) global(s Settings, l Layout, caps plan.Capabilities, description string) {
	b.text("description", description)
	b.set("stats socket", []types.Socket{{Path: l.RunDir() + "/admin.sock", Params: []params.BindOption{
		&params.BindOptionValue{Name: "mode", Value: "600"}, &params.BindOptionValue{Name: "level", Value: "admin"},
		&params.BindOptionDoubleWord{Name: "expose-fd", Value: "listeners"},
	}}})
	b.text("stats timeout", "2m")
	b.text("hard-stop-after", milliseconds(s.HardStopAfter))
	if n := processConnections(s); n > 0 {
		b.number("maxconn", n)
	}
	if n := idleShare(s); n > 0 {
		b.number("tune.pool-low-fd-ratio", n)
		b.number("tune.pool-high-fd-ratio", n+5)
	}
	b.number("nbthread", s.Threads)
	b.number("tune.bufsize", s.BufferBytes)
	b.number("tune.maxrewrite", s.RewriteBytes)
	// What a thread keeps of freed memory for itself. HAProxy's 512 kB hold
	// few buffers of this size, and each further one is a trip to malloc: 8 %
	// of a request's cost (3.4.7).
	b.number("tune.memory.hot-size", hotBuffers*s.BufferBytes)
	// The supervisor bounds the old workers instead: haproxy.MaxOldWorkers.
	b.number("mworker-max-reloads", unbounded)
	if caps.RulesAtOnce {
		// HAProxy lets other requests go first after each 50 rules unless told otherwise,
		// and one to a route with policies meets some hundred. With the policy agent's
		// filter such a request was seen to loop between two pauses until HAProxy's watchdog
		// ended the process, once in 60,000 requests (3.4.7). Pauses also cost: with 400
		// rules a quarter of a request.
		b.line("tune.max-rules-at-once " + strconv.Itoa(unbounded))
	}
	if caps.Lua {
		b.text("lua-load-per-thread", l.LuaFile()+" "+l.MapFile(plan.MapHTTP)+" "+l.MapFile(plan.MapHTTPS)+" "+l.RefusalsFile()+" "+l.MapFile(plan.MapSuffixes))
		b.line("lua-load " + l.JournalLua() + " " + l.Dir + " " + model.ClientMarkPrefix)
	}
	for _, line := range slices.Concat(Globals(s.Key), clientGlobals(caps), mirrorGlobals(agentOf(s, l, caps))) {
		b.line(line)
	}
	if caps.DynamicBackends {
		b.line("tune.cli.max-payload-size 1048576") // new in 3.4
	}
	b.text("ssl-default-bind-options", "ssl-min-ver "+s.TLS.MinVersion)
	b.text("ssl-default-bind-ciphers", s.TLS.Ciphers)
	b.text("ssl-default-bind-ciphersuites", s.TLS.Suites)
	b.text("ssl-default-bind-curves", s.TLS.Curves)
	var adjusted []types.H1CaseAdjust
	for _, name := range s.HTTP.CaseAdjustments {
		adjusted = append(adjusted, types.H1CaseAdjust{From: quote(lower(name)), To: quote(name)})
	}
	if len(adjusted) > 0 {
		b.set("h1-case-adjust", adjusted)
	}
	if s.Log.Target == "" {
		return
	}
	b.set("log-send-hostname", types.StringC{})
	b.set("log", []types.Log{{
		Address: s.Log.Target, Length: int64(s.Log.MaxLength), Format: logForm(s.Log.Target), Facility: s.Log.Facility, Level: "info",
	}})
	if n := s.Log.Cookie.Length; n > 62 {
		b.number("tune.http.cookielen", n+1)
	}
}

// timeouts are those that all sections of defaults have.
func (b *sections) timeouts(t Timeouts) {
	for _, timeout := range append(t.common(), [2]string{"tunnel", milliseconds(t.Tunnel)}) {
		if name := "timeout " + timeout[0]; b.p.HasParser(b.section, name) {
			b.set(name, types.SimpleTimeout{Value: timeout[1]})
		} else {
			b.line(name + " " + timeout[1])
		}
	}
}

// logForm is how lines are framed where no syslog server reads them.
func logForm(target string) string {
	if target == "stdout" || strings.HasPrefix(target, "/") {
		return "raw"
	}
	return ""
}

// Check reads a configuration with HAProxy's configuration library and returns what
// is wrong with it, line by line: what structure says, and lines that neither the
// library knows nor beyondLibrary. HAProxy itself has the last word.
func Check(text string) error {
	if err := structure(text); err != nil {
		return err
	}
	p, err := parser.New(options.String(text))
	if err != nil {
		return fmt.Errorf("read the HAProxy configuration: %w", err)
	}
	faults := []error{unknown(p, parser.Global, parser.GlobalSectionName)}
	for _, kind := range []parser.Section{parser.Defaults, parser.Frontends} {
		names, err := p.SectionsGet(kind)
		if err != nil {
			return fmt.Errorf("read the HAProxy configuration: %w", err)
		}
		for _, name := range names {
			faults = append(faults, unknown(p, kind, name))
		}
	}
	return errors.Join(faults...)
}

// structure looks for what no process may start without.
func structure(text string) error {
	for _, profile := range model.Profiles() {
		if !strings.Contains(text, "\ndefaults "+profile.Name()+"\n") {
			return fmt.Errorf("the HAProxy configuration has no defaults %s", profile.Name())
		}
	}
	// The library makes 150 objects for each section: reading all profiles would be
	// 10 MB of garbage for each change of settings.
	head, rest, _ := strings.Cut(text, profilesBegin)
	_, frontends, _ := strings.Cut(rest, profilesEnd)
	p, err := parser.New(options.String(head + profilesEnd + frontends))
	if err != nil {
		return fmt.Errorf("read the HAProxy configuration: %w", err)
	}
	if _, err := p.Get(parser.Global, parser.GlobalSectionName, "stats socket"); err != nil {
		return errors.New("the HAProxy configuration has no runtime socket")
	}
	for _, name := range []string{"public", "public_ssl", "stats", "terminate"} {
		if from, err := p.SectionsDefaultsFromGet(parser.Frontends, name); err != nil || from != frontDefaults {
			return fmt.Errorf("the HAProxy configuration has no frontend %s from %s", name, frontDefaults)
		}
		if _, err := p.Get(parser.Frontends, name, "bind"); err != nil {
			return fmt.Errorf("frontend %s of the HAProxy configuration listens nowhere", name)
		}
	}
	return nil
}

// The comments that profiles stand between, in the template.
const (
	profilesBegin = "# Route backends come from the profiles below."
	profilesEnd   = "# Frontends."
)

// beyondLibrary are the beginnings of lines that HAProxy takes in a section and the
// library does not know there.
var beyondLibrary = map[parser.Section][]string{
	parser.Global: {"tune.cli.max-payload-size ", "tune.max-rules-at-once ", "tune.stick-counters ", "set-var proc.key ", "set-var proc.session_end "}, // 3.4
	parser.Defaults: {
		"timeout client-hs ", "option idle-close-on-response",
		"http-request ", "http-response ", "http-after-response ", "tcp-request content ", // rules in defaults: 2.5
	},
	parser.Frontends: {
		"log ring@observe ",                                                                               // with a profile: 3.1
		"tcp-request connection set-var(",                                                                 // 2.9
		"http-request set-headers-bin ", "http-request del-headers-bin ", "http-request add-headers-bin ", // 3.4
		"http-request sc-set-gpt(", "http-request sc-add-gpc(", // 2.8
		"http-response set-headers-bin ", "http-response del-headers-bin ", "http-response add-headers-bin ",
		"http-after-response set-headers-bin ", "http-after-response add-headers-bin ", "http-request sc-set-gpt(",
		"http-after-response lua.fairlead_", // 2.5
	},
}

// unknown returns an error if a section has a line that nothing explains.
func unknown(p parser.Parser, kind parser.Section, name string) error {
	data, err := p.Get(kind, name, "")
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	lines, ok := data.([]types.UnProcessed)
	if !ok {
		return fmt.Errorf("read the HAProxy configuration: %s %s: unexpected %T", kind, name, data)
	}
	var faults []error
	for _, l := range lines {
		if !slices.ContainsFunc(beyondLibrary[kind], func(begin string) bool { return strings.HasPrefix(l.Value, begin) }) {
			faults = append(faults, fmt.Errorf("%s %s of the HAProxy configuration has a line that is not understood: %q", kind, name, l.Value))
		}
	}
	return errors.Join(faults...)
}
