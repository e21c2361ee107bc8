// Command demo shows the whole product at work on a real two-node cluster on this machine: it builds what is missing,
// installs as a user would, sends real requests and prints the commands with their output. Then it stays up until Ctrl-C.
// With -check it asserts everything it shows, cleans up and exits 0 or 1. `make demo` and `make demo CHECK=1` run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/image/archive"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	check := flag.Bool("check", false, "assert everything, clean up and exit 0 or 1")
	name := flag.String("name", cluster.DefaultName, "name of the cluster")
	cloud := flag.String("cloud", "", "aws: addresses come from a fake AWS instead of our own provider")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *name, *cloud, *check)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// demo is one run: the cluster, where to print, and what was learnt on the way.
type demo struct {
	*screen
	cluster *cluster.Cluster
	product *install.Product
	root    string // of the clone
	scratch string // for files that commands name
	cloud   string // "aws" or empty
	atEnd   []func()
}

// act is a part of the demo.
type act struct {
	title    string
	required bool
	play     func(context.Context) error
}

func run(ctx context.Context, name, cloud string, check bool) error {
	if cloud != "" && cloud != "aws" {
		return fmt.Errorf("CLOUD is %q; only aws is there", cloud)
	}
	d := &demo{screen: newScreen(os.Stdout), cloud: cloud}
	var err error
	if d.root, err = toolset.Root(); err != nil {
		return err
	}
	if err := os.Chdir(d.root); err != nil {
		return fmt.Errorf("go to the clone's root: %w", err)
	}
	if err := d.build(ctx); err != nil {
		return err
	}
	if err := d.startCluster(ctx, name); err != nil {
		return err
	}
	defer d.cleanUp()
	d.present(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case check:
		return d.verdict(ctx)
	default:
		return d.keepRunning(ctx)
	}
}

// build makes what is missing.
func (d *demo) build(ctx context.Context) error {
	if os.Geteuid() != 0 {
		return errors.New("the demo needs root for network namespaces and kubelets: run it with sudo -E env PATH=\"$PATH\" make demo")
	}
	d.title("Build what is missing")
	b, err := toolset.New(os.Stdout)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{b.HostPackages, b.HAProxy, b.Kubernetes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return archive.Build(ctx, b)
}

// startCluster starts the cluster on what was built.
func (d *demo) startCluster(ctx context.Context, name string) error {
	d.title("Start a Kubernetes cluster with two nodes")
	b, err := toolset.New(d.out)
	if err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(b.Dir(), "images", "*.tar"))
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	if d.cluster, err = cluster.Up(ctx, cluster.Options{Name: name, Images: images, Log: d.out}); err != nil {
		return err
	}
	if d.scratch, err = os.MkdirTemp("", "fairlead-demo-"); err != nil {
		return errors.Join(fmt.Errorf("make a folder: %w", err), d.cluster.Down(ctx))
	}
	d.product = &install.Product{Cluster: d.cluster, Root: ".", Kubectl: d.kubectl, Scratch: d.scratch}
	return nil
}

// acts are the parts of the demo, in order.
func (d *demo) acts() []act {
	if d.cloud != "" {
		return d.cloudActs()
	}
	return []act{
		{"Install, as on any cluster", true, d.install},
		{"Sample pods, Routes and an Ingress", true, d.samples},
		{"A plain Route", false, d.plainRoute},
		{"An edge Route with its own certificate", false, d.edgeRoute},
		{"A weighted Route: 80 to 20", false, d.weightedRoute},
		{"A passthrough Route: TLS ends in the pod", false, d.passthroughRoute},
		{"An Ingress with TLS", false, d.ingress},
		{"A host that no Route claims", false, d.unknownHost},
		{"A new Route goes live", false, d.newRoute},
		{"A canary by header goes live", false, d.canary},
		{"A login: an auth server decides", false, d.login},
		{"A rate limit goes live", false, d.rateLimit},
		{"A misspelt protective annotation closes its path", false, d.misspelt},
		{"A Gateway with an address of its own, and HTTPRoutes", false, d.gateway},
		{"A node loses power", false, d.failover},
		{"HAProxy's own statistics", false, d.statistics},
		{"Is the ingress healthy?", false, d.healthy},
	}
}

// present runs the acts. One that fails is noted and the others go on, unless they could not work.
func (d *demo) present(ctx context.Context) {
	for _, act := range d.acts() {
		if ctx.Err() != nil {
			return
		}
		d.title(act.title)
		began := time.Now()
		err := act.play(ctx)
		if ctx.Err() != nil {
			return
		}
		d.result(act.title, time.Since(began), err)
		if err != nil && act.required {
			return
		}
	}
}

// verdict ends a run with -check.
func (d *demo) verdict(ctx context.Context) error {
	if len(d.failed) == 0 {
		d.title("All checks passed")
		return nil
	}
	return fmt.Errorf("%w\ndiagnosis in %s", errors.Join(d.failed...), d.diagnose(ctx))
}

func (d *demo) cleanUp() {
	d.title("Clean up")
	for _, end := range d.atEnd {
		end()
	}
	if err := errors.Join(d.cluster.Down(context.Background()), os.RemoveAll(d.scratch)); err != nil {
		d.say("%v", err)
	}
	d.say("nothing is left: no process, no network namespace, no mount")
}
