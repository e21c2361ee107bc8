// Command check is `make try CHECK=1`: it starts `fairlead serve` on a copy of the manifests,
// asks each URL that it prints, changes manifests, and exits with 0 or 1.
//
//	go run ./test/try/check -program .tools/bin/fairlead -haproxy .tools/bin/haproxy
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/fairlead/fairlead/test/tools/toolset"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	program := flag.String("program", "", "fairlead's program")
	haproxy := flag.String("haproxy", "", "HAProxy's program")
	flag.Parse()
	ok := run(ctx, *program, *haproxy)
	stop()
	if !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, program, haproxy string) bool {
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "[%5.1fs] %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	root, err := toolset.Root()
	if err != nil {
		say("FAIL  %v", err)
		return false
	}
	work, err := os.MkdirTemp("", "try")
	if err != nil {
		say("FAIL  %v", err)
		return false
	}
	defer os.RemoveAll(work)
	t := &trial{program: program, haproxy: haproxy, manifests: filepath.Join(root, "test", "try"), work: work, say: say}
	defer t.kill()
	for _, c := range t.checks() {
		if err := c.run(ctx); err != nil {
			say("FAIL  %s: %v\n%s", c.name, err, t.logged())
			return false
		}
	}
	say("all good")
	return true
}
