package main

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"
)

// TestStages holds that each package is tested once, the longest first, and what measures alone.
func TestStages(t *testing.T) {
	packages := []string{"api", "router/kube", "test/api", "test/bench", "test/cases", "test/e2e", "test/e2e/lb", "test/wait"}
	got := stages(packages, 1)
	want := [][]string{{"test/cases", "test/api", "router/kube", "api", "test/wait"}, {"test/bench", "test/e2e", "test/e2e/lb"}}
	if len(got) != 2 || !slices.Equal(got[0].packages, want[0]) || !slices.Equal(got[1].packages, want[1]) {
		t.Errorf("%v, want %v", got, want)
	}
	if got[0].atATime != 2 || got[1].atATime != 1 || got[0].fresh || !got[1].fresh {
		t.Errorf("%+v", got)
	}
}

// TestStagesAreThere holds that the lists name packages that exist: one that was renamed would run beside others.
func TestStagesAreThere(t *testing.T) {
	for _, pkg := range slices.Concat(first, alone) {
		if files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go")); err != nil || len(files) == 0 {
			t.Errorf("no package %s: %v", pkg, err)
		}
	}
}

// TestFlags: the flags are there once, those of imported packages included.
func TestFlags(t *testing.T) {
	t.Parallel()
	register(flag.CommandLine)
	for _, name := range []string{"short", "once", "full"} {
		if flag.Lookup(name) == nil {
			t.Errorf("there is no flag -%s", name)
		}
	}
}
