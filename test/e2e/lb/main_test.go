// Package lb tests on a real cluster of three nodes who answers for an address,
// while nodes, speakers, cables and the API server fail, and while addresses
// are moved on purpose.
//
//	go test -v ./test/e2e/lb                                # short form, as in make test
//	go test -v ./test/e2e/lb -args -full -cluster mylb      # everything, on a cluster of its own
package lb

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/netmonitor"
)

var (
	// clusterName lets several people run these tests on one machine.
	clusterName = flag.String("cluster", "e2elb", "name of the cluster to start: up to 12 lower-case letters and digits")
	keep        = flag.Bool("keep", false, "leave the cluster up, and use it if it is")
)

// shared is the one cluster of all tests, nil with the reason in skipped.
var (
	shared  *install.Product
	skipped string
)

func TestMain(m *testing.M) {
	if netmonitor.Child() {
		return
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var images []string
	if images, skipped = install.Ready(); skipped != "" {
		return m.Run()
	}
	scratch, err := os.MkdirTemp("", "fairlead-e2e-lb-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/lb:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	c, err := start(ctx, images, scratch)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/lb:", err)
		return 1
	}
	if !*keep {
		defer func() {
			if err := c.Down(context.WithoutCancel(ctx)); err != nil {
				fmt.Fprintln(os.Stderr, "e2e/lb:", err)
			}
		}()
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e/lb: logs of the cluster's programs:", c.SaveLogs())
	}
	return code
}

// start returns the cluster with the product on it, in shared as well.
func start(ctx context.Context, images []string, scratch string) (*cluster.Cluster, error) {
	c, err := cluster.Open(*clusterName)
	if !*keep || err != nil {
		c, err = cluster.Up(ctx, cluster.Options{Name: *clusterName, Nodes: 3, Images: images, Log: os.Stderr})
	}
	if err != nil {
		return nil, err
	}
	p := &install.Product{Cluster: c, Root: "../../..", Kubectl: c.Kubectl, Scratch: scratch}
	if err := p.Install(ctx); err != nil {
		kept := c.SaveLogs()
		if !*keep {
			err = fmt.Errorf("%w (logs in %s; %w)", err, kept, c.Down(context.WithoutCancel(ctx)))
		}
		return nil, err
	}
	shared = p
	return c, nil
}

// installed returns the product, or skips the test.
func installed(t *testing.T) *install.Product {
	t.Helper()
	if shared == nil {
		t.Skip(skipped)
	}
	return shared
}

// long skips a test that takes long, unless everything is asked for.
func long(t *testing.T) {
	t.Helper()
	full.Only(t, "it takes a minute")
}
