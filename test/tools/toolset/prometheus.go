package toolset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// prometheusRecipe changes when the way of unpacking changes, so that old results are not used again.
const prometheusRecipe = "1"

// prometheusSources are the Debian suites that have Prometheus, and in which packages. Those
// depend on what Prometheus's pages show; the programs need the C library only.
func prometheusSources() map[string][]string {
	return map[string][]string{
		"trixie":   {"prometheus", "promtool", "libc6"},
		"bookworm": {"prometheus", "libc6"},
	}
}

// Prometheus puts prometheus and promtool into the tools folder, from Debian's packages; the machine's own packages
// stay as they are. Tests of metrics, alerts and dashboards use them.
func (b *Builder) Prometheus(ctx context.Context) error {
	return b.ensure(ctx, artefact{
		name: "prometheus",
		// The patched programs hold the folder's absolute path.
		key:     strings.Join([]string{"recipe", prometheusRecipe, "at", b.dir}, " "),
		outputs: []string{"bin/prometheus", "bin/promtool"},
		make:    b.unpackPrometheus,
	})
}

func (b *Builder) unpackPrometheus(ctx context.Context) error {
	if err := b.Packages(ctx, hostPackages("haproxy")); err != nil {
		return err
	}
	var problems []error
	for _, suite := range []string{"trixie", "bookworm"} {
		apt := privateAPT{builder: b, home: filepath.Join(b.dir, "apt", "prometheus-"+suite), suites: []string{suite}}
		err := apt.update(ctx)
		if err == nil {
			err = b.unpackPrometheusFrom(ctx, apt, prometheusSources()[suite])
		}
		if err == nil {
			return nil
		}
		problems = append(problems, err)
	}
	return fmt.Errorf("no Debian suite gave Prometheus: %w", errors.Join(problems...))
}

func (b *Builder) unpackPrometheusFrom(ctx context.Context, apt privateAPT, names []string) error {
	packages, err := apt.fetch(ctx, names...)
	if err != nil {
		return err
	}
	root := filepath.Join(b.dir, "prometheus", "root")
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("clear %s: %w", root, err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", root, err)
	}
	for _, file := range packages {
		if _, err := b.run(ctx, command{args: []string{"dpkg", "-x", file, root}}); err != nil {
			return err
		}
	}
	if err := trimRoot(root); err != nil {
		return err
	}
	for _, name := range []string{"prometheus", "promtool"} {
		version, err := b.patchProgram(ctx, root, "usr/bin/"+name, name, "--version")
		if err != nil {
			return err
		}
		b.Progress("  %s", version)
	}
	return nil
}
