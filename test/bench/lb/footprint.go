package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/fairlead/fairlead/test/bench/lb/memory/usage"
)

// footprint is what a speaker takes: after its first start, after one that finds
// all its status objects, and after a burst of changes.
type footprint struct {
	Start   usage.Usage `json:"start"`
	Restart usage.Usage `json:"restart"`
	Burst   usage.Usage `json:"burst"`
}

// memoryLimit is 50 MB.
const memoryLimit = 50_000_000

func (f *footprint) met() bool {
	return f.Start.WorkingSet <= memoryLimit && f.Restart.WorkingSet <= memoryLimit && f.Burst.WorkingSet <= memoryLimit
}

// String returns the figures as the table shows them.
func (f *footprint) String() string {
	return fmt.Sprintf("%s; after a restart %s; after a burst %s", f.Start, f.Restart, f.Burst)
}

// memory runs the program that measures a speaker in namespaces of its own.
func (b *bench) memory(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "run", "./test/bench/lb/memory", "-json")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("measure a speaker: %w", err)
	}
	var found footprint
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("read %q: %w", out, err)
	}
	b.results.Memory = &found
	return nil
}
