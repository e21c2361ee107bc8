package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// heartbeat is how often a run that shows no result says what it does.
const heartbeat = 20 * time.Second

// excerptLines is how much of the output of a failed test is shown.
const excerptLines = 15

// suite runs the test program on the host from which clients reach Gateways and API server. Everything that it prints goes
// to a log, what tests came to, to results.
func (b *bed) suite(ctx context.Context, o options, p parts, report string, results *results) error {
	if err := os.MkdirAll(filepath.Dir(report), 0o755); err != nil {
		return fmt.Errorf("make the folder of reports: %w", err)
	}
	args := []string{
		"env", "KUBECONFIG=" + b.Cluster.Kubeconfig(), p.suite, "-test.v", "-test.timeout", "60m", "-test.run", "^TestConformance$",
		"-gateway-class", className, "-conformance-profiles", o.profiles, "-usable-address", b.usable(), "-unusable-address", "198.51.100.77",
		"-organization", "fairlead", "-project", "fairlead", "-url", "https://github.com/fairlead/fairlead", "-version", o.version,
		"-contact", "https://github.com/fairlead/fairlead/issues", "-report-output", report, "-skip-tests", o.skip,
	}
	if o.features != "" {
		args = append(args, "-supported-features", o.features)
	}
	if o.only != "" {
		args = append(args, "-run-test", o.only)
	}
	if b.kept {
		args = append(args, "-cleanup-base-resources=false")
	}
	log, err := os.Create(filepath.Join(b.Scratch, "conformance.log"))
	if err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	defer log.Close()
	results.say("run the suite; all of its output is in %s", log.Name())
	cmd, err := b.Cluster.Command(ctx, "client", args...)
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run the suite: %w", err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run the suite: %w", err)
	}
	results.read(io.TeeReader(out, log))
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("the suite failed: %w", err)
	}
	return nil
}

// results are what came out of the tests, in the order in which they ended.
type results struct {
	out   io.Writer
	start time.Time

	mu      sync.Mutex // guards the rest
	running string
	said    time.Time // when the last line was printed
	ended   []result
	output  map[string][]string // lines of tests that run, by test
	started map[string]time.Time
}

type result struct {
	name, verdict string
	took          time.Duration
	output        []string
}

func newResults(out io.Writer) *results {
	now := time.Now()
	return &results{out: out, start: now, said: now, output: map[string][]string{}, started: map[string]time.Time{}}
}

func (r *results) say(format string, args ...any) {
	r.said = time.Now()
	fmt.Fprintf(r.out, "[%7.1fs] %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

var (
	endLine   = regexp.MustCompile(`^=== ENDED (PASS|FAIL|SKIP) (\S+)$`) // package suite prints it
	otherEnd  = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): `)
	startLine = regexp.MustCompile(`^=== (RUN|CONT|NAME|PAUSE) +TestConformance(?:/([^/ ]+))?`)
)

// read takes the output of the suite until it ends.
func (r *results) read(in io.Reader) {
	done := make(chan struct{})
	defer close(done)
	go r.beat(done)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		r.take(strings.TrimRight(line, "\r\n"))
		if err != nil {
			return
		}
	}
}

// beat says what runs while nothing ends.
func (r *results) beat(done <-chan struct{}) {
	for tick := time.NewTicker(heartbeat); ; {
		select {
		case <-done:
			tick.Stop()
			return
		case <-tick.C:
			r.mu.Lock()
			if time.Since(r.said) > heartbeat {
				r.say("… %d tests ended; running: %s", len(r.ended), r.running)
			}
			r.mu.Unlock()
		}
	}
}

func (r *results) take(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := startLine.FindStringSubmatch(line); m != nil {
		if r.running = m[2]; r.running == "" {
			r.running = "set-up"
		}
		if _, known := r.started[r.running]; !known {
			r.started[r.running] = time.Now()
		}
		return
	}
	if m := endLine.FindStringSubmatch(line); m != nil {
		e := result{name: m[2], verdict: m[1], took: time.Since(r.started[m[2]]), output: r.output[m[2]]}
		delete(r.output, e.name)
		r.ended = append(r.ended, e)
		if e.verdict != "SKIP" {
			r.say("%s %s (%.1f s)", e.verdict, e.name, e.took.Seconds())
		}
		return
	}
	if !otherEnd.MatchString(line) && line != "" {
		r.output[r.running] = append(r.output[r.running], line)
	}
}

// print says what failed, how many tests passed, and, of a whole run, which were left out.
func (r *results) print(whole bool) {
	by := map[string][]result{}
	for _, e := range r.ended {
		by[e.verdict] = append(by[e.verdict], e)
	}
	if whole && len(by["SKIP"]) > 0 {
		var names []string
		for _, e := range by["SKIP"] {
			names = append(names, e.name)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "Mesh") })
		slices.Sort(names)
		fmt.Fprintf(r.out, "\nnot run, for features that are not claimed or by choice (those of meshes left out):\n  %s\n", strings.Join(names, "\n  "))
	}
	for _, e := range by["FAIL"] {
		fmt.Fprintf(r.out, "\nFAIL %s (%.1f s)\n", e.name, e.took.Seconds())
		for _, line := range e.output[max(0, len(e.output)-excerptLines):] {
			fmt.Fprintln(r.out, "  "+line)
		}
	}
	if len(r.ended) == 0 {
		last := r.output["set-up"]
		fmt.Fprintf(r.out, "\nno test ran:\n  %s\n", strings.Join(last[max(0, len(last)-excerptLines):], "\n  "))
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d not run, in %.0f s\n", len(by["PASS"]), len(by["FAIL"]), len(by["SKIP"]), time.Since(r.start).Seconds())
	for _, e := range by["FAIL"] {
		fmt.Fprintln(r.out, "FAIL", e.name)
	}
}
