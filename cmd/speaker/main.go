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
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead/fairlead/cmd/internal/reconnect"
	"github.com/fairlead/fairlead/lbprovider/l2"
	"github.com/fairlead/fairlead/lbprovider/liveness"
	"github.com/fairlead/fairlead/lbprovider/memory"
	"github.com/fairlead/fairlead/lbprovider/scrape"
	"github.com/fairlead/fairlead/lbprovider/speaker"
)

// memoryFloor is a limit that no process has to keep below: with a few hundred
// Services it is enough.
const memoryFloor = 40 << 20

func main() {
	opts := flags()
	if opts.pprofAddress == "" {
		memory.DisableSampling()
	}
	log := slog.New(opts.log.Handler(os.Stderr))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go memory.LimitGarbage(ctx, memoryFloor, os.Getenv)
	if err := run(ctx, opts, log); err != nil {
		log.Error("speaker stops", "err", err)
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
	reconnect.Wrap(restConfig, log)
	managerOptions, err := speaker.ManagerOptions(opts.namespace, opts.nodeName, selector, scrape.Options(opts.metricsAddress, opts.metricsOpen), opts.pprofAddress)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(restConfig, managerOptions)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	return start(ctx, &setting{options: opts, selector: selector, rest: restConfig, log: log}, mgr)
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
