// Command lb measures the address provider on a real cluster of three nodes:
// how long an address is silent when its node dies, what a planned handover
// costs at 1,000 requests per second, and how long a speaker computes when a
// node comes or goes. docs/benchmarks.md explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/product"
	"github.com/fairlead/fairlead/test/witness"
)

func main() {
	if witness.Child() {
		return
	}
	o := options{}
	flag.StringVar(&o.cluster, "cluster", "lbbench", "name of the cluster to start")
	flag.BoolVar(&o.keep, "keep", false, "leave the cluster up, and use it if it is")
	flag.IntVar(&o.takeovers, "takeovers", 20, "how often the announcing node dies")
	flag.IntVar(&o.handovers, "handovers", 20, "how often the address is handed over")
	flag.BoolVar(&o.cut, "cut", false, "cut the node's cable instead of its power: as fast to notice, and sooner back")
	flag.DurationVar(&o.every, "every", time.Millisecond, "pause between two requests during handovers")
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
	cluster              string
	keep, cut            bool
	takeovers, handovers int
	every                time.Duration
}

// bench is the cluster and one address on it.
type bench struct {
	options
	*product.Product
	address string
	started time.Time
}

func run(ctx context.Context, o options) (err error) {
	var rows []row
	arp, err := answers(ctx)
	if err != nil {
		return err
	}
	rows = append(rows, election(), arp)
	if o.takeovers+o.handovers > 0 {
		b := &bench{options: o, started: time.Now()}
		if err := b.start(ctx); err != nil {
			return err
		}
		defer func() {
			if !o.keep {
				err = errors.Join(err, b.Cluster.Down(context.WithoutCancel(ctx)))
			}
		}()
		for _, measure := range []func(context.Context) ([]row, error){b.handOver, b.takeOver} {
			more, err := measure(ctx)
			rows = append(rows, more...)
			if err != nil {
				return errors.Join(err, show(rows))
			}
		}
	}
	return show(rows)
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
      - {name: echo, image: "fairlead.dev/demo:dev", imagePullPolicy: IfNotPresent}
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
	images, err := filepath.Glob(".tools/images/*.tar")
	if err != nil || len(images) < 5 {
		return errors.New("images are missing: run `make images`, and this in the project's folder")
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
	b.Product = &product.Product{Cluster: c, Root: ".", Kubectl: c.Kubectl, Scratch: scratch}
	if err := b.Install(ctx); err != nil {
		return err
	}
	cmd := c.KubectlCommand(ctx, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(echoYAML)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the echo: %w: %s", err, out)
	}
	if _, err := c.Kubectl(ctx, "-n", "default", "rollout", "status", "daemonset/echo", "--timeout=90s"); err != nil {
		return err
	}
	return product.Until(ctx, 30*time.Second, func() error {
		out, err := c.Kubectl(ctx, "-n", "default", "get", "service", "echo", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err == nil && out == "" {
			err = errors.New("the echo has no address")
		}
		b.address = out
		return err
	})
}

// owner waits until a node answers, one that satisfies the condition.
func (b *bench) owner(ctx context.Context, is func(string) bool) (string, error) {
	at, owner := *b.Product, ""
	at.Address = b.address
	err := product.Until(ctx, 60*time.Second, func() error {
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

func (b *bench) watch(ctx context.Context, every time.Duration) (*witness.Witness, error) {
	return witness.Start(ctx, b.Cluster, witness.Options{
		Addresses: []string{b.address}, Target: b.address + ":80", Path: "/text", Host: "echo", Every: every,
	})
}

// wait lets some time pass.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// percentile of sorted values.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}

// sorted returns the values in order.
func sorted(values []time.Duration) []time.Duration { return slices.Sorted(slices.Values(values)) }
