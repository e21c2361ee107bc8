// Package hostile lets one tenant, one client and one neighbour on the network
// do all the harm they can think of, at once, and watches another tenant: none
// of its requests may fail, its changes go live, nothing reloads, memory stays
// bounded, and the address stays where it is.
//
// It runs on a real cluster of two nodes, installed as a user installs it. What
// are machines apart elsewhere has processors apart here, if there are two: the
// nodes with all their pods have one half, the control plane, the attackers and
// the victim's client the other. There the client goes before the control plane,
// and that before the attackers. The quiet time is measured in the same way. What the
// machine itself does not run, because its host runs something else, is noted, and not
// counted as the victim's waiting (see standstill).
//
// By default the attack lasts half a minute; `make hostile` lets it last ten:
//
//	go test -count=1 -v -timeout 40m ./test/hostile -args -duration 10m
package hostile

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
)

// The cluster of the test, or why there is none, and how long the attack lasts.
var (
	installed *install.Product
	skipped   string
	duration  time.Duration
)

func TestMain(m *testing.M) {
	flag.DurationVar(&duration, "duration", full.Or(10*time.Minute, 30*time.Second), "how long the attack lasts")
	flag.Parse()
	if os.Getenv(routerOf) != "" {
		os.Exit(hostileRouter())
	}
	if os.Getenv(standstillOf) != "" {
		watchProcessor()
	}
	if where := os.Getenv(attackOn); where != "" {
		os.Exit(attackers(where))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var images []string
	if images, skipped = install.Ready(); skipped != "" {
		return m.Run()
	}
	c, err := cluster.Up(ctx, cluster.Options{Name: "hostile", Images: images, Log: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		return 1
	}
	defer func() {
		if err := c.Down(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(os.Stderr, "hostile:", err)
		}
	}()
	scratch, err := os.MkdirTemp("", "fairlead-hostile-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	p := &install.Product{Cluster: c, Root: "../..", Kubectl: c.Kubectl, Scratch: scratch}
	// Before anything counts the processors that it has.
	if err = separate(ctx, c); err == nil {
		err = p.Install(ctx)
	}
	if err == nil {
		err = p.Samples(ctx)
	}
	if err == nil {
		err = preferVictim(ctx, p)
	}
	if installed = p; err == nil {
		err = queued(ctx, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile: install:", err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "hostile: logs of the cluster's programs:", c.SaveLogs())
	}
	return code
}
