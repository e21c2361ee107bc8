// BGP with passwords needs sockets that are plain TCP: MPTCP, which Go would
// use otherwise, has no MD5 signatures.
//go:debug multipathtcp=0

// Command speaker runs on every node and announces load-balancer addresses to
// the network segments that the node is on. Package speaker explains how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead/fairlead/lbprovider/bfd"
	"github.com/fairlead/fairlead/lbprovider/bgp/engine"
	"github.com/fairlead/fairlead/lbprovider/foreign"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/speaker"
)

// gcPercent trades a little computing for memory, which a speaker takes on
// every node: it has little to compute, and keeps much in its caches.
const gcPercent = 30

func main() {
	opts := flags()
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: opts.logLevel}))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := run(ctx, opts, log); err != nil {
		log.Error("speaker stops", "error", err)
		os.Exit(1) //nolint:gocritic // nothing is left to clean up
	}
}

// run connects to the API server and starts the parts.
func run(ctx context.Context, opts *options, log *slog.Logger) error {
	if err := opts.validate(); err != nil {
		return err
	}
	selector, err := labels.Parse(opts.speakers)
	if err != nil {
		return fmt.Errorf("flag -speaker-selector: %w", err)
	}
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the API server: %w", err)
	}
	managerOptions, err := speaker.ManagerOptions(opts.namespace, selector, opts.metricsAddress, opts.pprofAddress)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(restConfig, managerOptions)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	return start(ctx, &setting{options: opts, selector: selector, rest: restConfig, log: log}, mgr)
}

// setting is what the parts are made of.
type setting struct {
	*options
	selector labels.Selector
	rest     *rest.Config
	log      *slog.Logger
}

// start starts the parts in the order in which they need each other, and stops
// them so that others take over before this speaker falls silent.
func start(ctx context.Context, opts *setting, mgr manager.Manager) error {
	log := opts.log
	var decider atomic.Pointer[speaker.Speaker]
	stopHealth, err := speaker.ServeHealth(ctx, opts.healthAddress, decider.Load, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	if err := foreign.Wait(ctx, mgr.GetAPIReader(), log); err != nil {
		return err
	}
	keyName := types.NamespacedName{Namespace: opts.namespace, Name: opts.secret}
	secret, err := speaker.ReadKey(ctx, mgr.GetAPIReader(), keyName, log)
	if err != nil {
		return err
	}
	keys, err := speaker.WatchKey(mgr, keyName)
	if err != nil {
		return err
	}
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
	go gossip.Rotate(ctx, keys)
	announcer, err := decide(ctx, opts, mgr, gossip, &decider)
	if err != nil {
		return err
	}
	log.Info("speaker starts", "node", opts.nodeName, "address", opts.bindAddress, "encrypted", len(secret) > 0)
	return serve(ctx, mgr, announcer, gossip)
}

// decide makes the speaker and what it announces with.
func decide(ctx context.Context, opts *setting, mgr manager.Manager, gossip *liveness.Gossip, decider *atomic.Pointer[speaker.Speaker]) (*l2.Announcer, error) {
	log := opts.log
	counters, err := l2.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	announcer, err := l2.New(l2.Options{
		Refresh: opts.refresh, LinksChanged: gossip.SetInterfaces, Metrics: counters, Log: log,
		Conflict: func(c l2.Conflict) {
			if s := decider.Load(); s != nil {
				s.Conflict(c)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start announcer: %w", err)
	}
	routers, detector, err := startBGP(decider, log)
	if err != nil {
		return nil, fmt.Errorf("start BGP: %w", err)
	}
	s, err := speaker.Setup(mgr, speaker.Options{
		NodeName: opts.nodeName, NodeAddress: opts.bindAddress, PodName: opts.podName,
		Namespace: opts.namespace, Classes: opts.classes(), Speakers: opts.selector,
		IgnoreExcludeLabel: opts.ignoreExclude, AnnounceIsolated: opts.isolation == isolationAnnounce,
		Announcer: announcer, Peers: gossip, Routers: routers, Detector: detector, Registerer: metrics.Registry, Log: log,
	})
	if err != nil {
		return nil, fmt.Errorf("start speaker: %w", err)
	}
	decider.Store(s)
	go func() {
		if err := speaker.WatchAPIServer(ctx, opts.rest, gossip.SetLost, log.With("part", "apiserver")); err != nil {
			log.Error("nobody watches over the API server", "error", err)
		}
	}()
	return announcer, nil
}

// startBGP starts the parts that talk to routers. A session that this process
// has not held before may have been an earlier process's, so it always starts as
// one that goes on.
func startBGP(decider *atomic.Pointer[speaker.Speaker], log *slog.Logger) (*engine.Engine, *bfd.Engine, error) {
	routers := engine.New(engine.Options{
		Restarting: true, Now: time.Now, Log: log.With("part", "bgp"),
		Changed: func() {
			if s := decider.Load(); s != nil {
				s.SessionsChanged()
			}
		},
	})
	if err := metrics.Registry.Register(routers); err != nil {
		return nil, nil, fmt.Errorf("register metrics: %w", err)
	}
	detector, err := bfd.New(bfd.Options{Registerer: metrics.Registry, Log: log})
	return routers, detector, err
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
	others := gossip.Drain()
	if yielded := announcer.Yield(); others {
		<-yielded
	}
	stopErr := gossip.Stop()
	silence()
	<-silent
	return errors.Join(runErr, stopErr)
}

func flags() *options {
	opts := &options{}
	opts.register(flag.CommandLine)
	flag.Parse()
	return opts
}
