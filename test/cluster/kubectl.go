package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// KubectlCommand returns a kubectl command that acts as the administrator, from the control plane's network.
func (c *Cluster) KubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	argv := append([]string{
		"--net=" + filepath.Join(netnsFolder, c.layout.netns(controlPlane)),
		c.program("kubectl"), "--kubeconfig", c.Kubeconfig(), "--cache-dir", filepath.Join(c.dir, "kubectl-cache"),
	}, args...)
	cmd := exec.CommandContext(ctx, "nsenter", argv...)
	cmd.Env = append(os.Environ(), lazyCollection()...)
	return cmd
}

// Kubectl runs kubectl and returns its standard output. The error holds its standard error.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) (string, error) {
	return output(c.KubectlCommand(ctx, args...), args)
}

// Apply runs kubectl apply for each path: -k for a folder with a kustomization, else -f.
func (c *Cluster) Apply(ctx context.Context, paths ...string) error {
	return applyEach(ctx, paths, c.Kubectl)
}

// RESTConfig returns a client configuration for the administrator that works in this process.
func (c *Cluster) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	config.Dial = c.Dial(controlPlane)
	return config, nil
}

func applyEach(ctx context.Context, paths []string, kubectl func(context.Context, ...string) (string, error)) error {
	for _, path := range paths {
		flag := "-f"
		if _, err := os.Stat(filepath.Join(path, "kustomization.yaml")); err == nil {
			flag = "-k"
		}
		if _, err := kubectl(ctx, "apply", "--server-side", "--force-conflicts", flag, path); err != nil {
			return err
		}
	}
	return nil
}
