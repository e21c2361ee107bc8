package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// healthy asks `kubectl fairlead status` on the client until it is content with what the acts before have left.
func (d *demo) healthy(ctx context.Context) error {
	program := filepath.Join(d.scratch, "kubectl-fairlead")
	if out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/kubectl-fairlead").CombinedOutput(); err != nil {
		return fmt.Errorf("build the plug-in: %w\n%s", err, out)
	}
	cmd, err := d.cluster.Command(ctx, "client", program, "status", "--wait=2m", "--kubeconfig", d.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Environ(), "LC_ALL=C.UTF-8")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	d.show("client$", "kubectl fairlead status --wait=2m", string(out))
	if err != nil {
		return errors.Join(err, errors.New(strings.TrimSpace(errs.String())))
	}
	if !strings.HasPrefix(string(out), "HEALTHY") {
		return errors.New("the answer does not begin with HEALTHY")
	}
	return nil
}
