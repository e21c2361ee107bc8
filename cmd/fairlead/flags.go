package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/router/filesource"
)

// config is the command line of `fairlead serve`.
type config struct {
	paths                  paths
	domain, name, router   string
	listen                 netip.Addr
	http, https, admin     port
	console                port
	haproxy, workDir       string
	watch                  string
	settle, exitAfter      time.Duration
	demo, check, accessLog bool
	domainGiven            bool
	log                    logging.Options
}

const serveUsage = `fairlead serve serves the Routes and Ingresses of files with HAProxy, and follows changes
of the files: no root, no Kubernetes, no reloads.

  fairlead serve -f manifests/
  kustomize build overlays/dev | fairlead serve -f -

Pods are those of EndpointSlices in the files, or those that the Service's annotation
` + api.AnnotationEndpoints + ` names: "127.0.0.1:3000,[::1]:3001".

It ends with 0 after a signal, with 1 if --check finds errors, with 2 after wrong arguments
or if nothing can be read, and with 3 if HAProxy is missing, too old or does not stay up.

Flags:
`

// defaultDomain needs no DNS: browsers and curl take all of its hosts to loopback.
const defaultDomain = "apps.localhost"

func parseFlags(args []string, out io.Writer) (*config, error) {
	c := &config{http: 8080, https: 8443, admin: 1936, console: autoPort, listen: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	c.log.Level = logging.Level(8) // errors: what users need to know is printed
	fs := flag.NewFlagSet("fairlead serve", flag.ContinueOnError)
	fs.SetOutput(out)
	fs.Usage = func() {
		fmt.Fprint(out, serveUsage)
		fs.PrintDefaults()
	}
	fs.Var(&c.paths, "f", "file, folder (all below it) or - (standard input, read once); may be repeated")
	fs.StringVar(&c.domain, "domain", defaultDomain, "domain of Routes without host, and of the default certificate")
	fs.Var(&c.http, "http", "`port` for HTTP; 0 for none, auto for a free one")
	fs.Var(&c.https, "https", "`port` for HTTPS; 0 for none, auto for a free one")
	fs.TextVar(&c.listen, "listen", c.listen, "`address` to listen on; 0.0.0.0 or :: for all")
	fs.Var(&c.admin, "admin", "`port` for probes, metrics and HAProxy's statistics; 0 for none, auto for a free one")
	fs.Var(&c.console, "console", "`port` for the console, on loopback; 0 for none, auto for a free one")
	fs.StringVar(&c.haproxy, "haproxy", "auto", "`path` of HAProxy 3.0 or newer, 3.4 for changes without reloads; auto looks at $FAIRLEAD_HAPROXY, beside this program, in .tools and in PATH")
	fs.StringVar(&c.workDir, "work-dir", "", "`directory` for sockets, certificates and the ages of objects; default is fairlead/NAME in $XDG_STATE_HOME")
	fs.StringVar(&c.name, "name", "default", "name of this process, to run several on one machine")
	fs.StringVar(&c.router, "router", api.DefaultIngressController, "name of the IngressController to be")
	fs.StringVar(&c.watch, "watch", string(filesource.Notify), "how changes of files are noticed: notify, poll or off")
	fs.DurationVar(&c.settle, "settle", 50*time.Millisecond, "how long files have to be quiet before they are read")
	fs.DurationVar(&c.exitAfter, "exit-after", 0, "end after this time; 0 for never")
	fs.BoolVar(&c.demo, "demo", false, "also start four pods in this process, for the Services hello, blue, green and secure of namespace demo")
	fs.BoolVar(&c.check, "check", false, "read, decide, render, let HAProxy check, print findings, end")
	fs.BoolVar(&c.accessLog, "access-log", false, "print a line for each request")
	c.log.Register(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil, nil
	case err != nil:
		return nil, &exitError{exitUsage, errShown}
	}
	fs.Visit(func(f *flag.Flag) { c.domainGiven = c.domainGiven || f.Name == "domain" })
	if err := c.complete(fs.Args()); err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return c, nil
}

func (c *config) complete(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is no flag; name files and folders with -f", rest[0])
	case len(c.paths) == 0:
		return errors.New("no files given; name a file or a folder with -f")
	case filesource.Watch(c.watch) != filesource.Notify && filesource.Watch(c.watch) != filesource.Poll && filesource.Watch(c.watch) != filesource.Off:
		return fmt.Errorf("--watch %q is unknown; use one of: notify, poll, off", c.watch)
	case c.settle < 0 || c.settle > 10*time.Second:
		return fmt.Errorf("--settle %s: from 0s to 10s are possible", c.settle)
	case c.name == "" || strings.ContainsAny(c.name, "/ ") || strings.HasPrefix(c.name, "."):
		return fmt.Errorf("--name %q: use letters, digits and hyphens; it becomes the name of a folder", c.name)
	}
	for _, p := range c.paths {
		if _, err := os.Stat(p); p != filesource.Stdin && err != nil {
			return fmt.Errorf("-f %s: %w", p, errors.Unwrap(err))
		}
	}
	if c.workDir == "" {
		state := os.Getenv("XDG_STATE_HOME")
		if state == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return fmt.Errorf("find a directory for the state: %w; name one with --work-dir", err)
			}
			state = filepath.Join(home, ".local", "state")
		}
		c.workDir = filepath.Join(state, "fairlead", c.name)
	}
	dir, err := filepath.Abs(c.workDir)
	c.workDir = dir
	return err
}

// choosePorts replaces "auto" by free ports, and says which of the others are taken.
func (c *config) choosePorts() error {
	for _, p := range []struct {
		flag string
		port *port
	}{{"http", &c.http}, {"https", &c.https}, {"admin", &c.admin}} {
		if *p.port == 0 {
			continue
		}
		wanted := max(int(*p.port), 0) // a free one for auto
		l, err := net.Listen("tcp", net.JoinHostPort(c.listen.String(), strconv.Itoa(wanted)))
		if err != nil {
			return fmt.Errorf("--%s %d: %w; choose another port, or auto for a free one", p.flag, wanted, errors.Unwrap(err))
		}
		if at, ok := l.Addr().(*net.TCPAddr); ok {
			*p.port = port(at.Port)
		}
		_ = l.Close()
	}
	return nil
}

// paths are a flag that may be repeated.
type paths []string

// String implements flag.Value.
func (p *paths) String() string { return strings.Join(*p, " ") }

// Set implements flag.Value.
func (p *paths) Set(path string) error {
	*p = append(*p, path)
	return nil
}

// port is a number, 0 for none, or autoPort.
type port int

const autoPort port = -1

// String implements flag.Value.
func (p *port) String() string {
	if *p == autoPort {
		return "auto"
	}
	return strconv.Itoa(int(*p))
}

// Set implements flag.Value.
func (p *port) Set(text string) error {
	if text == "auto" {
		*p = autoPort
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return errors.New("use a number up to 65535, 0 for none, or auto")
	}
	*p = port(n)
	return nil
}
