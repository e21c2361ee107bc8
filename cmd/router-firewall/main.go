// Command router-firewall judges the requests of routers by the OWASP core rule set.
//
//	router-firewall --socket-dir DIR
//
// It is a program of its own, because the rules and their engine are as large as the
// rest of the router. As the first process of a container it runs the firewall as a
// child, and starts it again within a tenth of a second when it ends or does not answer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/cmd/internal/respawn"
	"github.com/fairlead/fairlead/router/firewall"
)

// memoryLimit is what Go's runtime keeps to, within a container of 160 MiB.
const memoryLimit = 96 << 20

func main() {
	log := slog.New(logging.Scan(os.Args[1:]).Handler(os.Stderr))
	slog.SetDefault(log)
	if respawn.Needed() {
		os.Exit(respawn.Run(log, "firewall"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1:], log)
	stop()
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "router-firewall:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage")

func run(ctx context.Context, args []string, log *slog.Logger) error {
	fs := flag.NewFlagSet("router-firewall", flag.ContinueOnError)
	dir := fs.String("socket-dir", "/var/run/fairlead-firewall", "`directory` for the firewall's sockets, which HAProxy and the router reach")
	var own logging.Options // what main has scanned already
	own.Register(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil || fs.NArg() > 0:
		return errUsage
	}
	debug.SetMemoryLimit(memoryLimit)
	if err := firewall.Serve(ctx, *dir, log); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
