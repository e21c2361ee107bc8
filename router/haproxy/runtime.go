// Package haproxy talks to HAProxy: it applies plans over the runtime socket,
// reads back what a process has, writes the files that a process starts from,
// and keeps the process alive. It holds no user intent.
package haproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"github.com/haproxytech/client-native/v5/runtime"
	"github.com/haproxytech/client-native/v5/runtime/options"

	"github.com/fairlead/fairlead/router/plan"
	"github.com/fairlead/fairlead/router/render"
)

// ErrGone means that no HAProxy answers on its socket.
var ErrGone = errors.New("HAProxy does not answer on its runtime socket")

// RefusedError is HAProxy's refusal of a command.
type RefusedError struct {
	// Message is HAProxy's answer.
	Message string
	// Steps are those of the refused command line, most often one route's.
	Steps []plan.Step
	// Log is all that HAProxy said, if it refused to reload.
	Log string
}

// Refused reports whether an error is HAProxy's refusal.
func Refused(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return refused
}

func (e *RefusedError) Error() string { return "HAProxy refused: " + e.Message }

// Info identifies a running process.
type Info struct {
	PID         int
	Version     string
	Description string
}

// Runtime is the connection to one HAProxy worker. It is used by one
// goroutine at a time.
type Runtime struct {
	layout render.Layout
	caps   plan.Capabilities
	socket runtime.SingleRuntime
	// Commands counts the lines sent, for metrics and tests.
	Commands int
	// Gentle makes Apply give HAProxy's traffic a rest between lines that take
	// long. It is for a process that serves.
	Gentle bool
	// seed is that of digests.
	seed maphash.Seed
	pace pace
	// lines reads answers.
	lines *bufio.Reader
}

// NewRuntime returns a client of the process that runs in a layout. It does
// not connect.
func NewRuntime(l render.Layout, caps plan.Capabilities) (*Runtime, error) {
	r := &Runtime{layout: l, caps: caps, seed: maphash.MakeSeed(), lines: bufio.NewReaderSize(nil, 64<<10)}
	if err := r.socket.Init(l.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		return nil, fmt.Errorf("prepare the HAProxy runtime client: %w", err)
	}
	return r, nil
}

// Info asks the process who it is.
func (r *Runtime) Info() (Info, error) {
	var info Info
	err := r.streamBytes("show info", func(l []byte) {
		key, value, _ := bytes.Cut(l, []byte(": "))
		switch string(key) {
		case "Pid":
			info.PID = number(value)
		case "Version":
			info.Version = string(value)
		case "description":
			info.Description = string(value)
		}
	})
	if err != nil {
		return Info{}, err
	}
	if info.PID == 0 {
		return Info{}, fmt.Errorf("%w: unexpected answer to show info", ErrGone)
	}
	return info, nil
}

// Apply takes steps in order and reports each line's steps once they are done.
// It stops at the first refusal.
func (r *Runtime) Apply(steps []plan.Step, done func(plan.Step)) error {
	lines := encode(steps, r.layout, r.caps)
	for i, l := range lines {
		if wait := r.pace.before(l.cost, time.Now()); r.Gentle && wait > 0 {
			<-time.After(wait)
		}
		out, err := r.raw(l.text.String())
		r.pace.after(time.Now())
		if err != nil {
			return err
		}
		if msg := failure(out, l.removes); msg != "" {
			// A step may take several lines; it counts with its last one.
			end := i + 1
			for end < len(lines) && len(lines[end-1].steps) == 0 {
				end++
			}
			return &RefusedError{Message: msg, Steps: lines[end-1].steps}
		}
		for _, s := range l.steps {
			done(s)
		}
	}
	return nil
}

// raw runs a command and returns its answer, of which each message begins with
// its severity in brackets. Answers that may be long are read by answer.
func (r *Runtime) raw(command string) (string, error) {
	r.Commands++
	out, err := r.socket.ExecuteRaw(command)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrGone, err)
	}
	return out, nil
}

// Reload makes the master start a new worker from the files, and waits until
// it serves.
func (r *Runtime) Reload() error {
	var master runtime.SingleRuntime
	if err := master.Init(r.layout.RunDir()+"/master.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		return fmt.Errorf("prepare the HAProxy master client: %w", err)
	}
	// The library sends no newline to the master, which then waits for one.
	out, err := master.ExecuteMaster("reload\n")
	if err != nil {
		return fmt.Errorf("%w: master socket: %w", ErrGone, err)
	}
	status, logs, _ := strings.Cut(out, "\n--\n")
	if strings.TrimSpace(status) != "Success=1" {
		return &RefusedError{Message: fmt.Sprintf("reload: %s: %s", strings.TrimSpace(status), FirstAlert(logs)), Log: logs}
	}
	return nil
}

// FirstAlert returns the line of HAProxy's start-up log that says what is wrong.
func FirstAlert(logs string) string {
	if a := alertLine.FindString(logs); a != "" {
		return a
	}
	return strings.TrimSpace(logs)
}
