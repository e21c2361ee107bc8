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
	steps := map[string][]func(context.Context) error{
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
		// What is quick and may ask for root comes first, then what lets unit tests run.
		"all": {b.HostPackages, b.HAProxy, b.Prometheus, b.OpenID, b.Kubernetes, b.Helm, b.Browser},
	}
	if len(parts) == 0 {
		parts = []string{"all"}
	}
	for _, part := range parts {
		todo, known := steps[part]
		if !known {
			return fmt.Errorf("unknown part %q: all, haproxy, haproxy-arm64, haproxy-amd64, apiserver, kubernetes, apt, helm, openid, prometheus, chromium, axe, lint or vulnerabilities", part)
		}
		for _, step := range todo {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
