package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"github.com/fairlead/fairlead/cmd/internal/logging"
	"github.com/fairlead/fairlead/cmd/internal/respawn"
	"github.com/fairlead/fairlead/router/agent/process"
)

// Memory that the Go runtime of each process of the agent keeps to, so that the three
// fit into a container of 256 MiB.
const (
	workerMemory     = 96 << 20
	supervisorMemory = 40 << 20
	// beatsFile is the descriptor on which a worker reports.
	beatsFile = 3
)

// runAgent runs the policy agent: the supervisor, or one of its workers.
func runAgent(ctx context.Context, args []string, log *slog.Logger) error {
	worker := len(args) > 0 && args[0] == "worker"
	if worker {
		args = args[1:]
	}
	fs := flag.NewFlagSet("router agent", flag.ContinueOnError)
	dir := fs.String("socket-dir", "/run/fairlead-agent", "`directory` for the agent's sockets, which HAProxy and the router reach")
	file := fs.String("snapshot", "/run/fairlead-agent-state/snapshot", "`file` for the policies, which holds secrets: use a volume in memory that no other container has")
	name := fs.String("name", "", "name of a worker: a or b")
	drain := fs.Duration("drain-timeout", time.Hour, "how long the agent serves after a stop signal while HAProxy is connected")
	var own logging.Options // what main has scanned already
	own.Register(fs)
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return errUsage
	}
	if worker {
		return runWorker(ctx, &process.Worker{Name: *name, Dir: *dir, Snapshot: *file, Orders: os.Stdin, Log: log})
	}
	debug.SetMemoryLimit(supervisorMemory)
	s := &process.Supervisor{
		Dir: *dir, Snapshot: *file, Log: log, Drain: *drain,
		Command: func(name string) *exec.Cmd {
			w := &process.Worker{Name: name, Dir: *dir, Snapshot: *file}
			c := exec.Command("/proc/self/exe", append([]string{"agent", "worker"}, append(w.Arguments(), own.Args()...)...)...)
			c.Env = append(os.Environ(), respawn.ChildMark)
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			return c
		},
	}
	return s.Run(ctx)
}

// runWorker runs a worker. A stop signal to the group of processes is the supervisor's:
// it tells the workers when to end.
func runWorker(ctx context.Context, w *process.Worker) error {
	if !w.Valid() {
		return fmt.Errorf("a worker needs --name: a or b")
	}
	beats := os.NewFile(beatsFile, "beats")
	if _, err := beats.Stat(); err != nil {
		return errors.New("a worker is started by `router agent`, which reads its reports")
	}
	debug.SetMemoryLimit(workerMemory)
	w.Beats = beats
	return w.Run(context.WithoutCancel(ctx))
}
