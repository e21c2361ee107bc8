package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead/fairlead/test/bench/lb/allocation"
	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/lbapi"
)

// allocation measures a restart of the address controller with 10,000 Services.
func (b *bench) allocation(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "fairlead-bench-allocation-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	server, err := cluster.StartAPIServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop() }()
	_, c, err := lbapi.Install(ctx, server, ".")
	if err != nil {
		return err
	}
	result, err := allocation.Run(ctx, server, c, 10000, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	b.results.Allocation = &result
	return nil
}
