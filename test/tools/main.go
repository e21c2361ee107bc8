// Command tools fetches and builds what tests and the demo need into the tools folder:
//
//	go run ./test/tools [all|haproxy|haproxy-arm64|haproxy-amd64|apiserver|kubernetes|apt|helm|openid|prometheus|chromium|axe|lint|vulnerabilities]...
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tools:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, parts []string) error {
	b, err := toolset.New(os.Stderr)
	if err != nil {
		return err
	}
	steps := map[string][]part{
		"haproxy": {b.HAProxy},
		// For images of a release.
		"haproxy-arm64": {func(ctx context.Context) error { return b.HAProxyFor(ctx, "arm64") }},
		"haproxy-amd64": {func(ctx context.Context) error { return b.HAProxyFor(ctx, "amd64") }},
		"apiserver":     {b.APIServer},
		"kubernetes":    {b.Kubernetes},
		"apt":           {b.HostPackages},
		"helm":          {b.Helm},
		"openid":        {b.OpenID},
		"prometheus":    {b.Prometheus},
		"chromium":      {b.Chromium},
		"axe":           {b.Axe},
		"lint":          {b.Linter},
		// Asks the Go project's database, too.
		"vulnerabilities": {b.Vulnerabilities},
		// What is quick and may ask for root comes first. What is fetched waits for the network, what is
		// built for the processors.
		"all": {b.HostPackages, func(ctx context.Context) error {
			return beside(ctx, []part{b.HAProxy, b.Prometheus, b.Browser}, []part{b.OpenID, b.Kubernetes, b.Helm})
		}},
	}
	if len(parts) == 0 {
		parts = []string{"all"}
	}
	for _, name := range parts {
		todo, known := steps[name]
		if !known {
			return fmt.Errorf("unknown part %q: all, haproxy, haproxy-arm64, haproxy-amd64, apiserver, kubernetes, apt, helm, openid, prometheus, chromium, axe, lint or vulnerabilities", name)
		}
		for _, step := range todo {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// part makes one part of the tools.
type part func(context.Context) error

// beside makes the parts of several lists, one list beside the others.
func beside(ctx context.Context, lists ...[]part) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, list := range lists {
		g.Go(func() error {
			for _, step := range list {
				if err := step(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
