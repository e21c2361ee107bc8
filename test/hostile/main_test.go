// Package hostile lets one tenant, one client and one neighbour on the network
// do all the harm they can think of, at once, and watches another tenant: none
// of its requests may fail, its changes go live, nothing reloads, memory stays
// bounded, and the address stays where it is.
//
// It runs on a real cluster of two nodes, installed as a user installs it. By
// default the attack lasts a minute; `make hostile` lets it last ten:
//
//	go test -count=1 -v -timeout 40m ./test/hostile -args -duration 10m
package hostile

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/product"
)

// The cluster of the test, or why there is none, and how long the attack lasts.
var (
	installed *product.Product
	skipped   string
	duration  time.Duration
)

func TestMain(m *testing.M) {
	flag.DurationVar(&duration, "duration", time.Minute, "how long the attack lasts")
	flag.Parse()
	if where := os.Getenv(attackOn); where != "" {
		os.Exit(attackers(where))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var images []string
	if images, skipped = product.Ready(); skipped != "" {
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
	p := &product.Product{Cluster: c, Root: "../..", Kubectl: c.Kubectl, Scratch: scratch}
	if err = p.Install(ctx); err == nil {
		err = p.Samples(ctx)
	}
	if err == nil {
		err = separate(ctx, p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile: install:", err)
		return 1
	}
	installed = p
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "hostile: logs of the cluster's programs:", c.SaveLogs())
	}
	return code
}

// separate gives the victim what it has elsewhere by being on another machine
// than the API server and the attackers: its pods reserve processor time, as the
// router's do, and its client, which is this process, goes before theirs.
func separate(ctx context.Context, p *product.Product) error {
	for _, args := range [][]string{
		{"-n", "demo", "set", "resources", "deployment/demo-v1", "--requests=cpu=50m"},
		{"-n", "demo", "rollout", "status", "deployment/demo-v1", "--timeout=120s"},
	} {
		if _, err := p.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("list the threads of this process: %w", err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, id, -5)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("put the client before the attackers: %w", err)
		}
	}
	return nil
}
