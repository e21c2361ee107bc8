package main

import (
	"flag"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestStages holds that each package is tested once, the longest first, clusters beside each other, and what measures alone.
func TestStages(t *testing.T) {
	packages := []string{"api", "router/kube", "test/api", "test/bench", "test/cases", "test/demo", "test/e2e", "test/e2e/lb", "test/wait"}
	want := []stage{
		{lanes: []lane{{[]string{"test/cases", "test/api", "router/kube", "api", "test/wait"}, 2}}},
		{lanes: []lane{{[]string{"test/e2e/lb", "test/demo"}, 1}, {[]string{"test/e2e"}, 1}}, fresh: true},
		{lanes: []lane{{[]string{"test/bench"}, 1}}, fresh: true},
	}
	if got := stages(packages, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStagesAreThere holds that the lists name packages that exist: one that was renamed would run beside others.
func TestStagesAreThere(t *testing.T) {
	for _, pkg := range slices.Concat(append(clusters, first, alone)...) {
		if files, err := filepath.Glob(filepath.Join("..", "..", pkg, "*.go")); err != nil || len(files) == 0 {
			t.Errorf("no package %s: %v", pkg, err)
		}
	}
}

// TestFlags: the flags are there once, those of imported packages included.
func TestFlags(t *testing.T) {
	t.Parallel()
	if flag.Lookup("once") == nil { // with -count, only once
		register(flag.CommandLine)
	}
	for _, name := range []string{"short", "once", "measure", "full"} {
		if flag.Lookup(name) == nil {
			t.Errorf("there is no flag -%s", name)
		}
	}
}
