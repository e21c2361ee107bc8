package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/collect"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/console/cluster"
	"github.com/fairlead/fairlead/router/explain"
	explaincluster "github.com/fairlead/fairlead/router/explain/cluster"
)

// consoleFlags are those of the command itself.
type consoleFlags struct {
	port        uint16
	noOpen      bool
	readTimeout time.Duration
}

func (c *command) consoleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Routes, certificates and answers in a browser on this machine",
		Long: `kubectl fairlead console serves pages on 127.0.0.1: all Routes with search, one Route with its findings and pods, what
becomes of a URL, certificates, settings, and the checks of status. It reads with your own rights, and changes nothing.

The link that it prints lets one browser in, once, within 2 minutes. Ctrl-C ends the console.

Exit code: 0 ended by a signal, 2 wrong arguments or the port cannot be opened.`,
		Example: `  kubectl fairlead console
  kubectl fairlead console -n web --no-open
  kubectl fairlead console -f manifests/ --port 8090`,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := &consoleFlags{}
	cmd.Flags().Uint16Var(&f.port, "port", 0, "`PORT` of 127.0.0.1; 0 for a free one")
	cmd.Flags().BoolVar(&f.noOpen, "no-open", false, "print the link, and open no browser")
	cmd.Flags().DurationVar(&f.readTimeout, "read-timeout", 30*time.Second, "`DURATION` that reading all objects may take")
	o := c.addFlags(cmd)
	cmd.Flags().Lookup("output").Hidden = true // taken, but without effect here
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := o.arguments()(cmd, args); err != nil {
			return err
		}
		switch {
		case slices.Contains(o.files, "-"):
			return &usageError{"the console reads manifests again and again, and standard input only once; name a file or a folder with -f"}
		case f.readTimeout <= 0:
			return &usageError{fmt.Sprintf("--read-timeout %s is less than nothing", f.readTimeout)}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.console(cmd.Context(), o, f) }
	return cmd
}

// consoleGC is GOGC of the console, which reads and decides again and again, and goes on for hours.
const consoleGC = 30

// console serves until the context ends.
func (c *command) console(ctx context.Context, o *options, f *consoleFlags) error {
	if _, err := o.ownNamespace(); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(consoleGC)
	}
	l, port, err := console.Listen(ctx, int(f.port))
	if err != nil {
		return fmt.Errorf("%w; choose another one with --port", err)
	}
	opened := f.noOpen
	server, err := console.New(console.Options{
		Source: &consoleSource{command: c, options: o, timeout: f.readTimeout}, Cluster: len(o.files) == 0, Prefix: "c", Namespace: o.namespace, Now: time.Now, Command: o.line,
		Link: func(address string) {
			fmt.Fprintf(c.out, "console  %s\n         the link lets one browser in, within 2 minutes; Ctrl-C ends the console\n", address)
			if !opened {
				opened = true
				c.open(ctx, address)
			}
		},
	}, port)
	if err != nil {
		_ = l.Close()
		return err
	}
	return server.Run(ctx, l)
}

// open shows an address in the user's browser, if there is a program for that.
func (c *command) open(ctx context.Context, address string) {
	args := []string{"xdg-open", address}
	switch runtime.GOOS {
	case "darwin":
		args[0] = "open"
	case "windows":
		args = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(c.err, "no browser was opened: open the link yourself")
		return
	}
	go func() { _ = cmd.Wait() }()
}

// line returns a command line that gives the answer of a page, from the same objects.
func (o *options) line(l console.Line) string {
	args := []string{"kubectl", "fairlead", l.Command}
	if l.Subject != "" {
		args = append(args, l.Subject)
	}
	if l.Namespace != "" {
		args = append(args, "-n", l.Namespace)
	}
	args = append(args, l.Flags...)
	flags := [][2]string{{"--router", o.router}, {"--domain", o.domain}, {"--kubeconfig", o.kubeconfig}, {"--context", o.kcontext}}
	if l.Command == "status" {
		flags[1][1] = "" // of which it knows nothing
	}
	for _, f := range flags {
		if f[1] != "" {
			args = append(args, f[0], f[1])
		}
	}
	for _, path := range o.files {
		args = append(args, "-f", path)
	}
	return terminal.Command(args...)
}

// consoleSource reads what the console shows: a cluster with the user's rights, or
// manifests.
type consoleSource struct {
	command *command
	options *options
	timeout time.Duration
}

var _ console.Source = (*consoleSource)(nil)

// Read implements console.Source.
func (s *consoleSource) Read(ctx context.Context, _ *explain.Snapshot) (*explain.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	objects, err := s.objects(ctx)
	if err != nil {
		return nil, err
	}
	return explain.NewSnapshot(objects, explain.Options{Router: s.options.router, Domain: s.options.domain, Now: time.Now()})
}

func (s *consoleSource) objects(ctx context.Context) (*explain.Objects, error) {
	if len(s.options.files) > 0 {
		return s.command.read(ctx, s.options)
	}
	config, own, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return explaincluster.ReadInPages(ctx, config, own)
}

// cluster returns how to reach it, and the namespace that the user works in.
func (s *consoleSource) cluster() (config *rest.Config, own string, err error) {
	config, err = kubeconfig(s.options).ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find the cluster: %w", err)
	}
	own, err = s.options.ownNamespace()
	return config, own, err
}

// Health implements console.Source.
func (s *consoleSource) Health(ctx context.Context) (*check.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	config, own, err := s.cluster()
	if err != nil {
		return nil, err
	}
	snapshot, err := collect.Read(ctx, config, collect.Options{Namespace: own, Router: s.options.router, Now: time.Now})
	if err != nil {
		return nil, err
	}
	return check.Judge(snapshot), nil
}

// Network implements console.Source.
func (s *consoleSource) Network(ctx context.Context) (*console.Network, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	config, _, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return cluster.Network(ctx, config)
}

// Events implements console.Source.
func (s *consoleSource) Events(ctx context.Context) (*console.Events, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	config, own, err := s.cluster()
	if err != nil {
		return nil, err
	}
	return cluster.Events(ctx, config, own)
}
