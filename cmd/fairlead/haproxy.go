package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/fairlead/fairlead/router/haproxy"
	"github.com/fairlead/fairlead/router/plan"
)

// haproxyVariable names HAProxy's program.
const haproxyVariable = "FAIRLEAD_HAPROXY"

// findHAProxy returns HAProxy's program and what it can do.
func findHAProxy(ctx context.Context, given string) (binary string, caps plan.Capabilities, version string, err error) {
	if given != "auto" {
		caps, version, err = haproxy.Detect(ctx, given)
		return given, caps, version, err
	}
	var problems []error
	for _, candidate := range candidates() {
		caps, version, err := haproxy.Detect(ctx, candidate)
		if err == nil {
			return candidate, caps, version, nil
		}
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return "", caps, "", errors.New("no HAProxy found beside this program, in .tools/bin and in PATH; install HAProxy 3.4 (`make try` fetches it into .tools), or give its path with --haproxy")
	}
	return "", caps, "", fmt.Errorf("no usable HAProxy found: %w", errors.Join(problems...))
}

// candidates are the programs that there are, in the order in which they are tried.
func candidates() []string {
	if named := os.Getenv(haproxyVariable); named != "" {
		return []string{named}
	}
	var found []string
	look := func(path string) {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			found = append(found, path)
		}
	}
	if own, err := os.Executable(); err == nil {
		look(filepath.Join(filepath.Dir(own), "haproxy"))
	}
	if here, err := os.Getwd(); err == nil {
		look(filepath.Join(here, ".tools", "bin", "haproxy"))
	}
	if path, err := exec.LookPath("haproxy"); err == nil {
		found = append(found, path)
	}
	return found
}
