package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/lbprovider/bfd"
	"github.com/fairlead/fairlead/lbprovider/bgp/process"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/othermetallb"
	"github.com/fairlead/fairlead/lbprovider/speaker"
	"github.com/fairlead/fairlead/router/buildinfo"
)

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
	var otherMetalLB othermetallb.Waiter
	stopHealth, err := speaker.ServeHealth(ctx, opts.healthAddress, decider.Load, otherMetalLB.Reason, log)
	if err != nil {
		return err
	}
	defer stopHealth()
	own := types.NamespacedName{Namespace: opts.namespace, Name: opts.podName}
	if err := otherMetalLB.Wait(ctx, mgr.GetAPIReader(), speaker.ReportOnPod(ctx, mgr, own, log)); err != nil {
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
		NodeName: opts.nodeName, BindAddress: opts.bindAddress, BindPort: opts.bindPort, Secret: secret, Profile: opts.gossipProfile,
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
	if err := buildinfo.Register(metrics.Registry, "speaker"); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	counters, err := l2.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	announcer, err := l2.New(l2.Options{
		Excluded: opts.excludedInterfaces(), Refresh: time.Duration(opts.refresh), LinksChanged: gossip.SetInterfaces, Metrics: counters, Log: log,
		Conflict: func(c l2.Conflict) {
			if s := decider.Load(); s != nil {
				s.Conflict(c)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("start announcer: %w", err)
	}
	routers, detector, err := startBGP(decider, opts.options.log, log)
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
		if err := speaker.WatchAPIServer(ctx, opts.rest, gossip.SetAPIReach, log.With("part", "apiserver")); err != nil {
			log.Error("the API server is not watched", "err", err)
		}
	}()
	return announcer, nil
}

// bgpProgram holds one BGP session; it lies beside this program.
const bgpProgram = "speaker-bgp"

// startBGP starts the parts that talk to routers. A session that this process
// has not held before may have been an earlier process's, so it always starts as
// one that goes on.
func startBGP(decider *atomic.Pointer[speaker.Speaker], logs logging.Options, log *slog.Logger) (*process.Host, *bfd.Engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	routers := process.New(process.Options{
		Program: filepath.Join(filepath.Dir(self), bgpProgram), Args: logging.Options{Level: logs.Level, Format: logging.JSON}.Args(),
		// A session has little to compute; one processor's caches are enough, and a
		// peer that makes it loop has no more than one.
		Env:        []string{"GOMAXPROCS=1"},
		Restarting: true, Now: time.Now, Output: logs.Lines(os.Stderr), Log: log.With("part", "bgp"),
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
