package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sampleRange is the address range in config/samples/addresses.yaml; a second cluster on this machine has another one.
const sampleRange = "198.18.0.200-198.18.0.250"

// install applies the manifests and waits for what they start.
func (d *demo) install(ctx context.Context) error {
	if _, err := d.kubectl(ctx, "apply", "-k", "config/default"); err != nil {
		return err
	}
	text, err := os.ReadFile("config/samples/addresses.yaml")
	if err != nil {
		return fmt.Errorf("read the addresses: %w", err)
	}
	addresses := filepath.Join(d.scratch, "addresses.yaml")
	free := strings.ReplaceAll(string(text), sampleRange, d.cluster.AddressRange())
	if err := os.WriteFile(addresses, []byte(free), 0o644); err != nil {
		return fmt.Errorf("write the addresses: %w", err)
	}
	d.say("addresses for Services of type LoadBalancer, free ones of this network: %s", d.cluster.AddressRange())
	if _, err := d.kubectl(ctx, "apply", "-f", addresses); err != nil {
		return err
	}
	waits := [][]string{
		{"-n", "openshift-ingress-operator", "rollout", "status", "deployment/ingress-operator", "--timeout=120s"},
		{"-n", "metallb-system", "rollout", "status", "daemonset/speaker", "--timeout=120s"},
		{"-n", "openshift-ingress-operator", "wait", "--for=create", "ingresscontroller/default", "--timeout=60s"},
		{"-n", "openshift-ingress-operator", "wait", "--for=condition=Available", "ingresscontroller/default", "--timeout=120s"},
		{"-n", "openshift-ingress", "rollout", "status", "deployment/router-default", "--timeout=120s"},
	}
	for _, args := range waits {
		if _, err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	if _, err := d.kubectl(ctx, "-n", "openshift-ingress-operator", "get", "ingresscontroller"); err != nil {
		return err
	}
	return d.findAddress(ctx)
}

func (d *demo) findAddress(ctx context.Context) error {
	return until(ctx, 30*time.Second, func() error {
		out, err := d.cluster.Kubectl(ctx, "-n", "openshift-ingress", "get", "service", "router-default",
			"-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err == nil && out == "" {
			err = fmt.Errorf("the router's Service has no address")
		}
		d.address = out
		return err
	})
}

// samples applies the samples and waits until their pods are ready and their Routes admitted.
func (d *demo) samples(ctx context.Context) error {
	steps := [][]string{
		{"apply", "-k", "config/samples"},
		{"-n", "demo", "rollout", "status", "deployment/demo-v1", "--timeout=120s"},
		{"-n", "demo", "rollout", "status", "deployment/demo-v2", "--timeout=120s"},
	}
	for _, args := range steps {
		if _, err := d.kubectl(ctx, args...); err != nil {
			return err
		}
	}
	err := until(ctx, 60*time.Second, func() error {
		out, err := d.cluster.Kubectl(ctx, "-n", "demo", "get", "routes", "-o",
			`jsonpath={range .items[*]}{.metadata.name} {.status.ingress[0].conditions[?(@.type=="Admitted")].status}{"\n"}{end}`)
		if err != nil {
			return err
		}
		routes, admitted := strings.Count(out, "\n"), strings.Count(out, " True\n")
		if routes < 7 || admitted < routes {
			return fmt.Errorf("%d of 7 routes are admitted", admitted)
		}
		return nil
	})
	if _, showErr := d.kubectl(ctx, "-n", "demo", "get", "pods,routes,ingress", "-o", "wide"); err == nil {
		err = showErr
	}
	return err
}

// until calls try every 200 ms until it succeeds, and returns its last error when the limit has passed.
func until(ctx context.Context, limit time.Duration, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %v: %w", limit, err)
		case <-ticker.C:
		}
	}
}
