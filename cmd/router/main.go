// Command router serves Routes with HAProxy.
//
//	router --kubeconfig FILE --name default --domain apps.example.com --haproxy PATH --work-dir DIR
//	router haproxy --haproxy PATH --work-dir DIR
//	router logs --socket PATH
//	router agent --socket-dir DIR --snapshot FILE
//
// The second form only keeps HAProxy running; in a pod it is a container of its
// own, so that the end of either process leaves the other. The third prints the
// access log. The fourth decides about requests what HAProxy cannot decide alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/cmd/internal/respawn"
)

func main() {
	log := slog.New(logging.Scan(os.Args[1:]).Handler(os.Stderr)) // the flags are parsed later, with those of the subcommand
	slog.SetDefault(log)
	if respawn.Needed() {
		os.Exit(respawn.Run(log, "router"))
	}
	// The first signal drains, the second ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	args := os.Args[1:]
	run := runRouter
	switch {
	case len(args) > 0 && args[0] == "haproxy":
		args, run = args[1:], runHAProxy
	case len(args) > 0 && args[0] == "agent":
		args, run = args[1:], runAgent
	case len(args) > 0 && args[0] == "logs":
		args, run = args[1:], runLogs
	}
	if err := takeBind(); err != nil {
		log.Error("ports below 1024 cannot be served", "err", err)
	}
	err := run(ctx, args, log)
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		// Plain text, whatever the log's format: the last line becomes the message of
		// the terminated container, and so of the IngressController's conditions,
		// which a time in it would change at every attempt.
		fmt.Fprintln(os.Stderr, "router:", err)
		os.Exit(1)
	}
}
