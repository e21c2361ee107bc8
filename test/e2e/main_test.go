// Package e2e tests Fairlead on a real cluster of two nodes: what a client
// sees while parts of the product, or of the cluster, die.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

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
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var images []string
	if images, skipped = install.Ready(); skipped != "" {
		return m.Run()
	}
	c, err := cluster.Up(ctx, cluster.Options{Name: "e2e", Images: images, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer func() {
		if err := c.Down(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
		}
	}()
	scratch, err := os.MkdirTemp("", "fairlead-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	p := &install.Product{Cluster: c, Root: "../..", Kubectl: c.Kubectl, Scratch: scratch}
	if err = p.Install(ctx); err == nil {
		err = p.Samples(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: install:", err)
		return 1
	}
	shared = p
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e: logs of the cluster's programs:", c.SaveLogs())
	}
	return code
}

// installed returns the product, or skips the test.
func installed(t *testing.T) *install.Product {
	t.Helper()
	if shared == nil {
		t.Skip(skipped)
	}
	return shared
}
