package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestAgentFlags: a worker runs only under a name that HAProxy asks; test/agent runs
// workers and supervisor.
func TestAgentFlags(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	if err := runAgent(t.Context(), []string{"worker", "--name", "c"}, log); err == nil || !strings.Contains(err.Error(), "a or b") {
		t.Errorf("a worker of another name: %v", err)
	}
	if err := runAgent(t.Context(), []string{"--no-such-flag"}, log); !errors.Is(err, errUsage) {
		t.Errorf("an unknown flag: %v", err)
	}
	if err := runAgent(t.Context(), []string{"--help"}, log); err != nil {
		t.Errorf("help: %v", err)
	}
}
