// Package cluster reads what the console shows from a cluster, and asks its API server who users
// are and what they may see.
package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/collect"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
)

// Source reads a cluster as a program in it may: all namespaces, and neither Secrets nor
// ConfigMaps.
type Source struct {
	Config         *rest.Config
	Router, Domain string
	// Timeout bounds each reading.
	Timeout time.Duration
	Log     *slog.Logger
}

var _ console.Source = (*Source)(nil)

// Read implements console.Source.
func (s *Source) Read(ctx context.Context, _ *explain.Snapshot) (*explain.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	objects, err := cluster.Read(ctx, s.Config, api.OperandNamespace, "Secret", "ConfigMap")
	if err != nil {
		return nil, s.failed("objects", err)
	}
	snapshot, err := explain.NewSnapshot(objects, explain.Options{Router: s.Router, Domain: s.Domain, Now: time.Now()})
	return snapshot, s.failed("objects", err)
}

// Health implements console.Source.
func (s *Source) Health(ctx context.Context) (*check.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	snapshot, err := collect.Read(ctx, s.Config, collect.Options{Namespace: api.OperandNamespace, Router: s.Router, Now: time.Now})
	if err != nil {
		return nil, s.failed("health", err)
	}
	return check.Judge(snapshot), nil
}

// Network implements console.Source.
func (s *Source) Network(ctx context.Context) (*console.Network, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	n, err := Network(ctx, s.Config)
	return n, s.failed("addresses", err)
}

// Events implements console.Source.
func (s *Source) Events(ctx context.Context) (*console.Events, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	e, err := Events(ctx, s.Config, api.OperandNamespace)
	return e, s.failed("events", err)
}

// failed logs an error, since users who do not see all are not shown what is wrong.
func (s *Source) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	s.Log.Error("the cluster could not be read", "what", what, "err", err)
	return fmt.Errorf("read %s: %w", what, err)
}
