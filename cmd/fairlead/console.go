package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/cmd/internal/parts"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/router/explain"
)

// consoleFresh is how long the console takes what the files say for new. Looking again costs
// nothing if no file has changed.
const consoleFresh = 200 * time.Millisecond

// startConsole serves the console on a port of its own, which is on loopback wherever the
// listeners are.
func (s *server) startConsole(ctx context.Context, p *parts.Parts) error {
	if s.console == 0 {
		return nil
	}
	l, port, err := console.Listen(ctx, max(int(s.console), 0))
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--console: %w; choose another port, or auto for a free one", err)}
	}
	c, err := console.New(console.Options{
		Source: &consoleSource{server: s}, Fresh: consoleFresh, Prefix: "console", Command: s.commandLine, Now: time.Now, Link: s.links.take,
	}, port)
	if err != nil {
		_ = l.Close()
		return err
	}
	p.Start("console", func() error { return c.Run(ctx, l) })
	return nil
}

// consoleLinks are the addresses that let a browser in: the first one is printed with what
// else there is to try, the others when they are made.
type consoleLinks struct {
	print func(format string, args ...any)

	mu      sync.Mutex
	first   string
	printed bool
}

func (l *consoleLinks) take(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.printed {
		l.first = address
		return
	}
	l.print("console: %s", address)
}

// start returns the address that is to be printed now, or empty.
func (l *consoleLinks) start() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.printed = true
	return l.first
}

// commandLine returns the command that gives the answer of a page from the same files, or
// empty if there is none.
func (s *server) commandLine(l console.Line) string {
	args := []string{"fairlead", l.Command}
	switch l.Command {
	case "explain":
		if len(l.Flags) > 0 {
			return "" // for which the kubectl plug-in has flags
		}
		args = append(args, l.Subject)
	case "why":
		kind, name := filepath.Split(l.Subject)
		args = append(args, kind+l.Namespace+"/"+name)
	case "lint":
	default:
		return ""
	}
	for _, path := range s.paths {
		args = append(args, "-f", path)
	}
	if s.domainGiven {
		args = append(args, "--domain", s.domain)
	}
	if s.demo {
		args = append(args, "--demo")
	}
	return terminal.Command(args...)
}

// consoleSource shows what the files say.
type consoleSource struct {
	server *server
	// objects are those of the last snapshot.
	objects *explain.Objects
}

var _ console.Source = (*consoleSource)(nil)

// Read implements console.Source.
func (c *consoleSource) Read(_ context.Context, before *explain.Snapshot) (*explain.Snapshot, error) {
	objects := c.server.source.Objects()
	if before != nil && objects == c.objects {
		return before, nil
	}
	s, err := explain.NewSnapshot(objects, explain.Options{Router: c.server.router, Domain: c.server.domain, Now: time.Now()})
	if err == nil {
		c.objects = objects
	}
	return s, err
}

// Health implements console.Source.
func (c *consoleSource) Health(context.Context) (*check.Report, error) {
	return nil, errors.New("there is no cluster to check")
}

// Network implements console.Source.
func (c *consoleSource) Network(context.Context) (*console.Network, error) {
	return nil, errors.New("there is no cluster that gives addresses")
}

// Events implements console.Source.
func (c *consoleSource) Events(context.Context) (*console.Events, error) {
	return nil, errors.New("there is no cluster with events")
}
