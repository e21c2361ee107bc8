// Package chart takes the Helm chart through its life on a real cluster while clients send requests: upgrade, rollback, a refused
// upgrade, uninstallation and installation again. Before, a stranger who has only the documentation installs it and does what users do
// first: all commands are those of the pages, as they stand there (package walk).
//
//	go test -v ./test/e2e/chart                 # short form, as in make test: Helm 4
//	go test -v ./test/e2e/chart -args -full     # Helm 3 as well, and a release that goes over from one to the other
//	make docs-walk                              # the stranger alone, through all tasks
package chart

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/install"
)

// shared is the one cluster of all tests, nil with the reason in skipped.
var (
	shared  *cluster.Cluster
	skipped string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(install.OnCluster(m, cluster.Options{Name: "e2echart"}, &skipped, func(ctx context.Context, c *cluster.Cluster) error {
		shared = c
		return release(ctx, c)
	}))
}

// The versions between which the tests go. Their images are the same programs.
const (
	first  = "v0.1.0"
	second = "v0.2.0"
)

// release gives the images on every node the tags of both versions.
func release(ctx context.Context, c *cluster.Cluster) error {
	for _, node := range c.Nodes() {
		for _, program := range []string{"operator", "router", "speaker"} {
			name := "fairlead.dev/" + program + ":"
			if _, err := c.Exec(ctx, node, "ctr", "--namespace", "k8s.io", "images", "tag", name+"dev", name+first, name+second); err != nil {
				return err
			}
		}
	}
	return nil
}
