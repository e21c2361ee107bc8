package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/fairlead/fairlead/test/wait"
)

// Agent is a running policy agent: a supervisor and two workers.
type Agent struct {
	// Dir has its sockets, for the router's flag --agent-dir.
	Dir string

	cmd *exec.Cmd
}

// StartAgent starts a policy agent and waits for its workers.
func (r *Rig) StartAgent(ctx context.Context) (*Agent, error) {
	a := &Agent{Dir: filepath.Join(r.work(), "agent")}
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("start the policy agent: %w", err)
	}
	a.cmd = exec.Command(os.Getenv(routerVariable), "agent", "--socket-dir", a.Dir, "--snapshot", filepath.Join(r.work(), "snapshot"), "--drain-timeout", "1s")
	log, err := os.Create(filepath.Join(r.Dir, "agent.log"))
	if err != nil {
		return nil, fmt.Errorf("start the policy agent: %w", err)
	}
	defer log.Close()
	a.cmd.Stdout, a.cmd.Stderr = log, log
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the policy agent: %w", err)
	}
	return a, wait.Poll{Limit: 30 * time.Second}.Until(ctx, "the sockets of the policy agent", func() error {
		sockets, err := filepath.Glob(filepath.Join(a.Dir, "decide-*.sock"))
		if err == nil {
			err = wait.True(len(sockets) == 2)
		}
		return err
	})
}

// Memory is what the agent's three processes hold, in bytes.
func (a *Agent) Memory() (total int64) {
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0
	}
	for _, file := range dirs {
		line, err := os.ReadFile(filepath.Clean(file))
		if err != nil || !strings.Contains(string(line), a.Dir) || !strings.Contains(string(line), "\x00agent\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil {
			total += UsageOf(pid).Memory
		}
	}
	return total
}

// Stop ends the agent.
func (a *Agent) Stop() {
	_ = a.cmd.Process.Kill() // whose workers end with it
	_ = a.cmd.Wait()
}
