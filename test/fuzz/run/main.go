// Command run runs the project's fuzz targets one after another, each for a while, and prints a line for each. A failure is shown
// whole; the input that caused it is written to testdata/fuzz beside the target, where every later test runs it as well.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const module = "github.com/fairlead/fairlead"

var (
	declared = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	progress = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+)`)
)

// target is one fuzz target.
type target struct{ pkg, name string }

func main() {
	each := flag.Duration("time", 10*time.Minute, "how long each target runs")
	only := flag.String("only", "", "a regular expression that PACKAGE/TARGET must match")
	list := flag.Bool("list", false, "print the targets, and run none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *each, *only, *list)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, each time.Duration, only string, list bool) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	all, err := targets(ctx)
	if err != nil {
		return err
	}
	failed := 0
	for _, t := range all {
		name := strings.TrimPrefix(t.pkg, module+"/") + "/" + t.name
		switch {
		case !chosen.MatchString(name):
			continue
		case list:
			fmt.Println(name)
			continue
		}
		if err := t.run(ctx, name, each); err != nil {
			failed++
		}
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d targets failed", failed)
	}
	return nil
}

// targets finds all fuzz targets of the module.
func targets(ctx context.Context) ([]target, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,ImportPath,TestGoFiles,XTestGoFiles", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	var all []target
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg struct {
			Dir, ImportPath           string
			TestGoFiles, XTestGoFiles []string
		}
		err := dec.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list packages: %w", err)
		}
		for _, file := range append(pkg.TestGoFiles, pkg.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(pkg.Dir, file))
			if err != nil {
				return nil, fmt.Errorf("look for targets: %w", err)
			}
			for _, m := range declared.FindAllSubmatch(text, -1) {
				all = append(all, target{pkg.ImportPath, string(m[1])})
			}
		}
	}
}

// run runs a target and prints how it went. Minimizing is bounded by a number
// of runs: after a time, the worker is killed, with all that it has started.
func (t target) run(ctx context.Context, name string, each time.Duration) error {
	out, err := exec.CommandContext(ctx, "go", "test", t.pkg, "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(),
		"-fuzzminimizetime", "100x", "-timeout", "0").CombinedOutput()
	execs, found := "0", "0"
	if m := progress.FindAllSubmatch(out, -1); len(m) > 0 {
		execs, found = string(m[len(m)-1][1]), string(m[len(m)-1][2])
	}
	switch {
	case err != nil:
		fmt.Printf("FAIL  %s after %s executions\n%s\n", name, execs, out)
	case execs == "0":
		fmt.Printf("NOT RUN  %s\n%s\n", name, out)
	default:
		fmt.Printf("ok    %s: %s executions, %s new paths\n", name, execs, found)
	}
	return err
}
