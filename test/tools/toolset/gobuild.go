package toolset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const kubernetesVersion = "v1.36.3"

// program is a Go command built in its own tools module, so that its dependencies never meet the product's.
type program struct {
	name    string
	pkg     string
	module  string // folder under test/tools
	ldflags string
}

// kubernetesPrograms stand in the order in which they become useful: API-only tests need the first three.
func kubernetesPrograms() []program {
	version := strings.TrimPrefix(kubernetesVersion, "v")
	parts := strings.Split(version, ".")
	set := func(name, value string) string {
		return " -X k8s.io/component-base/version." + name + "=" + value
	}
	flags := "-s -w" + set("gitVersion", kubernetesVersion) + set("gitMajor", parts[0]) + set("gitMinor", parts[1]) + set("gitTreeState", "clean")
	programs := []program{{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", module: "etcd", ldflags: "-s -w"}}
	for _, name := range []string{"kube-apiserver", "kubectl", "kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy"} {
		programs = append(programs, program{name: name, pkg: "k8s.io/kubernetes/cmd/" + name, module: "kubernetes", ldflags: flags})
	}
	return programs
}

// Kubernetes builds etcd and the Kubernetes programs: about eight minutes on two cores the first time.
func (b *Builder) Kubernetes(ctx context.Context) error { return b.build(ctx, kubernetesPrograms()) }

// APIServer builds only what API tests need: etcd, kube-apiserver and kubectl.
func (b *Builder) APIServer(ctx context.Context) error { return b.build(ctx, kubernetesPrograms()[:3]) }

// Helm builds both versions of Helm, which test the chart: about six minutes on two cores the first time.
func (b *Builder) Helm(ctx context.Context) error {
	return b.build(ctx, []program{
		{name: "helm", module: "helm", ldflags: "-s -w", pkg: "helm.sh/helm/v3/cmd/helm"},
		{name: "helm4", module: "helm4", ldflags: "-s -w", pkg: "helm.sh/helm/v4/cmd/helm"},
	})
}

// OpenID builds the providers that logins are tested with.
func (b *Builder) OpenID(ctx context.Context) error {
	var programs []program
	for _, name := range []string{"openid", "fosite"} {
		programs = append(programs, program{name: name, module: name, ldflags: "-s -w", pkg: "github.com/fairlead/fairlead/test/tools/" + name})
	}
	return b.build(ctx, programs)
}

// Linter builds golangci-lint.
func (b *Builder) Linter(ctx context.Context) error {
	return b.build(ctx, []program{{
		name: "golangci-lint", module: "lint", ldflags: "-s -w",
		pkg: "github.com/golangci/golangci-lint/v2/cmd/golangci-lint",
	}})
}

func (b *Builder) build(ctx context.Context, programs []program) error {
	for _, p := range programs {
		key, err := b.buildKey(p)
		if err != nil {
			return err
		}
		err = b.ensure(ctx, artefact{
			name: p.name, key: key, outputs: []string{"bin/" + p.name},
			make: func(ctx context.Context) error { return b.goBuild(ctx, p) },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// buildKey covers the module's pinned versions; the Go build cache makes a needless rebuild cheap.
func (b *Builder) buildKey(p program) (string, error) {
	gomod, err := os.ReadFile(filepath.Join(b.root, "test/tools", p.module, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read the module of %s: %w", p.name, err)
	}
	parts := []string{runtime.GOARCH, p.pkg, p.ldflags, string(gomod)}
	own, err := os.ReadFile(filepath.Join(b.root, "test/tools", p.module, "main.go"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the program %s: %w", p.name, err)
	}
	if err == nil { // one of ours, not of the module that is pinned
		parts = append(parts, string(own))
	}
	return strings.Join(parts, "\n"), nil
}

// CompilerEnv lets the Go compiler and linker collect garbage less often: of a
// build from nothing that saves a sixth of the processor time. The limit is that
// of one process, and soft.
func CompilerEnv() []string { return []string{"GOGC=400", "GOMEMLIMIT=2GiB"} }

func (b *Builder) goBuild(ctx context.Context, p program) error {
	target := filepath.Join(b.dir, "bin", p.name)
	fresh := target + ".new"
	// Nice: this is minutes of all cores on the user's machine.
	_, err := b.run(ctx, command{
		dir:  filepath.Join(b.root, "test/tools", p.module),
		env:  append(CompilerEnv(), "CGO_ENABLED=0", "GOWORK=off"),
		args: []string{"nice", "-n", "10", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", p.ldflags, "-o", fresh, p.pkg},
	})
	if err != nil {
		return err
	}
	if err := os.Rename(fresh, target); err != nil {
		return fmt.Errorf("install %s: %w", p.name, err)
	}
	return nil
}
