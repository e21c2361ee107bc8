// Package cluster reads what the console shows from a cluster, and asks its API server who users
// are and what they may see.
package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead/fairlead/api"
	"github.com/fairlead/fairlead/check"
	"github.com/fairlead/fairlead/check/collect"
	"github.com/fairlead/fairlead/console"
	"github.com/fairlead/fairlead/router/explain"
	"github.com/fairlead/fairlead/router/explain/cluster"
)

// Options say what to read.
type Options struct {
	Config         *rest.Config
	Router, Domain string
	// Timeout bounds each reading.
	Timeout time.Duration
	Log     *slog.Logger
}

// Source reads a cluster as a program in it may: all namespaces, and neither Secrets nor
// ConfigMaps. What routers decide about, it watches.
type Source struct {
	Options

	watcher *cluster.Watcher
	// last is the snapshot of the last reading, made the time by which it judges what ends.
	last  *explain.Snapshot
	made  time.Time
	known atomic.Bool
}

// NewSource returns a Source, which has to run.
func NewSource(of Options) (*Source, error) {
	w, err := cluster.NewWatcher(of.Config, api.OperandNamespace)
	if err != nil {
		return nil, err
	}
	return &Source{Options: of, watcher: w}, nil
}

// Known reports whether the cluster was read once.
func (s *Source) Known() bool { return s.known.Load() }

// Run watches the cluster until the context ends.
func (s *Source) Run(ctx context.Context) { s.watcher.Run(ctx) }

// decidedFor is how old the time may be by which what ends, such as a certificate, is judged.
const decidedFor = 10 * time.Minute

var _ console.Source = (*Source)(nil)

// Read implements console.Source.
func (s *Source) Read(ctx context.Context, before *explain.Snapshot) (*explain.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if before == nil || before != s.last { // what has changed since is of no use
		s.watcher.Forget()
	}
	objects, changes, err := s.watcher.Read(ctx)
	if err != nil {
		return nil, s.failed("objects", err)
	}
	now := time.Now()
	if objects != nil {
		snapshot, err := explain.NewSnapshot(objects, explain.Options{Router: s.Router, Domain: s.Domain, Now: now})
		if err != nil {
			s.watcher.Forget()
			return nil, s.failed("objects", err)
		}
		s.last, s.made = snapshot, now
		s.known.Store(true)
		return snapshot, nil
	}
	again := time.Time{}
	if now.Sub(s.made) >= decidedFor {
		again, s.made = now, now
	}
	before.Later(changes, again)
	return before, nil
}

// Health implements console.Source.
func (s *Source) Health(ctx context.Context) (*check.Report, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	all, err := s.watcher.Routes(ctx)
	if err != nil {
		return nil, s.failed("health", err)
	}
	routes := make([]routev1.Route, 0, len(all))
	for _, r := range all { // of which the checks change nothing
		routes = append(routes, *r)
	}
	snapshot, err := collect.Read(ctx, s.Config, collect.Options{Namespace: api.OperandNamespace, Router: s.Router, Routes: routes, Now: time.Now})
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
