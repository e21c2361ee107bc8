// Command try is `make try`: it compiles fairlead, fetches HAProxy and serves the
// manifests of this folder, without root and without Kubernetes.
//
//	go run ./test/try              until Ctrl-C
//	go run ./test/try -f FOLDER    your own manifests
//	go run ./test/try -check       checks it and exits with 0 or 1 (test/try/check)
//
// It imports little, because it is compiled before it can say anything.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	check := flag.Bool("check", false, "ask each URL, change a manifest, and exit with 0 or 1")
	folder := flag.String("f", "", "folder of manifests; default is test/try with four pods in the process")
	flag.Parse()
	err := run(ctx, *folder, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "try:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, folder string, check bool) error {
	root, err := toolset.Root()
	if err != nil {
		return err
	}
	p := newProgress(os.Stderr, time.Now())
	p.say("Fairlead standalone. No root, no Kubernetes; everything stays in .tools and ends with Ctrl-C.")
	program, haproxy, err := prepare(ctx, root, p)
	if err != nil {
		return err
	}
	if check {
		return runCheck(ctx, root, program, haproxy)
	}
	args := []string{program, "serve", "-f", filepath.Join("test", "try"), "--demo"}
	if folder != "" {
		args = []string{program, "serve", "-f", folder}
	}
	dir, err := toolset.Dir()
	if err != nil {
		return err
	}
	args = append(args, "--haproxy", haproxy, "--work-dir", filepath.Join(dir, "try"))
	// The program takes this process' place, so that Ctrl-C reaches it first.
	if err := os.Chdir(root); err != nil {
		return err
	}
	return syscall.Exec(program, args, os.Environ())
}

// runCheck is a program of its own, which needs what is compiled by then.
func runCheck(ctx context.Context, root, program, haproxy string) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./test/try/check", "-program", program, "-haproxy", haproxy)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = root, os.Stdout, os.Stderr, buildEnvironment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the check failed: %w", err)
	}
	return nil
}
