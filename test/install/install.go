// Package install installs Fairlead on a test cluster as a user would, and
// finds out what a user would ask next: the router's address and who announces
// it. The demo and the tests on a cluster share it.
package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// sampleRange is the address range in config/samples/addresses.yaml; a second
// cluster on this machine has another one.
const sampleRange = "198.18.0.200-198.18.0.250"

// Product is an installed Fairlead.
type Product struct {
	Cluster *cluster.Cluster
	// Root is the folder of the project.
	Root string
	// Kubectl runs a command on the cluster, perhaps showing it to someone.
	Kubectl func(ctx context.Context, args ...string) (string, error)
	// Scratch is a folder for files on the way.
	Scratch string
	// Address is where the router answers, known after Install.
	Address string
}

// Install applies the manifests and waits for what they start.
func (p *Product) Install(ctx context.Context) error {
	if _, err := p.Kubectl(ctx, "apply", "-k", filepath.Join(p.Root, "config/default")); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(p.Root, "config/samples/addresses.yaml"))
	if err != nil {
		return fmt.Errorf("read the addresses: %w", err)
	}
	addresses := filepath.Join(p.Scratch, "addresses.yaml")
	free := strings.ReplaceAll(string(text), sampleRange, p.Cluster.AddressRange())
	if err := os.WriteFile(addresses, []byte(free), 0o600); err != nil {
		return fmt.Errorf("write the addresses: %w", err)
	}
	if _, err := p.Kubectl(ctx, "apply", "-f", addresses); err != nil {
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
		if _, err := p.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return p.findAddress(ctx)
}

func (p *Product) findAddress(ctx context.Context) error {
	return wait.Poll{Limit: 30 * time.Second, Every: wait.Slowly}.Until(ctx, "the router's address", func() error {
		out, err := p.Cluster.Kubectl(ctx, "-n", "openshift-ingress", "get", "service", "router-default",
			"-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		if err == nil && out == "" {
			err = fmt.Errorf("the router's Service has no address")
		}
		p.Address = out
		return err
	})
}

// Samples applies the samples and waits until their pods are ready and their
// Routes admitted.
func (p *Product) Samples(ctx context.Context) error {
	steps := [][]string{
		{"apply", "-k", filepath.Join(p.Root, "config/samples")},
		{"-n", "demo", "rollout", "status", "deployment/demo-v1", "--timeout=120s"},
		{"-n", "demo", "rollout", "status", "deployment/demo-v2", "--timeout=120s"},
	}
	for _, args := range steps {
		if _, err := p.Kubectl(ctx, args...); err != nil {
			return err
		}
	}
	return wait.Poll{Limit: 60 * time.Second, Every: wait.Slowly}.Until(ctx, "the samples' Routes", func() error {
		out, err := p.Cluster.Kubectl(ctx, "-n", "demo", "get", "routes", "-o",
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
}

// Owner finds the node whose card answers for the router's address, by what
// the client's ARP table holds.
func (p *Product) Owner(ctx context.Context) (string, error) {
	dialing, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// This fills the table, also where no pod answers.
	if conn, err := p.Cluster.Dial("client")(dialing, "tcp", p.Address+":80"); err == nil {
		_ = conn.Close()
	}
	out, err := p.Cluster.Exec(ctx, "client", "ip", "neigh", "show", p.Address)
	if err != nil {
		return "", err
	}
	card := field(out, "lladdr")
	for _, node := range p.Cluster.Nodes() {
		link, err := p.Cluster.Exec(ctx, node, "ip", "-o", "link", "show", "eth0")
		if err != nil {
			continue // off
		}
		if card != "" && field(link, "link/ether") == card {
			return node, nil
		}
	}
	return "", fmt.Errorf("%s belongs to no running node: %s", p.Address, strings.TrimSpace(out))
}

// field returns the word after the key.
func field(text, key string) string {
	words := strings.Fields(text)
	for i, word := range words[:max(0, len(words)-1)] {
		if word == key {
			return words[i+1]
		}
	}
	return ""
}
