package fakeaws

import (
	"net/http"
	"path"
	"time"
)

type kind int

const (
	throttle kind = iota
	refusal
	hang
	reset
	slow
	truncate
	acceptThenFail
)

// Effect is what a Fault does to a call.
type Effect struct {
	kind    kind
	code    string
	status  int
	message string
	wait    time.Duration
}

// Throttle refuses a call with the service's own code for too many calls.
func Throttle() Effect { return Effect{kind: throttle} }

// Refuse refuses a call with a code. Status is mostly 400; 5xx is AWS's fault.
func Refuse(status int, code, message string) Effect {
	return Effect{kind: refusal, status: status, code: code, message: message}
}

// Hang never answers, until the client goes.
func Hang() Effect { return Effect{kind: hang} }

// Reset breaks the connection.
func Reset() Effect { return Effect{kind: reset} }

// Slow answers after a while.
func Slow(wait time.Duration) Effect { return Effect{kind: slow, wait: wait} }

// Truncate answers with the first half of the text.
func Truncate() Effect { return Effect{kind: truncate} }

// AcceptThenFail carries the call out and answers that it failed.
func AcceptThenFail() Effect { return Effect{kind: acceptThenFail} }

// ExpiredToken refuses a call because of its credentials.
func ExpiredToken() Effect {
	return Effect{kind: refusal, status: http.StatusForbidden, code: "ExpiredToken", message: "The security token included in the request is expired"}
}

// Fault is a line of a script.
type Fault struct {
	// Service is the name in the signature, such as "elasticloadbalancing";
	// empty means all.
	Service string
	// Action is a pattern as of path.Match: "Create*"; empty means all.
	Action string
	// Skip is how many matching calls pass first.
	Skip int
	// Count is how many are struck then; 0 means all that follow.
	Count int
	// Every strikes only each so-manieth of them; 0 and 1 mean each.
	Every  int
	Effect Effect
}

type fault struct {
	Fault
	seen, struck int
}

// Script adds faults. They are looked at in order; the first that strikes counts.
func (c *Cloud) Script(faults ...Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range faults {
		c.faults = append(c.faults, &fault{Fault: f})
	}
}

// Heal removes all faults.
func (c *Cloud) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults, c.cut = nil, nil
}

// CutAfter lets n more changes succeed. After that no call arrives until Heal, as if
// the caller had been ended there.
func (c *Cloud) CutAfter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = &n
}

// strike returns the effect that a call meets. The caller holds mu.
func (c *Cloud) strike(r *request) (Effect, bool) {
	if c.cut != nil && *c.cut == 0 {
		return Reset(), true
	}
	for _, f := range c.faults {
		if f.Service != "" && f.Service != r.service {
			continue
		}
		if matched, err := path.Match(f.Action, r.action); f.Action != "" && (err != nil || !matched) {
			continue
		}
		f.seen++
		n := f.seen - f.Skip
		if n <= 0 || f.Count > 0 && f.struck >= f.Count || f.Every > 1 && n%f.Every != 0 {
			continue
		}
		f.struck++
		return f.Effect, true
	}
	return Effect{}, false
}

// interfere carries out the effects that come before the call itself. It
// reports whether the call is over; then mu is released.
func (c *Cloud) interfere(w http.ResponseWriter, r *request, e Effect) bool {
	switch e.kind {
	case throttle:
		refused := &apiError{http.StatusBadRequest, "Throttling", "Rate exceeded"}
		switch r.service {
		case "ec2":
			refused = &apiError{http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded."}
		case "acm", "wafv2":
			refused.code = "ThrottlingException"
		}
		c.record(r, refused.status, refused.code)
		c.mu.Unlock()
		r.fail(w, refused)
		return true
	case refusal:
		c.record(r, e.status, e.code)
		c.mu.Unlock()
		r.fail(w, &apiError{e.status, e.code, e.message})
		return true
	case hang, reset:
		c.record(r, 0, "no answer")
		c.mu.Unlock()
		if e.kind == hang {
			<-r.http.Context().Done()
		}
		panic(http.ErrAbortHandler)
	case slow:
		c.mu.Unlock()
		select {
		case <-time.After(e.wait):
		case <-r.http.Context().Done():
		}
		c.mu.Lock()
	case truncate, acceptThenFail:
	}
	return false
}
