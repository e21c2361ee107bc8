package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/install"
	"github.com/fairlead/fairlead/test/tools/toolset"
	"github.com/fairlead/fairlead/test/wait"
)

// className is the GatewayClass that the suite's Gateways get.
const className = "fairlead"

// bed is a cluster with the product.
type bed struct {
	install.Product

	kept bool
}

// openBed returns a cluster that was kept, or starts one and installs everything.
func openBed(ctx context.Context, b *toolset.Builder, root string, o options, p parts) (*bed, error) {
	if o.keep {
		if c, err := cluster.Open(o.name); err == nil {
			b.Progress("use cluster %s, which was kept", o.name)
			return newBed(c, root, b.Dir(), true), nil
		}
	}
	images, err := toolset.Images()
	if err != nil {
		return nil, err
	}
	c, err := cluster.Up(ctx, cluster.Options{Name: o.name, Images: append(images, p.images...), Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	bed := newBed(c, root, b.Dir(), o.keep)
	b.Progress("install Fairlead and the CRDs of the Gateway API")
	crds := []string{"-k", filepath.Join(root, "config/gateway")}
	if p.crds != "" {
		crds = []string{"-k", p.crds}
		if _, err := os.Stat(filepath.Join(p.crds, "kustomization.yaml")); err != nil {
			crds[0] = "-f" // the standard channel has none of its own
		}
	}
	if err := bed.prepare(ctx, crds); err != nil {
		logs := c.SaveLogs()
		if !o.keep {
			_ = c.Down(context.WithoutCancel(ctx)) // what went wrong before says more
		}
		return nil, fmt.Errorf("install (logs in %s): %w", logs, err)
	}
	return bed, nil
}

func newBed(c *cluster.Cluster, root, scratch string, kept bool) *bed {
	return &bed{Product: install.Product{Cluster: c, Root: root, Kubectl: c.Kubectl, Scratch: scratch}, kept: kept}
}

// firstGateway makes HAProxy listen for Gateways, which takes its only reload.
const firstGateway = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata:
  name: ` + className + `
spec:
  controllerName: fairlead.dev/gateway-controller
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: first
  namespace: default
spec:
  gatewayClassName: ` + className + `
  listeners:
  - {name: http, port: 80, protocol: HTTP}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: metrics-reader, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: metrics-reader-router-monitoring}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: router-monitoring}
subjects:
- {kind: ServiceAccount, name: metrics-reader, namespace: default}
`

// prepare installs everything, the CRDs of the Gateway API by these arguments.
func (b *bed) prepare(ctx context.Context, crds []string) error {
	if err := b.Install(ctx); err != nil {
		return err
	}
	if _, err := b.Kubectl(ctx, append([]string{"apply", "--server-side"}, crds...)...); err != nil {
		return err
	}
	file := filepath.Join(b.Scratch, "conformance-first.yaml")
	if err := os.WriteFile(file, []byte(firstGateway), 0o600); err != nil {
		return fmt.Errorf("write the first Gateway: %w", err)
	}
	if _, err := b.Kubectl(ctx, "apply", "-f", file); err != nil {
		return err
	}
	return wait.Poll{Limit: 2 * time.Minute, Every: wait.Slowly}.Until(ctx, "the first Gateway", func() error {
		out, err := b.Kubectl(ctx, "get", "gateway", "first", "-n", "default", "-o",
			`jsonpath={.status.conditions[?(@.type=="Programmed")].status} {.status.listeners[*].conditions[?(@.type=="Programmed")].status}`)
		if err != nil {
			return err
		}
		if out != "True True" {
			return fmt.Errorf("conditions Programmed of the Gateway and its listener: %q", out)
		}
		all, err := b.counts(ctx)
		if err != nil {
			return err
		}
		if all.reloads < all.routers {
			return fmt.Errorf("%d of %d routers listen for Gateways", all.reloads, all.routers)
		}
		return nil
	})
}

// usable returns an address of the pool that the suite may ask for, the last one, which no Gateway gets before all others
// are taken.
func (b *bed) usable() string {
	_, last, _ := strings.Cut(b.Cluster.AddressRange(), "-")
	return last
}
