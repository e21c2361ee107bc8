package main

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead/fairlead/test/bench/lb/allocation"
	"github.com/fairlead/fairlead/test/metallbapi"
)

// allocation measures a restart of the address controller with 10,000 Services.
func (b *bench) allocation(ctx context.Context) error {
	ctrl.SetLogger(logr.Discard())
	return metallbapi.With(ctx, ".", func(a *metallbapi.API, _ string) error {
		result, err := allocation.Run(ctx, a.Server, a.Client, 10000, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		b.results.Allocation = &result
		return nil
	})
}
