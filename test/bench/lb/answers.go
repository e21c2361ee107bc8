package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// answered is how many ARP requests per second were asked and answered, and what
// one answer allocates.
type answered struct {
	Asked       float64 `json:"asked"`
	Answered    float64 `json:"answered"`
	Allocations float64 `json:"allocations"`
}

// answers measures how many ARP requests a node answers per second, with the
// asker, the network between and the node on this machine, and what one answer
// allocates: the Go benchmarks of package l2, in network namespaces of their own.
func (b *bench) answers(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "React/ARP|ARPAnswers", "./lbprovider/l2")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("benchmark of package l2: %w: %s", err, out)
	}
	found := map[string]float64{} // by unit
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
				found[fields[i+1]] = value
			}
		}
	}
	for _, unit := range []string{"answers/s", "asked/s", "allocs/op"} {
		if _, ok := found[unit]; !ok {
			return fmt.Errorf("benchmark of package l2 tells no %s: %s", unit, out)
		}
	}
	b.results.Answers = &answered{Asked: found["asked/s"], Answered: found["answers/s"], Allocations: found["allocs/op"]}
	return nil
}
