package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/cmd/internal/memory"
	"github.com/fairlead/fairlead/cmd/internal/parts"
	"github.com/fairlead/fairlead/router/buildinfo"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/engine"
	"github.com/fairlead/fairlead/router/filesource"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/health"
	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/pagefetch"
	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/probe"
	"github.com/fairlead/fairlead/router/render"
	"github.com/fairlead/fairlead/router/statefile"
)

const (
	// startLimit is how long HAProxy may take until it serves what the files say.
	startLimit = 30 * time.Second
	// grace is how long running requests may take at the end: Ctrl-C should be quick.
	grace = 300 * time.Millisecond
)

// server is one run of `fairlead serve`.
type server struct {
	*config
	out     io.Writer
	log     *slog.Logger
	screen  *screen
	binary  string
	caps    plan.Capabilities
	version string
	state   *statefile.Store
	source  *filesource.Source
	layout  render.Layout
	links   consoleLinks
}

// serve runs `fairlead serve`.
func serve(ctx context.Context, args []string, in io.Reader, out, logTo io.Writer) error {
	began := time.Now()
	c, err := parseFlags(args, logTo)
	if err != nil || c == nil {
		return err
	}
	s := &server{config: c, out: out, log: slog.New(c.log.Handler(logTo)), screen: newScreen(out, began), layout: render.Layout{Dir: c.workDir}}
	if s.binary, s.caps, s.version, err = findHAProxy(ctx, c.haproxy); err != nil {
		return &exitError{exitHAProxy, err}
	}
	unlock, err := s.prepare()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer unlock()
	if err := s.read(ctx, in); err != nil {
		return &exitError{exitUsage, err}
	}
	if c.check {
		return s.checkAll(ctx)
	}
	if c.exitAfter > 0 {
		limited, cancel := context.WithTimeout(ctx, c.exitAfter)
		defer cancel()
		ctx = limited
	}
	return s.run(ctx)
}

// prepare makes the work directory, which one process may use.
func (s *server) prepare() (unlock func(), err error) {
	if os.Geteuid() == 0 {
		s.screen.line("running as root, which is not needed: HAProxy runs as root, too")
	}
	if !s.caps.DynamicBackends {
		s.screen.line("HAProxy %s reloads for new Routes; 3.4 does not", s.version)
	}
	if err := os.MkdirAll(s.workDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the work directory: %w; name another one with --work-dir", err)
	}
	lock, err := os.OpenFile(filepath.Join(s.workDir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("use the work directory: %w; name another one with --work-dir", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("another `fairlead serve` uses %s; give this one another name with --name", s.workDir)
	}
	s.state = &statefile.Store{Dir: s.layout.StateDir(), Log: s.log}
	return func() { _ = lock.Close() }, nil
}

// read reads the files for the first time.
func (s *server) read(ctx context.Context, in io.Reader) (err error) {
	o := filesource.Options{
		Paths: s.paths, Stdin: in, Router: s.router, Domain: s.domain, State: s.state,
		Watch: filesource.Watch(s.watch), Settle: s.settle, Changed: s.screen.changed, Notice: func(text string) { s.screen.line("%s", text) },
	}
	if s.demo {
		pods, err := startDemo(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		o.Given = map[string][]byte{demoFile: pods}
	}
	s.source, err = filesource.New(o)
	if err == nil {
		s.screen.place = s.source.Place
	}
	return err
}

// run serves until the context ends.
func (s *server) run(ctx context.Context) error {
	if !adoptable(s.layout) {
		if err := s.choosePorts(); err != nil {
			return &exitError{exitUsage, err}
		}
		// A HAProxy that starts from the files of an earlier run would serve pods of then.
		if err := os.Remove(s.layout.Config()); err != nil && !os.IsNotExist(err) {
			return &exitError{exitUsage, fmt.Errorf("clear the work directory: %w", err)}
		}
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := parts.New()
	defer p.Wait()
	defer stop()
	e, err := s.assemble(serving, p)
	if err != nil {
		return err
	}
	master := &haproxy.Supervisor{Binary: s.binary, Layout: s.layout, Log: s.log, Bound: true}
	ended := make(chan struct{})
	supervised, stopHAProxy := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		if err := master.Run(supervised, grace); err != nil {
			s.log.Info("stop HAProxy", "err", err)
		}
	}()
	defer func() {
		stopHAProxy()
		<-ended
	}()
	if err := s.waitReady(ctx, e, p); err != nil {
		return err
	}
	select {
	case err := <-p.Failed():
		return err
	case <-ctx.Done():
	}
	s.screen.line("stopping")
	return nil
}

// adoptable reports whether a HAProxy of an earlier process still runs.
func adoptable(l render.Layout) bool {
	conn, err := net.DialTimeout("unix", filepath.Join(l.RunDir(), "master.sock"), time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// assemble starts the parts, save HAProxy.
func (s *server) assemble(ctx context.Context, p *parts.Parts) (*engine.Engine, error) {
	cert, err := certfile.Authority(s.workDir, s.domainOf(s.source.IngressController()), time.Now())
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if err := buildinfo.Register(registry, "fairlead"); err != nil {
		return nil, err
	}
	metrics := engine.NewMetrics(registry)
	reader := s.settingsReader()
	prober, pages := probe.New(s.log, probe.NewMetrics(registry)), pagefetch.New()
	e, err := engine.New(engine.Options{
		Doors: doors.All(), Prober: prober, Pages: pages, Cluster: s.source, Statuses: s.screen, Layout: s.layout, State: s.state, Caps: s.caps, Binary: s.binary,
		Settings: reader.read, SettingsRefused: reader.refused, FilesFailed: reader.filesFailed,
		Certificate: cert, Log: s.log, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	if s.admin != 0 {
		admin := &health.Server{Ready: e.Ready, Metrics: registry, Routes: metrics.WriteRoutes, StatsSocket: filepath.Join(s.layout.RunDir(), "stats.sock"), Address: s.adminAddress()}
		p.Start("admin port", func() error { return admin.Run(ctx, int(s.admin)) })
	}
	s.links.print = s.screen.line
	if err := s.startConsole(ctx, p); err != nil {
		return nil, err
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	go memory.Save(ctx, e.Ready)
	p.Start("probes", func() error { return prober.Run(ctx) })
	p.Start("pages of Services", func() error { return pages.Run(ctx) })
	p.Start("files", func() error { return s.source.Run(ctx, again) })
	p.Start("engine", func() error { return e.Run(ctx) })
	return e, nil
}

// adminAddress is loopback wherever the listeners are: the port asks for no password.
func (s *server) adminAddress() string {
	if s.listen.IsLoopback() {
		return s.listen.String()
	}
	return "127.0.0.1"
}

// waitReady waits until HAProxy serves what the files say, and prints what to try.
func (s *server) waitReady(ctx context.Context, e *engine.Engine, p *parts.Parts) error {
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(startLimit)
	said := time.NewTicker(4 * time.Second)
	defer tick.Stop()
	defer said.Stop()
	for !e.Reported() {
		select {
		case err := <-p.Failed():
			return err
		case <-ctx.Done():
			return nil
		case <-said.C:
			s.screen.line("HAProxy does not serve yet; waiting until %.0fs at most", startLimit.Seconds())
		case <-limit:
			why, err := haproxy.Check(ctx, s.binary, s.layout)
			return &exitError{exitHAProxy, fmt.Errorf("HAProxy does not stay up: %s", cmp.Or(haproxy.FirstAlert(why), errorText(err), "no reason is known; --log-level debug shows more"))}
		case <-tick.C:
		}
	}
	files, kinds, others := s.source.Count()
	served := s.screen.start(summary{Version: s.version, Files: files, Kinds: kinds, Others: others})
	s.hints(served)
	return nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// hints prints what to try with the Routes that are served.
func (s *server) hints(served []model.RouteStatus) {
	const most = 5
	say := func(first, text string) { fmt.Fprintf(terminal.Writer(s.out), "  %-5s %s\n", first, text) }
	word := "try"
	for i, st := range served {
		if i == most {
			say("", fmt.Sprintf("… and %d more", len(served)-most))
			break
		}
		if line := s.curl(st); line != "" {
			say(word, line)
			word = ""
		}
	}
	for _, path := range s.paths {
		if path != filesource.Stdin && filesource.Watch(s.watch) != filesource.Off {
			say("edit", "the files in "+path+": a change is live within 0.1 s after you save it, without a reload")
		}
	}
	if s.admin != 0 {
		at := "http://" + net.JoinHostPort(s.adminAddress(), strconv.Itoa(int(s.admin)))
		say("see", at+"/ (statistics)  "+at+"/metrics")
	}
	if address := s.links.start(); address != "" {
		say("open", address)
		say("", "the console, in a browser; the link works once, within 2 minutes")
	}
	if len(served) > 0 && !slices.Contains(s.paths, filesource.Stdin) {
		args := []string{os.Args[0], "explain", "http://" + served[0].Host + "/"}
		for _, path := range s.paths {
			args = append(args, "-f", path)
		}
		if s.demo {
			args = append(args, "--demo")
		}
		say("why", terminal.Command(args...))
	}
	say("end", "Ctrl-C")
}

// curl is the command that asks a Route, or empty.
func (s *server) curl(st model.RouteStatus) string {
	r, ok := s.source.Object(st.Object).(*routev1.Route)
	if !ok || st.Host == "" || strings.Contains(st.Host, "*") {
		return ""
	}
	args, scheme, at := []string{"curl"}, "http", s.http
	if r.Spec.TLS != nil {
		scheme, at = "https", s.https
		if r.Spec.TLS.Certificate == "" && r.Spec.TLS.ExternalCertificate == nil && r.Spec.TLS.Termination != routev1.TLSTerminationPassthrough {
			args = append(args, "--cacert", filepath.Join(s.workDir, certfile.AuthorityFile))
		} else {
			args = append(args, "--insecure")
		}
	}
	if at == 0 {
		return ""
	}
	if st.Host != "localhost" && !strings.HasSuffix(st.Host, ".localhost") {
		args = append(args, "--resolve", fmt.Sprintf("%s:%d:%s", st.Host, at, s.reachable()))
	}
	return terminal.Command(append(args, fmt.Sprintf("%s://%s:%d%s", scheme, st.Host, at, cmp.Or(r.Spec.Path, "/")))...)
}

// reachable is an address of this machine at which the listeners answer.
func (s *server) reachable() string {
	if s.listen.IsUnspecified() {
		return "127.0.0.1"
	}
	return s.listen.String()
}
