// Command publish pushes the images that test/image built to a registry, and writes
// a kustomization of config/default that names them by digest:
//
//	go run ./test/image/publish registry.example.com/fairlead
//	kubectl apply -k .tools/release
//	kubectl apply -k .tools/release/console   # for users of the cluster, if wanted
//
// It logs in with what "docker login" or "podman login" left.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "publish:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	b, err := toolset.New(os.Stderr)
	if err != nil {
		return err
	}
	f := flag.NewFlagSet("publish", flag.ContinueOnError)
	to := f.String("to", filepath.Join(b.Dir(), "release"), "`folder` for kustomization.yaml")
	manifests := f.String("manifests", "config/default", "`folder` of the manifests")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return fmt.Errorf("give one registry with a path, such as registry.example.com/fairlead")
	}
	r := release{registry: f.Arg(0), images: filepath.Join(b.Dir(), "images"), manifests: *manifests, to: *to}
	return r.publish(ctx)
}
