// Package e2e tests Fairlead on a real cluster of two nodes: what a client
// sees while parts of the product, or of the cluster, die.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/install"
)

// shared is the one cluster of all tests, nil with the reason in skipped.
var (
	shared  *install.Product
	skipped string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	scratch, err := os.MkdirTemp("", "fairlead-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return install.OnCluster(m, cluster.Options{Name: "e2e"}, &skipped, func(ctx context.Context, c *cluster.Cluster) error {
		shared = &install.Product{Cluster: c, Root: "../..", Kubectl: c.Kubectl, Scratch: scratch}
		if err := shared.Install(ctx); err != nil {
			return err
		}
		return shared.Samples(ctx)
	})
}

// installed returns the product, or skips the test.
func installed(t *testing.T) *install.Product {
	t.Helper()
	if shared == nil {
		t.Skip(skipped)
	}
	return shared
}
