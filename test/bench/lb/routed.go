package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/bgprouter"
	"github.com/fairlead/fairlead/test/netmonitor"
	"github.com/fairlead/fairlead/test/wait"
)

// routedRange is for addresses that only routers know.
const routedRange = "198.19.255.0/24"

const routedYAML = `apiVersion: v1
kind: Service
metadata: {name: routed, namespace: default, annotations: {metallb.io/address-pool: public}}
spec:
  type: LoadBalancer
  externalTrafficPolicy: Local
  selector: {app: echo}
  ports: [{name: http, port: 80, targetPort: 8080}]
`

// routes lets nodes die to which a router sends requests: the example of
// docs/lb/bgp.md, BFD every 100 ms, three times.
func (b *bench) routes(ctx context.Context) error {
	if why := bgprouter.Missing(); why != "" {
		return errors.New(why)
	}
	router, stop, err := b.startRouter(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var address string
	err = wait.Poll{Limit: 30 * time.Second, Every: wait.Slowly}.Until(ctx, "the address of the Service", func() error {
		address, err = b.Kubectl(ctx, "-n", "default", "get", "service", "routed", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err == nil && address == "" {
			err = errors.New("the Service has no address")
		}
		return err
	})
	if err != nil {
		return err
	}
	nodes := b.Cluster.Nodes()
	for i := range b.routed {
		if err := b.hops(ctx, address, len(nodes)); err != nil {
			return err
		}
		if err := watched(ctx, router, len(nodes)); err != nil {
			return err
		}
		silence, err := b.lose(ctx, address, nodes[i%len(nodes)])
		if err != nil {
			return err
		}
		b.results.Routed = append(b.results.Routed, milliseconds(silence))
		b.progress("routed %d: %v", i+1, silence.Round(time.Millisecond))
	}
	return nil
}

// startRouter starts FRR on the host tor as the documentation has it, and makes
// it the client's way to the addresses.
func (b *bench) startRouter(ctx context.Context) (r *bgprouter.Router, stop func(), err error) {
	text, err := os.ReadFile("docs/lb/bgp.md")
	if err != nil {
		return nil, nil, fmt.Errorf("read the example: %w", err)
	}
	self := b.Cluster.Address("tor")
	lan := self[:strings.LastIndex(self, ".")]
	frr, yaml := bgprouter.Example(string(text), strings.NewReplacer(
		"192.168.77.0/24", routedRange, "192.168.10.1\n", self+"\n", "192.168.10.0/24", lan+".0/24"))
	if err := b.apply(ctx, yaml+"---\n"+routedYAML); err != nil {
		return nil, nil, err
	}
	netns := b.Cluster.Name() + "-tor"
	for _, args := range [][]string{
		{"nsenter", "--net=/run/netns/" + netns, "sysctl", "-qw", "net.ipv4.fib_multipath_hash_policy=1", "net.ipv4.conf.all.send_redirects=0", "net.ipv4.conf.eth0.send_redirects=0"},
		{"ip", "-n", b.Cluster.Name() + "-client", "route", "replace", routedRange, "via", self},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, nil, fmt.Errorf("%v: %w: %s", args, err, out)
		}
	}
	dir, err := os.MkdirTemp("", "tor")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder: %w", err)
	}
	log, err := os.Create(dir + "/log")
	if err != nil {
		return nil, nil, fmt.Errorf("make a log: %w", err)
	}
	r, err = bgprouter.FRR(ctx, netns, dir, frr, log)
	if err != nil {
		return nil, nil, err
	}
	return r, func() {
		if err := r.Stop(); err != nil {
			b.progress("stop FRR: %v", err)
		}
		_ = log.Close()
		_ = os.RemoveAll(dir)
	}, nil
}

// hops waits until the router's kernel spreads the address over so many nodes.
func (b *bench) hops(ctx context.Context, address string, nodes int) error {
	return wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(ctx, "the router's routes", func() error {
		out, err := exec.CommandContext(ctx, "ip", "-n", b.Cluster.Name()+"-tor", "-json", "route", "show", address).Output()
		if err != nil {
			return fmt.Errorf("show the router's routes: %w", err)
		}
		var routes []struct {
			NextHops []json.RawMessage `json:"nexthops"`
		}
		if err := json.Unmarshal(out, &routes); err != nil {
			return fmt.Errorf("show the router's routes: %w", err)
		}
		if len(routes) != 1 || len(routes[0].NextHops) != nodes {
			return fmt.Errorf("%s leads to %s, not to %d nodes", address, out, nodes)
		}
		return nil
	})
}

// watched waits until BFD watches so many nodes. It begins with a packet a second,
// after the session of BGP is there; a node that died before would be missed only
// when that session ends, after a minute and a half.
func watched(ctx context.Context, router *bgprouter.Router, nodes int) error {
	return wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(ctx, "the BFD sessions", func() error {
		var peers []struct{ Peer, Status string }
		if err := router.JSON(ctx, "show bfd peers json", &peers); err != nil {
			return err
		}
		up := slices.DeleteFunc(slices.Clone(peers), func(p struct{ Peer, Status string }) bool { return p.Status != "up" })
		if len(up) != nodes {
			return fmt.Errorf("BFD watches %d nodes, not %d: %+v", len(up), nodes, peers)
		}
		return nil
	})
}

// lose cuts a node's power and returns after which time no request was lost.
func (b *bench) lose(ctx context.Context, address, node string) (time.Duration, error) {
	w, err := netmonitor.Start(ctx, b.Cluster, netmonitor.Options{Target: address + ":80", Path: "/text", Host: "echo", Every: 2 * time.Millisecond})
	if err != nil {
		return 0, err
	}
	pause(ctx, time.Second)
	at := time.Now()
	if err := b.Cluster.StopNode(ctx, node); err != nil {
		return 0, err
	}
	pause(ctx, 2*time.Second)
	r, err := w.Stop()
	if err != nil {
		return 0, err
	}
	if err := b.revive(ctx, node); err != nil {
		return 0, err
	}
	lost := r.Affected()
	if len(lost) == 0 {
		return 0, fmt.Errorf("%s died, and got no request", node)
	}
	last := slices.MaxFunc(lost, func(a, b netmonitor.Request) int { return a.At.Compare(b.At) })
	return last.At.Sub(at), nil
}
