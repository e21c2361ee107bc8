package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/fairlead/fairlead/test/cluster"
	"github.com/fairlead/fairlead/test/wait"
)

// TestKindFiles: install-kind.yaml is install-compat.yaml with an IngressController at its end, for the node that the cluster's file
// labels and whose ports it opens to this machine only.
func TestKindFiles(t *testing.T) {
	t.Parallel()
	_, texts := files(t, settings{version: "v1.2.3", registry: "r.test/f"})
	got := names(t, texts["install-kind.yaml"])
	const last = "IngressController openshift-ingress-operator/default"
	if got[len(got)-1] != last || !slices.Equal(got[:len(got)-1], names(t, texts["install-compat.yaml"])) {
		t.Errorf("install-kind.yaml has %q", got)
	}
	for _, want := range []string{"pod-security.kubernetes.io/enforce: privileged", `fairlead.dev/create-default: "false"`, "value: apps.localhost", "image: r.test/f/operator:v1.2.3", "value: r.test/f/router:v1.2.3"} {
		if !strings.Contains(texts["install-kind.yaml"], want) {
			t.Errorf("install-kind.yaml lacks %q", want)
		}
	}
	var made struct {
		Nodes []struct {
			Labels            map[string]string
			ExtraPortMappings []struct {
				ContainerPort, HostPort int
				ListenAddress           string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(texts["kind-cluster.yaml"]), &made); err != nil {
		t.Fatal(err)
	}
	if len(made.Nodes) != 1 || made.Nodes[0].Labels["ingress-ready"] != "true" || len(made.Nodes[0].ExtraPortMappings) != 2 {
		t.Fatalf("the cluster is %+v", made)
	}
	for _, m := range made.Nodes[0].ExtraPortMappings {
		if m.ContainerPort != m.HostPort || m.ListenAddress != "127.0.0.1" {
			t.Errorf("the port %+v is open to others, or another one", m)
		}
	}
}

// TestKindApplied runs the commands of docs/install.md on a real API server, twice.
func TestKindApplied(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := t.TempDir()
	server, err := cluster.StartAPIServer(ctx, dir)
	if err != nil {
		t.Skip(err)
	}
	defer server.Stop() //nolint:errcheck // its files go with dir
	folder, _ := files(t, settings{version: "v1.2.3", registry: "r.test/f"})
	documented(ctx, t, server, folder, "### On kind")
	const chosen = "jsonpath={.spec.endpointPublishingStrategy.type} {.spec.replicas}"
	if out, err := server.Kubectl(ctx, "get", "ingresscontroller", "default", "-n", "openshift-ingress-operator", "-o", chosen); err != nil || out != "HostNetwork 1" {
		t.Errorf("the IngressController is %q: %v", out, err)
	}
	wait.Poll{Limit: time.Minute, Every: time.Second}.For(t, "the second installation", func() error {
		_, err := server.Kubectl(ctx, "apply", "--server-side", "-f", filepath.Join(folder, "install-kind.yaml"))
		return err
	})
}
