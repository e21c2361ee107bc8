// Command runner runs the project's tests and reports them so that nothing hides: a line per package, the output of what
// failed, and at the end what was skipped, with its reason, and what failed once more.
//
// First come most packages, several at a time (see stages), then those that look at what clients of a cluster see, two clusters at a
// time, and at last those that put load on the machine.
//
// A few failed tests are run once more, each alone, and what passes then is reported as unstable: see
// docs/decisions/unstable-tests.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/fairlead/fairlead/test/full"
	"github.com/fairlead/fairlead/test/tools/toolset"
)

const module = "github.com/fairlead/fairlead"

func main() {
	o := register(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		os.Exit(1)
	}
}

// options are the command line, beside -full of package full, which has the long form of all tests run, and takes hours.
type options struct{ short, once, measure bool }

func register(flags *flag.FlagSet) *options {
	o := &options{}
	flags.BoolVar(&o.short, "short", false, "leave out tests that take long or need root")
	flags.BoolVar(&o.once, "once", false, "do not run failed tests again")
	flags.BoolVar(&o.measure, "measure", false, "report the processor time of each package; go remembers no results then")
	return o
}

func run(ctx context.Context, o *options) error {
	// A test that does not compile shows in the first minute, not after the tests before it.
	vet := exec.CommandContext(ctx, "go", "vet", "./...")
	vet.Stdout, vet.Stderr = os.Stdout, os.Stderr
	vet.Env = append(os.Environ(), toolset.CompilerEnv()...)
	if err := vet.Run(); err != nil {
		return fmt.Errorf("go vet: %w", err)
	}
	out, err := exec.CommandContext(ctx, "go", "list", "./...").Output()
	if err != nil {
		return fmt.Errorf("list packages: %w", err)
	}
	names := strings.Fields(strings.ReplaceAll(string(out), module+"/", ""))
	r := newReport(os.Stdout)
	// go vet has looked at everything. The largest package, test/cases, shares two processors with all others for twenty minutes;
	// a test that hangs ends by limits of its own.
	// Tests that run beside each other wait for clocks and HAProxy more than they compute: as many as there are processors leave some idle.
	flags := []string{"-timeout", "35m", "-vet", "off", "-parallel", strconv.Itoa(runtime.NumCPU() + 1)}
	if full.Wanted() {
		flags[1] = "150m"
		if err := os.Setenv(full.Variable, "1"); err != nil {
			return fmt.Errorf("ask for long forms: %w", err)
		}
	}
	if o.measure {
		flags = append(flags, "-exec", measured)
	}
	if o.short {
		flags = append(flags, "-short")
	}
	var failed error
	for _, s := range stages(names, runtime.NumCPU()) {
		args, env := slices.Clone(flags), os.Environ()
		if !s.fresh {
			env = append(env, toolset.CompilerEnv()...)
		}
		if s.fresh && !o.short {
			args = append(args, "-count", "1")
		}
		failed = errors.Join(failed, r.stage(ctx, env, args, s.lanes))
	}
	if failed != nil && !o.once && !errors.Is(failed, errUnnamed) {
		failed = r.again(ctx, append(flags, "-count", "1"))
	}
	r.finish()
	return failed
}

// errUnnamed says that go test failed although no test did.
var errUnnamed = errors.New("no failed test is known")

// stage tests packages in lanes, all at the same time.
func (r *report) stage(ctx context.Context, env, flags []string, lanes []lane) error {
	ends := make([]error, len(lanes))
	var running sync.WaitGroup
	for i, l := range lanes {
		if len(l.packages) == 0 {
			continue // go test would test this one
		}
		running.Go(func() {
			ends[i] = r.test(ctx, env, append(slices.Clone(flags), "-p", strconv.Itoa(l.atATime)), l.packages)
		})
	}
	running.Wait()
	return errors.Join(ends...)
}

func (r *report) test(ctx context.Context, env, flags, packages []string) error {
	args := slices.Concat([]string{"test", "-json"}, flags)
	for _, pkg := range packages {
		args = append(args, "./"+pkg)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr, cmd.Env = os.Stderr, env
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run go test: %w", err)
	}
	named := r.read(stdout)
	err = cmd.Wait()
	switch {
	case err == nil:
		return nil
	case named == 0:
		return fmt.Errorf("go test: %w: %w", err, errUnnamed)
	}
	return fmt.Errorf("go test: %w", err)
}

// again runs failed tests once more, each alone, and returns an error if some failed again or
// were not run.
func (r *report) again(ctx context.Context, flags []string) error {
	first := r.failed
	tests, ok := repeatable(first)
	if !ok {
		return fmt.Errorf("%d tests failed", len(first))
	}
	r.failed = nil
	for _, t := range tests {
		r.say("once more, alone: %s %s", t.pkg, t.test)
		err := r.test(ctx, os.Environ(), append(slices.Clone(flags), "-run", "^"+t.test+"$"), []string{t.pkg})
		if err != nil {
			r.failed = first
			return fmt.Errorf("%s failed twice: %w", t.test, err)
		}
	}
	r.unstable = first
	return nil
}

// read takes the events of a go test and returns how many failures they name. Those of other lanes come at the same time.
func (r *report) read(in io.Reader) (named int) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		named += r.line(line)
		if err != nil {
			return named
		}
	}
}

// line takes a line of a go test's output, and returns how many failures it names.
func (r *report) line(line []byte) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.failed)
	var e event
	if json.Unmarshal(line, &e) == nil {
		r.take(e)
	} else if len(line) > 0 {
		fmt.Fprint(r.out, string(line))
	}
	return len(r.failed) - before
}
