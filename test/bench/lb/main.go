// Command lb measures the address provider: how long an address is silent when
// its node dies, what a planned handover costs at 1,000 requests per second, how
// soon routers forget a node, on a real cluster of three nodes; and allocation,
// memory, elections and ARP answers at the sizes for which there is a promise.
// docs/benchmarks.md explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/netmonitor"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

func main() {
	if netmonitor.Child() {
		return
	}
	o := options{}
	flag.StringVar(&o.cluster, "cluster", "lbbench", "name of the cluster to start")
	flag.BoolVar(&o.keep, "keep", false, "leave the cluster up, and use it if it is")
	flag.StringVar(&o.only, "only", "", "measure only some of "+strings.Join(partNames(), ",")+"; default is everything")
	flag.IntVar(&o.takeovers, "takeovers", 20, "how often the announcing node dies")
	flag.IntVar(&o.handovers, "handovers", 20, "how often the address is handed over")
	flag.IntVar(&o.routed, "routed", 20, "how often a node dies that routers know by BGP")
	flag.DurationVar(&o.every, "every", time.Millisecond, "pause between two requests during handovers")
	flag.StringVar(&o.out, "o", "test/.run/bench-lb.json", "file for the results")
	flag.BoolVar(&o.add, "add", false, "add to the results in the file instead of replacing them")
	flag.BoolVar(&o.require, "require", false, "fail unless every figure is as required")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/lb:", err)
		os.Exit(1)
	}
}

type options struct {
	cluster, only, out           string
	keep, add, require           bool
	takeovers, handovers, routed int
	every                        time.Duration
}

// bench is the cluster and one address on it.
type bench struct {
	options
	*install.Product
	results results
	address string
	started time.Time
}

// part is one of the things that can be measured alone.
type part struct {
	name    string
	cluster bool
	measure func(*bench, context.Context) error
}

// parts returns them in order: what leaves the cluster as it was comes first.
func parts() []part {
	return []part{
		{"election", false, (*bench).election},
		{"answers", false, (*bench).answers},
		{"allocation", false, (*bench).allocation},
		{"memory", false, (*bench).memory},
		{"handover", true, (*bench).handOver},
		{"takeover", true, (*bench).takeOver},
		{"routed", true, (*bench).routes},
	}
}

func partNames() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return names
}

func run(ctx context.Context, o options) (err error) {
	b := &bench{options: o, started: time.Now()}
	if o.add {
		if err := b.results.read(o.out); err != nil {
			return err
		}
	}
	defer func() {
		if b.Product != nil && !o.keep {
			err = errors.Join(err, b.Cluster.Down(context.WithoutCancel(ctx)))
		}
	}()
	for _, p := range parts() {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), p.name) {
			continue
		}
		if p.cluster && b.Product == nil {
			if err := b.start(ctx); err != nil {
				return err
			}
		}
		b.progress("%s", p.name)
		// What was measured is kept, whatever comes later.
		if err := errors.Join(p.measure(b, ctx), b.results.write(o.out)); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	all := b.results.lines()
	show(os.Stdout, all)
	if o.require {
		return check(all)
	}
	return nil
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%6.1fs] %s\n", time.Since(b.started).Seconds(), fmt.Sprintf(format, args...))
}

const echoYAML = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: echo, namespace: default}
spec:
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists}]
      containers:
      - name: echo
        image: "fairlead.dev/demo:dev"
        imagePullPolicy: IfNotPresent
        resources: {requests: {cpu: "1"}}
---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: default}
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  selector: {app: echo}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

// start starts the cluster with the product and an address on it.
func (b *bench) start(ctx context.Context) error {
	images, err := toolset.Images()
	if err != nil {
		return err
	}
	c, err := cluster.Open(b.cluster)
	if !b.keep || err != nil {
		c, err = cluster.Up(ctx, cluster.Options{Name: b.cluster, Nodes: 3, Images: images, Log: os.Stderr})
	}
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "fairlead-bench-lb-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(scratch)
	b.Product = &install.Product{Cluster: c, Root: ".", Kubectl: c.Kubectl, Scratch: scratch}
	if err := b.Install(ctx); err != nil {
		return err
	}
	if err := b.apply(ctx, echoYAML); err != nil {
		return err
	}
	if _, err := c.Kubectl(ctx, "-n", "default", "rollout", "status", "daemonset/echo", "--timeout=90s"); err != nil {
		return err
	}
	return wait.Poll{Limit: 30 * time.Second, Every: wait.Slowly}.Until(ctx, "the address of the echo Service", func() error {
		out, err := c.Kubectl(ctx, "-n", "default", "get", "service", "echo", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err == nil && out == "" {
			err = errors.New("the echo has no address")
		}
		b.address = out
		return err
	})
}

func (b *bench) apply(ctx context.Context, yaml string) error {
	cmd := b.Cluster.KubectlCommand(ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(yaml)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apply manifests: %w: %s", err, out)
	}
	return nil
}

// owner waits until a node answers, one that satisfies the condition.
func (b *bench) owner(ctx context.Context, is func(string) bool) (string, error) {
	at, owner := *b.Product, ""
	at.Address = b.address
	err := wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(ctx, "the owner of the address", func() error {
		var err error
		owner, err = at.Owner(ctx)
		if err == nil && !is(owner) {
			err = fmt.Errorf("the address is announced by %s", owner)
		}
		return err
	})
	return owner, err
}

func anyone(string) bool { return true }

func (b *bench) watch(ctx context.Context, every time.Duration) (*netmonitor.Monitor, error) {
	return netmonitor.Start(ctx, b.Cluster, netmonitor.Options{
		Addresses: []string{b.address}, Target: b.address + ":80", Path: "/text", Host: "echo", Every: every,
	})
}

// pause lets some time pass.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
