package main

import (
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// event is a line of `go test -json`.
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

// excerptLines is how much of a failed test's output the end of the report repeats. The end
// of a long log alone says what failed.
const excerptLines = 12

// report collects what the tests say. A test that neither failed nor skipped leaves nothing.
type report struct {
	mu      sync.Mutex // guards what the lanes of a stage share: all but start
	out     io.Writer
	start   time.Time
	running map[string]map[string][]string // by package and test: the output of what has not ended
	skipped map[string][]string            // by package and reason
	failed  []failure
	// unstable tests failed first and passed when they were run again.
	unstable []failure
	passed   int
	// computed is the processor time of packages, with that of all processes that their tests started and that have ended.
	computed map[string]time.Duration
}

// measured runs a package's tests, and then writes the shell's own processor time, and that of all its children: two
// lines, of the user and of the system each.
const measured = `sh -c '"$0" "$@"; code=$?; times; exit $code'`

// times is the second of these lines.
var times = regexp.MustCompile(`^(\d+)m([\d.]+)s (\d+)m([\d.]+)s\n$`)

// measure takes a line that may have the processor time of a package.
func (r *report) measure(name, line string) {
	m := times.FindStringSubmatch(line)
	if m == nil {
		return
	}
	var sum time.Duration
	for i := 1; i < len(m); i += 2 {
		d, err := time.ParseDuration(m[i] + "m" + m[i+1] + "s")
		if err != nil {
			return
		}
		sum += d
	}
	r.computed[name] = sum
}

type failure struct {
	name      string // of the package and the test
	pkg, test string // test is empty for a package
	output    []string
}

// mostAgain is the number of failed tests that are run again: more are no accident.
const mostAgain = 3

// repeatable returns the failed tests without the parts that they have, if all failures have
// one and they are few.
func repeatable(failed []failure) (tests []failure, ok bool) {
	for _, f := range failed {
		if f.test == "" {
			return nil, false
		}
		f.test, _, _ = strings.Cut(f.test, "/")
		if !slices.ContainsFunc(tests, func(t failure) bool { return t.pkg == f.pkg && t.test == f.test }) {
			tests = append(tests, f)
		}
	}
	return tests, len(tests) <= mostAgain
}

func newReport(out io.Writer) *report {
	return &report{out: out, start: time.Now(), running: map[string]map[string][]string{}, skipped: map[string][]string{}, computed: map[string]time.Duration{}}
}

func (r *report) take(e event) {
	name := strings.TrimPrefix(strings.TrimPrefix(e.Package, module), "/")
	if r.running[name] == nil {
		r.running[name] = map[string][]string{}
	}
	tests := r.running[name]
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
		fallthrough
	case "output":
		if e.Test == "" {
			r.measure(name, e.Output)
		}
		tests[e.Test] = append(tests[e.Test], e.Output)
		return
	case "run", "start":
		tests[e.Test] = append(tests[e.Test], "")
		return
	case "skip":
		if e.Test != "" {
			key := name + ": " + reason(tests[e.Test])
			r.skipped[key] = append(r.skipped[key], e.Test)
		}
	case "pass":
		r.pass(e, name)
	case "fail":
		r.fail(e, name)
	default:
		return
	}
	delete(tests, e.Test)
}

func (r *report) pass(e event, name string) {
	if e.Test != "" {
		r.passed++
		return
	}
	if took, ok := r.computed[name]; ok {
		r.say("ok   %s (%.1fs, %.1fs of processors)", name, e.Elapsed, took.Seconds())
		return
	}
	r.say("ok   %s (%.1fs)", name, e.Elapsed)
}

// fail takes a failed test, or a failed package. Of a package whose process ended before
// its tests did, by a panic or a signal, go test names no test: the reason is in the output
// of one of those that ran.
func (r *report) fail(e event, name string) {
	tests := r.running[name]
	if e.Test != "" {
		r.add(name, e.Test, tests[e.Test])
		return
	}
	own := tests[""]
	delete(tests, "")
	if len(tests) == 0 && slices.ContainsFunc(r.failed, func(f failure) bool { return strings.HasPrefix(f.name, name+" ") }) {
		r.say("FAIL %s", name)
		return
	}
	unfinished := slices.Sorted(maps.Keys(tests))
	for _, test := range unfinished {
		own = append(own, tests[test]...)
	}
	if len(unfinished) > 0 {
		name += " (did not end: " + strings.Join(unfinished, " ") + ")"
	}
	r.add(name, "", own)
}

func (r *report) add(pkg, test string, output []string) {
	name := strings.TrimSpace(pkg + " " + test)
	r.say("FAIL %s", name)
	fmt.Fprint(r.out, strings.Join(output, ""))
	r.failed = append(r.failed, failure{name, pkg, test, strings.Split(strings.Join(output, ""), "\n")})
}

// excerpt returns the lines that say most: those of a process's end, or the last ones.
func (f failure) excerpt() []string {
	end := slices.IndexFunc(f.output, func(line string) bool {
		return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "signal: ")
	})
	if end < 0 {
		end = max(0, len(f.output)-excerptLines)
	}
	return f.output[end:min(len(f.output), end+excerptLines)]
}

func (r *report) say(format string, args ...any) {
	fmt.Fprintf(r.out, "[%6.1fs] %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

// reason finds what the test said when it skipped itself: the line that names its file.
func reason(output []string) string {
	for _, line := range output {
		line = strings.TrimSpace(line)
		if file, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(path.Base(file), ".go:") {
			return rest
		}
	}
	return "no reason given"
}

func (r *report) finish() {
	skipped := 0
	for _, key := range slices.Sorted(maps.Keys(r.skipped)) {
		tests := r.skipped[key]
		skipped += len(tests)
		fmt.Fprintf(r.out, "  skipped: %s: %s\n", key, strings.Join(tests, " "))
	}
	r.excerpts("unstable, passed when run again", r.unstable)
	r.excerpts("failed", r.failed)
	r.say("%d tests passed, %d failed, %d unstable, %d skipped", r.passed, len(r.failed), len(r.unstable), skipped)
}

func (r *report) excerpts(how string, failures []failure) {
	for _, f := range failures {
		fmt.Fprintf(r.out, "  %s: %s\n", how, f.name)
		for _, line := range f.excerpt() {
			fmt.Fprintln(r.out, "   ", line)
		}
	}
}
