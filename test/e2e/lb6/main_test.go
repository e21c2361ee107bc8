// Package lb6 tests addresses of both families on a real cluster that has both:
// neighbour discovery as a client on the network sees it, BGP to FRR over IPv6
// and of IPv6 over IPv4, with BFD, and what happens when a node loses power.
//
//	go test -v ./test/e2e/lb6 -args -cluster my6      # on a cluster of its own
package lb6

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/netmonitor"
)

// clusterName lets several people run these tests on one machine.
var clusterName = flag.String("cluster", "e2elb6", "name of the cluster to start: up to 12 lower-case letters and digits")

// shared is the one cluster of all tests, nil with the reason in skipped.
var (
	shared  *cluster.Cluster
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
	c, err := cluster.Up(ctx, cluster.Options{Name: *clusterName, Nodes: 2, Images: images, Log: os.Stderr, DualStack: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/lb6:", err)
		return 1
	}
	defer func() {
		if err := c.Down(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(os.Stderr, "e2e/lb6:", err)
		}
	}()
	code := 1
	if err := applyManifests(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "e2e/lb6:", err)
	} else {
		shared = c
		code = m.Run()
	}
	if code != 0 {
		told, err := c.Kubectl(ctx, "-n", "metallb-system", "logs", "-l", "app.kubernetes.io/component=speaker", "--prefix", "--tail=80")
		fmt.Fprintln(os.Stderr, told, err)
		fmt.Fprintln(os.Stderr, "e2e/lb6: logs of the cluster's programs:", c.SaveLogs())
	}
	return code
}

// applyManifests applies the manifests and waits for the operator and the speakers.
// Routers are no part of these tests.
func applyManifests(ctx context.Context, c *cluster.Cluster) error {
	for _, args := range [][]string{
		{"apply", "-k", root + "/config/default"},
		{"-n", "openshift-ingress-operator", "rollout", "status", "deployment/ingress-operator", "--timeout=120s"},
		{"-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=120s"},
	} {
		if _, err := c.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
