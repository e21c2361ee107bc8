// Command speaker runs on every node and announces load-balancer addresses to
// the network segments that the node is on. Package speaker explains how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/speaker"
)

// handover is how long a speaker that stops goes on answering while others take over.
const handover = time.Second

func main() {
	opts := flags()
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: opts.logLevel}))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, opts, log); err != nil {
		log.Error("speaker stops", "error", err)
		os.Exit(1) //nolint:gocritic // nothing is left to clean up
	}
}

// run starts the parts in the order in which they need each other, and stops
// them so that others take over before this speaker falls silent.
func run(ctx context.Context, opts *options, log *slog.Logger) error {
	selector, err := labels.Parse(opts.speakers)
	if err != nil {
		return fmt.Errorf("flag -speaker-selector: %w", err)
	}
	mgr, err := newManager(opts, selector)
	if err != nil {
		return err
	}
	secret, err := readSecret(ctx, mgr.GetAPIReader(), opts, log)
	if err != nil {
		return err
	}
	var decider atomic.Pointer[speaker.Speaker]
	gossip, err := liveness.Start(liveness.Options{
		NodeName: opts.nodeName, BindAddress: opts.bindAddress, BindPort: opts.bindPort, Secret: secret,
		Changed: func() {
			if s := decider.Load(); s != nil {
				s.Changed()
			}
		},
		Log: log.With("part", "liveness"),
	})
	if err != nil {
		return fmt.Errorf("start liveness: %w", err)
	}
	counters, err := l2.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	announcer, err := l2.New(l2.Options{
		Refresh: opts.refresh, LinksChanged: gossip.SetInterfaces, Metrics: counters, Log: log,
	})
	if err != nil {
		return fmt.Errorf("start announcer: %w", err)
	}
	s, err := speaker.Setup(mgr, speaker.Options{
		NodeName: opts.nodeName, Namespace: opts.namespace, Classes: opts.classes(),
		IgnoreExcludeLabel: opts.ignoreExclude, Speakers: selector,
		Announcer: announcer, Peers: gossip, Registerer: metrics.Registry, Log: log,
	})
	if err != nil {
		return fmt.Errorf("start speaker: %w", err)
	}
	decider.Store(s)
	if err := mgr.Add(healthServer(opts.healthAddress, s)); err != nil {
		return fmt.Errorf("start health server: %w", err)
	}

	log.Info("speaker starts", "node", opts.nodeName, "address", opts.bindAddress, "encrypted", len(secret) > 0)
	return serve(ctx, mgr, announcer, gossip)
}

// serve runs until ctx ends. The announcer outlives the manager: it answers
// until others have taken over.
func serve(ctx context.Context, mgr manager.Manager, announcer *l2.Announcer, gossip *liveness.Gossip) error {
	announcing, silence := context.WithCancel(context.WithoutCancel(ctx))
	defer silence()
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		announcer.Run(announcing)
	}()
	runErr := mgr.Start(ctx)
	announcer.Hush()
	stopErr := gossip.Stop(handover)
	silence()
	<-silent
	return errors.Join(runErr, stopErr)
}

// healthServer serves probes and the debug page. It listens on the node's
// loopback address only, which the kubelet reaches as well.
func healthServer(address string, s *speaker.Speaker) manager.Runnable {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.Ready() {
			http.Error(w, "not every service is decided about", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("/debug/l2", s)
	return &manager.Server{
		Name:   "health",
		Server: &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: 5 * time.Second},
	}
}

func flags() *options {
	opts := &options{}
	opts.register(flag.CommandLine)
	flag.Parse()
	return opts
}
