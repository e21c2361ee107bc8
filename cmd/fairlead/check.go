package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/router/certfile"
	"github.com/fairlead/fairlead/router/door"
	"github.com/fairlead/fairlead/router/doors"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/pipeline"
	"github.com/fairlead/fairlead/router/render"
)

// checkAll prints the findings and lets HAProxy check the configuration; nothing is
// started.
func (s *server) checkAll(ctx context.Context) error {
	snapshot, err := explain.NewSnapshot(s.source.Objects(), explain.Options{Router: s.router, Domain: s.domain, Now: time.Now()})
	if err != nil {
		return &exitError{exitUsage, err}
	}
	lint := snapshot.Lint("")
	if err := lint.Text(terminal.Writer(s.out)); err != nil {
		return fmt.Errorf("print the findings: %w", err)
	}
	why, err := s.ask(ctx)
	if err != nil {
		return &exitError{exitHAProxy, err}
	}
	if why != "" {
		fmt.Fprintf(terminal.Writer(s.out), "HAProxy %s refuses the configuration: %s\n", s.version, why)
		return &exitError{exitBad, errShown}
	}
	fmt.Fprintf(s.out, "HAProxy %s takes the configuration\n", s.version)
	if lint.Errors > 0 {
		return &exitError{exitBad, errShown}
	}
	return nil
}

// ask writes the files of HAProxy into a folder of their own and returns what HAProxy
// has against them.
func (s *server) ask(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "fairlead")
	if err != nil {
		return "", fmt.Errorf("check the configuration: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cert, err := certfile.SelfSigned(s.domain)
	if err != nil {
		return "", err
	}
	reader := s.settingsReader()
	wide := reader.read()
	p := pipeline.New(doors.All(), s.source, wide.Ingest, cert)
	p.Update(door.Changes{All: true})
	layout := render.Layout{Dir: dir}
	base, err := render.Skeleton(wide.Render, layout, s.caps)
	if err != nil {
		return "", err
	}
	files, err := haproxy.NewFiles(layout, s.caps)
	if err != nil {
		return "", err
	}
	if err := files.Write(base, p.Want()); err != nil {
		return "", err
	}
	why, err := haproxy.Check(ctx, s.binary, layout)
	if why != "" {
		why = haproxy.FirstAlert(why)
	}
	return why, err
}
