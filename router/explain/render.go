package explain

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// Rendered is what HAProxy would start from, by file name.
type Rendered struct {
	Schema  string `json:"schema"`
	Router  string `json:"router"`
	HAProxy string `json:"haproxy"`
	// Files hold the text of each file, relative to the work directory.
	// Private keys are left out.
	Files map[string]string `json:"files"`
	Notes []string          `json:"notes,omitempty"`
}

// workDir and runDir are where the router's containers have HAProxy's files and
// sockets.
const (
	workDir = "/var/lib/haproxy"
	runDir  = "/var/run/haproxy"
)

// NewestHAProxy is the version for which files are shown and changes are counted, unless
// another one is named.
const NewestHAProxy = "3.4"

// Render returns HAProxy's files for a version such as "3.4".
func (s *Snapshot) Render(version string) (*Rendered, error) {
	caps, err := plan.CapabilitiesOf(version)
	if err != nil {
		return nil, fmt.Errorf("--haproxy: %w", err)
	}
	l := render.Layout{Dir: workDir, Run: runDir}
	want := s.pipeline.Want()
	base, err := render.Skeleton(s.render, l, caps)
	if err != nil {
		return nil, err
	}
	r := &Rendered{Schema: SchemaRender, Router: s.options.Router, HAProxy: version, Files: map[string]string{}, Notes: s.Notes()}
	writers := map[string]func(io.Writer) error{
		l.CrtList():    func(out io.Writer) error { return render.CrtList(out, want, l) },
		l.ClientList(): func(out io.Writer) error { return render.ClientList(out, want, l) },
		l.Config(): func(out io.Writer) error {
			if _, err := io.WriteString(out, base.Text); err != nil {
				return err
			}
			return render.Backends(out, want, l, caps)
		},
	}
	for _, m := range plan.Maps() {
		writers[l.MapFile(m)] = func(out io.Writer) error { return render.MapFile(out, want, m) }
	}
	for path, write := range writers {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return nil, fmt.Errorf("render %s: %w", path, err)
		}
		r.Files[relative(path)] = b.String()
	}
	lists, err := render.SlotLists(want, l, base.Slots)
	if err != nil {
		return nil, fmt.Errorf("render the lists of certificates of Gateways: %w", err)
	}
	for path, text := range lists {
		r.Files[relative(path)] = text
	}
	for path, text := range base.Files {
		r.Files[relative(path)] = text
	}
	for id, text := range want.Certs {
		r.Files[relative(l.CertFile(id))] = redact(text)
	}
	for id, text := range want.CAs {
		r.Files[relative(l.CAFile(id))] = text
	}
	return r, nil
}

// Checked says whether a configuration is well formed.
type Checked struct {
	Schema  string `json:"schema"`
	HAProxy string `json:"haproxy"`
	// Faults are what is wrong, in the order of the file.
	Faults []string `json:"faults,omitempty"`
}

// Check reads the configuration as the router does before it writes it.
func (r *Rendered) Check() *Checked {
	c := &Checked{Schema: SchemaCheck, HAProxy: r.HAProxy}
	if err := render.Check(r.Files["haproxy.cfg"]); err != nil {
		c.Faults = strings.Split(err.Error(), "\n")
	}
	return c
}

// Text writes a line for each fault.
func (c *Checked) Text(w io.Writer) error {
	p := &printer{w: w}
	for _, fault := range c.Faults {
		p.line("%s", fault)
	}
	if len(c.Faults) == 0 {
		p.line("haproxy.cfg for HAProxy %s is well formed", c.HAProxy)
	}
	return p.err
}

func relative(path string) string { return strings.TrimPrefix(path, workDir+"/") }

// redact leaves the private keys out of a PEM text.
func redact(text string) string {
	if text == "" {
		return "# the router's default certificate is not known here\n"
	}
	var b strings.Builder
	rest := []byte(text)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return b.String()
		}
		if strings.Contains(block.Type, "PRIVATE KEY") {
			b.WriteString("# " + block.Type + " is left out\n")
			continue
		}
		b.Write(pem.EncodeToMemory(block))
	}
}

// Text writes the files one after the other, the configuration first, each
// under a line with its name (the form of golang.org/x/tools/txtar).
func (r *Rendered) Text(w io.Writer) error {
	p := &printer{w: w}
	names := slices.SortedFunc(maps.Keys(r.Files), func(a, b string) int {
		return strings.Compare(order(a), order(b))
	})
	for _, name := range names {
		p.line("-- %s --", name)
		p.lines(r.Files[name])
	}
	return p.err
}

// order puts the configuration first, and certificates, pages and scripts last.
func order(name string) string {
	switch {
	case name == "haproxy.cfg":
		return "0"
	case strings.HasPrefix(name, "certs/"):
		return "2" + name
	case strings.HasPrefix(name, "pages/"), strings.HasSuffix(name, ".lua"):
		return "3" + name
	}
	return "1" + name
}
