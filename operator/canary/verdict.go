package canary

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// State is what is known of the routers' way.
type State int

// The states.
const (
	// Pending: not enough is known yet.
	Pending State = iota
	// Succeeding: the last probe had the right answer, or too few have failed.
	Succeeding
	// Failing: FailuresToFail probes in a row had no right answer.
	Failing
)

// mostErrors is how many errors of a row of failures are shown.
const mostErrors = 3

// failure is an error, and since when it is met.
type failure struct {
	since time.Time
	text  string
}

// tracker draws the conclusion from one probe after the other.
type tracker struct {
	state               State
	failures, successes int
	errors              []failure
}

// add counts a probe.
func (t *tracker) add(now time.Time, err error) {
	if err == nil {
		t.state, t.failures, t.errors = Succeeding, 0, nil
		t.successes++
		return
	}
	t.successes = 0
	t.failures++
	if t.failures >= FailuresToFail {
		t.state = Failing
	}
	text := strings.ReplaceAll(err.Error(), "\n", ", ")
	if slices.ContainsFunc(t.errors, func(f failure) bool { return f.text == text }) {
		return // The text of the condition stays as it is.
	}
	t.errors = append(t.errors, failure{now, text})
	if more := len(t.errors) - mostErrors; more > 0 {
		t.errors = t.errors[more:]
	}
}

// shown lists the errors.
func (t *tracker) shown() string {
	list := make([]string, 0, len(t.errors))
	for _, f := range t.errors {
		list = append(list, fmt.Sprintf("%s (since %s)", f.text, f.since.UTC().Format(time.RFC3339)))
	}
	return strings.Join(list, "; ")
}
