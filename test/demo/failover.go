package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// failoverLimit is how long the address may be silent after its node died.
const failoverLimit = 15 * time.Second

// failover cuts the power of the node that announces the address and measures how long the client waits.
func (d *demo) failover(ctx context.Context) error {
	owner, err := d.product.Owner(ctx)
	if err != nil {
		return err
	}
	d.say("%s is announced by %s", d.product.Address, owner)
	if _, err := d.client(ctx, "ip neigh show "+d.product.Address); err != nil {
		return err
	}
	d.say("power off: %s", owner)
	began := time.Now()
	if err := d.cluster.StopNode(ctx, owner); err != nil {
		return err
	}
	silence, err := d.silence(ctx, began)
	if err != nil {
		return errors.Join(err, d.cluster.StartNode(ctx, owner))
	}
	next, err := d.product.Owner(ctx)
	if err != nil {
		return err
	}
	d.say("%s answers again after %.1f s, announced by %s", d.product.Address, silence.Seconds(), next)
	if next == owner {
		return fmt.Errorf("%s is off and yet announces", owner)
	}
	// A request may meet a pod that died with the node and is not yet known to have: HAProxy tries another after its
	// connect timeout of 5 s.
	if err := d.expect(ctx, d.curl("-m 15", "http", "plain.apps.example.com", "/text"), "demo v1"); err != nil {
		return err
	}
	d.say("power on: %s", owner)
	if err := d.cluster.StartNode(ctx, owner); err != nil {
		return err
	}
	if _, err := d.kubectl(ctx, "get", "nodes"); err != nil {
		return err
	}
	return d.settle(ctx)
}

// silence asks on new connections until the first answer.
func (d *demo) silence(ctx context.Context, began time.Time) (time.Duration, error) {
	var last error
	for time.Since(began) < failoverLimit && ctx.Err() == nil {
		client := d.httpClient(300 * time.Millisecond)
		status, err := d.statusAt(ctx, client, d.product.Address, "plain.apps.example.com")
		client.CloseIdleConnections()
		if err == nil && status == http.StatusOK {
			return time.Since(began), nil
		}
		last = err
		if err == nil {
			last = fmt.Errorf("status %d", status)
		}
	}
	return 0, fmt.Errorf("%s is silent for %v: %w", d.product.Address, failoverLimit, last)
}

// settle waits until both routers answer again, not only in the books of Kubernetes, which believes a dead node for a while.
func (d *demo) settle(ctx context.Context) error {
	return wait.Poll{Limit: 90 * time.Second, Every: wait.Slowly}.Until(ctx, "both routers are ready", func() error {
		pods, err := d.routerPods(ctx)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if _, err := d.cluster.Exec(ctx, "client", "curl", "-sSf", "-m", "1", "http://"+pod+":1936/healthz/ready"); err != nil {
				return err
			}
		}
		if len(pods) < 2 {
			return errors.New("only one router is ready")
		}
		return nil
	})
}
