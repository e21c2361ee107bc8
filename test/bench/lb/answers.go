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

// answers measures how many ARP requests a node answers per second, with the
// asker, the network between and the node on this machine, and what one answer
// allocates: the Go benchmarks of package l2, in network namespaces of their own.
func answers(ctx context.Context) (row, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "React/ARP|ARPAnswers", "./lbprovider/l2")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return row{}, fmt.Errorf("benchmark of package l2: %w: %s", err, out)
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
			return row{}, fmt.Errorf("benchmark of package l2 tells no %s: %s", unit, out)
		}
	}
	return row{
		"ARP requests answered per second, asker and node on the same CPUs",
		fmt.Sprintf("%.0f of %.0f asked, %.0f allocations each", found["answers/s"], found["asked/s"], found["allocs/op"]),
		"≥ 50,000, 0 allocations",
	}, nil
}
