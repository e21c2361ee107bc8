package fakeaws

import (
	"fmt"
	"slices"
	"time"
)

// Call is a line of the journal.
type Call struct {
	Number  int
	Time    time.Time
	Service string
	Action  string
	// AccessKey is that of the signature; empty if the call is not signed.
	AccessKey string
	// Params are the parameters of the Query protocols.
	Params map[string]string
	// Status is that of HTTP; 0 if there was no answer.
	Status int
	// Code is the error's code, or empty.
	Code string
}

// Reading reports whether the call changes nothing.
func (c Call) Reading() bool { return Reading(c.Action) }

// String returns "service:Action", and the error's code if there is one.
func (c Call) String() string {
	if c.Code == "" {
		return c.Service + ":" + c.Action
	}
	return fmt.Sprintf("%s:%s (%s)", c.Service, c.Action, c.Code)
}

// record adds a line. The caller holds mu.
func (c *Cloud) record(r *request, status int, code string) {
	c.calls = append(c.calls, Call{
		Number: len(c.calls) + 1, Time: c.options.Now(), Service: r.service, Action: r.action, AccessKey: r.key,
		Params: r.form.flat(), Status: status, Code: code,
	})
}

// Mark is a place in the journal.
type Mark int

// Mark returns the journal's end as it is now.
func (c *Cloud) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark(len(c.calls))
}

// Since returns the calls after a mark; the mark 0 is the beginning.
func (c *Cloud) Since(m Mark) []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls[m:])
}

// Changes returns those of the calls that change something.
func Changes(calls []Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), Call.Reading)
}

// Count returns how many of the calls have the action.
func Count(calls []Call, action string) int {
	n := 0
	for _, c := range calls {
		if c.Action == action {
			n++
		}
	}
	return n
}

// Actions returns the actions of calls, in order.
func Actions(calls []Call) []string {
	names := make([]string, 0, len(calls))
	for _, c := range calls {
		names = append(names, c.Action)
	}
	return names
}
