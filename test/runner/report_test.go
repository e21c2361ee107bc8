package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestReport holds that the end of the report alone says what failed and why.
func TestReport(t *testing.T) {
	const ended = `
{"Action":"run","Package":"github.com/fairlead/fairlead/test/cases","Test":"TestA"}
{"Action":"output","Package":"github.com/fairlead/fairlead/test/cases","Test":"TestA","Output":"first line\n"}
{"Action":"run","Package":"github.com/fairlead/fairlead/test/cases","Test":"TestB"}
{"Action":"output","Package":"github.com/fairlead/fairlead/test/cases","Test":"TestA","Output":"panic: assignment to entry in nil map\n"}
{"Action":"output","Package":"github.com/fairlead/fairlead/test/cases","Test":"TestA","Output":"goroutine 7 [running]:\n"}
{"Action":"output","Package":"github.com/fairlead/fairlead/test/cases","Output":"FAIL\tgithub.com/fairlead/fairlead/test/cases\t1.0s\n"}
{"Action":"fail","Package":"github.com/fairlead/fairlead/test/cases","Elapsed":1}
`
	const failed = `
{"Action":"run","Package":"github.com/fairlead/fairlead/router","Test":"TestC"}
{"Action":"output","Package":"github.com/fairlead/fairlead/router","Test":"TestC","Output":"    c_test.go:7: 2, want 3\n"}
{"Action":"fail","Package":"github.com/fairlead/fairlead/router","Test":"TestC"}
{"Action":"run","Package":"github.com/fairlead/fairlead/router","Test":"TestD"}
{"Action":"output","Package":"github.com/fairlead/fairlead/router","Test":"TestD","Output":"    d_test.go:7: needs root\n"}
{"Action":"skip","Package":"github.com/fairlead/fairlead/router","Test":"TestD"}
{"Action":"run","Package":"github.com/fairlead/fairlead/router","Test":"TestE"}
{"Action":"pass","Package":"github.com/fairlead/fairlead/router","Test":"TestE"}
{"Action":"fail","Package":"github.com/fairlead/fairlead/router","Elapsed":1}
`
	for _, c := range []struct {
		name, events string
		end          []string
	}{
		{"the process ended", ended, []string{"failed: test/cases (did not end: TestA TestB)\n", "panic: assignment to entry in nil map", "0 tests passed, 1 failed, 0 unstable, 0 skipped"}},
		{"a test failed", failed, []string{"skipped: router: needs root: TestD", "failed: router TestC\n", "c_test.go:7: 2, want 3", "1 tests passed, 1 failed, 0 unstable, 1 skipped"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out)
			r.read(strings.NewReader(c.events))
			out.Reset()
			r.finish()
			rest := out.String()
			for _, text := range c.end {
				_, after, ok := strings.Cut(rest, text)
				if !ok {
					t.Fatalf("the end of the report has no %q, or in another order:\n%s", text, out.String())
				}
				rest = after
			}
		})
	}
}

// TestProcessorTime holds that the report has the processor time of a package, and that of the processes that it started.
func TestProcessorTime(t *testing.T) {
	fields, err := quoted(measured)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(fields[0], append(fields[1:], "sh", "-c", `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit "$1"`, "sh", "7")...)
	text, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
		t.Errorf("it ends with %v, want 7", err)
	}
	var events, out strings.Builder
	for line := range strings.Lines(string(text)) {
		fmt.Fprintf(&events, `{"Action":"output","Package":"github.com/fairlead/fairlead/p","Output":%q}`+"\n", line)
	}
	r := newReport(&out)
	r.read(strings.NewReader(events.String() + `{"Action":"pass","Package":"github.com/fairlead/fairlead/p","Elapsed":1.5}`))
	if took := r.computed["p"]; took < 10*time.Millisecond || took > time.Minute {
		t.Errorf("%s of processors in %q", took, text)
	}
	if !strings.Contains(out.String(), "] ok   p (1.5s, ") || !strings.HasSuffix(out.String(), "s of processors)\n") {
		t.Errorf("%q", out.String())
	}
}

// quoted splits a text as go test does that of -exec: what stands in single quotes is one word.
func quoted(text string) (fields []string, err error) {
	before, rest, ok := strings.Cut(text, "'")
	word, after, closed := strings.Cut(rest, "'")
	if !ok || !closed || after != "" {
		return nil, fmt.Errorf("%q does not end in one quoted word", text)
	}
	return append(strings.Fields(before), word), nil
}

// TestReadLanes holds that lanes that end at the same time each know how many failures are theirs, and that none is lost.
func TestReadLanes(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	const lanes, tests = 4, 200
	named := make([]int, lanes)
	var running sync.WaitGroup
	for lane := range lanes {
		running.Go(func() {
			var events strings.Builder
			for i := range tests {
				for _, action := range []string{"run", []string{"pass", "fail"}[min(i%4, 1)]} { // three of four
					fmt.Fprintf(&events, `{"Action":%q,"Package":"github.com/fairlead/fairlead/p%d","Test":"Test%d"}`+"\n", action, lane, i)
				}
			}
			named[lane] = r.read(strings.NewReader(events.String()))
		})
	}
	running.Wait()
	for _, n := range named {
		if n != tests*3/4 {
			t.Errorf("%v failures, want %d of each lane", named, tests*3/4)
		}
	}
	if len(r.failed) != lanes*tests*3/4 || r.passed != lanes*tests/4 {
		t.Errorf("%d failed, %d passed", len(r.failed), r.passed)
	}
}

// TestRepeatable holds that only a few tests that ended are run again, each once.
func TestRepeatable(t *testing.T) {
	test := func(pkg, name string) failure { return failure{pkg: pkg, test: name} }
	for _, c := range []struct {
		name   string
		failed []failure
		want   int
		ok     bool
	}{
		{"a test and its parts", []failure{test("router", "TestA/one"), test("router", "TestA/two"), test("router", "TestA")}, 1, true},
		{"the same name in two packages", []failure{test("router", "TestA"), test("operator", "TestA")}, 2, true},
		{"too many", []failure{test("a", "TestA"), test("b", "TestA"), test("c", "TestA"), test("d", "TestA")}, 4, false},
		{"a package that did not end", []failure{test("router", "TestA"), test("router", "")}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if tests, ok := repeatable(c.failed); ok != c.ok || len(tests) != c.want {
				t.Errorf("%d tests, %v; want %d, %v", len(tests), ok, c.want, c.ok)
			}
		})
	}
}
