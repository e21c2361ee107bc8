package firewall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fairlead/fairlead/router/model"
	"github.com/fairlead/fairlead/router/spop"
)

const (
	// mostInflight bounds the questions of a connection, whose bodies are in memory.
	mostInflight = 256
	stopTime     = 6 * time.Second
	// checkEvery is how often Serve makes HAProxy's check on its own socket, and checkTime
	// how long an answer may take.
	checkEvery, checkTime = time.Second, 5 * time.Second
)

// ErrStuck ends a firewall that does not answer any more.
var ErrStuck = errors.New("the firewall does not answer on its own socket")

// Serve compiles the rules and answers HAProxy in a folder until ctx ends.
func Serve(ctx context.Context, dir string, log *slog.Logger) error {
	began := time.Now()
	rules, err := Compile()
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	f := New(rules, runtime.GOMAXPROCS(0), NewMetrics(registry), log)
	ml, err := spop.Listen(dir, model.FirewallMetricsSocket)
	if err != nil {
		return err
	}
	hs := &http.Server{Handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), ReadHeaderTimeout: time.Second}
	go func() { _ = hs.Serve(ml) }()
	defer hs.Close()
	l, err := spop.Listen(dir, model.FirewallSocket)
	if err != nil {
		return err
	}
	server := &spop.Server{Handle: f.Handle, Busy: f.Busy, Panicked: f.Panicked, Inflight: mostInflight}
	served := make(chan struct{})
	go func() { _ = server.Serve(context.WithoutCancel(ctx), l); close(served) }()
	log.Info("judging requests", "compiled", time.Since(began))
	err = watch(ctx, filepath.Join(dir, model.FirewallSocket))
	_ = l.Close()
	<-served
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	server.Close(last)
	return err
}

// watch makes HAProxy's check until ctx ends, or until none is answered.
func watch(ctx context.Context, socket string) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := check(ctx, socket); err != nil {
				return err
			}
		}
	}
}

func check(ctx context.Context, socket string) error {
	d := net.Dialer{Timeout: checkTime}
	c, err := d.DialContext(ctx, "unix", socket)
	if err == nil {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(checkTime))
		err = spop.Check(c)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrStuck, err)
	}
	return nil
}
