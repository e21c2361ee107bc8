// Package haproxy talks to HAProxy: it applies plans over the runtime socket,
// reads back what a process has, writes the files that a process starts from,
// and keeps the process alive. It holds no user intent.
package haproxy

import (
	"bufio"
	"bytes"
	"cmp"
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
	// Steps are those of the refused commands, most often one route's.
	Steps []plan.Step
	// Unanswered is true if HAProxy has not refused them, but not answered
	// either: it may have ended, or has not understood where they end.
	Unanswered bool
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
	// ReadOnly is for those who look beside the router: ReadBack ends no transaction, which
	// might be the router's own.
	ReadOnly bool
	layout   render.Layout
	caps     plan.Capabilities
	socket   runtime.SingleRuntime
	// Commands counts the lines sent, for metrics and tests.
	Commands int
	// gentle is what Pace says.
	gentle bool
	// seed is that of digests.
	seed maphash.Seed
	pace pace
	// command is the length of the longest command.
	command int
	// lines reads answers.
	lines *bufio.Reader
	// held is the connection for lines, nil if there is none, and pid the process that Info saw last. busy is true if
	// the last line took long.
	held *connection
	pid  int
	busy bool
}

// NewRuntime returns a client of the process that runs in a layout. It does
// not connect.
func NewRuntime(l render.Layout, caps plan.Capabilities) (*Runtime, error) {
	r := &Runtime{command: minCommand, layout: l, caps: caps, seed: maphash.MakeSeed(), lines: bufio.NewReaderSize(nil, 64<<10)}
	if err := r.socket.Init(l.RunDir()+"/admin.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		return nil, fmt.Errorf("prepare the HAProxy runtime client: %w", err)
	}
	return r, nil
}

// Info asks the process for its identity. The typed call of the library leaves out
// the description, by which the router recognises its own skeleton (v5.1.15).
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
	if info.PID != r.pid {
		r.hangUp()
		r.pid = info.PID
	}
	return info, nil
}

// StartedFrom returns the mark of the files that the process started from, or "" if it has
// none: it runs with files of an older router.
func (r *Runtime) StartedFrom() (mark string, err error) {
	err = r.streamBytes("show env "+markName, func(l []byte) {
		if value, ok := bytes.CutPrefix(l, []byte(markName+"=")); ok {
			mark = string(value)
		}
	})
	return mark, err
}

// Apply takes steps in order and reports each step once HAProxy has answered all
// of its commands. It stops after the line with the first refusal.
func (r *Runtime) Apply(steps []plan.Step, done func(plan.Step)) error {
	lines, err := encode(steps, r.layout, r.caps, r.command)
	if err != nil {
		return err
	}
	for _, l := range lines {
		if wait := r.pace.before(l.cost, time.Now()); r.gentle && wait > 0 {
			<-time.After(wait)
		}
		answers, err := r.run(l)
		r.pace.after(time.Now())
		if err != nil {
			return err
		}
		var refusal RefusedError
		for i, u := range l.units {
			switch {
			case i >= len(answers):
				refusal.Unanswered = true
				refusal.Steps = append(refusal.Steps, u.steps...)
			case answers[i] != "":
				refusal.Message = cmp.Or(refusal.Message, answers[i])
				refusal.Steps = append(refusal.Steps, u.steps...)
			case u.last:
				for _, s := range u.steps {
					done(s)
				}
			}
		}
		if len(refusal.Steps) > 0 {
			refusal.Message = cmp.Or(refusal.Message, unanswered)
			return &refusal
		}
	}
	return nil
}

// unanswered is the message of a refusal without an answer.
const unanswered = "it did not answer the command to the end"

// run sends a line and reads its answers. It is not the library's typed calls, which send one command on a
// connection each and take three times as long for a hundred weights (BenchmarkLibrary), nor its raw one, which
// makes a connection for each line (BenchmarkConnections), and returns what it had read when the connection
// ended for any reason (v5.1.15).
func (r *Runtime) run(l *line) ([]string, error) {
	r.Commands++
	began := time.Now()
	c, err := r.connect()
	if err != nil {
		return nil, err
	}
	answers, err := c.ask(l)
	switch {
	case c.once:
		_ = c.Close()
	case err != nil || len(answers) < len(l.units):
		r.hangUp()
	}
	r.busy = time.Since(began) > busyAnswer+time.Duration(l.cost)*busyCost
	return answers, err
}

// Reload makes the master start a new worker from the files, and waits until
// it serves.
func (r *Runtime) Reload() error {
	r.hangUp()
	var master runtime.SingleRuntime
	if err := master.Init(r.layout.RunDir()+"/master.sock", 0, 0, options.RuntimeOptions{DoNotCheckRuntimeOnInit: true}); err != nil {
		return fmt.Errorf("prepare the HAProxy master client: %w", err)
	}
	// Not the typed call: it sends no newline, for which the master waits until the
	// connection ends after 30 seconds, and then panics on the empty answer. It also
	// leaves out the log if HAProxy refuses (v5.1.15).
	out, err := master.ExecuteMaster("reload\n")
	if err != nil {
		return fmt.Errorf("%w: master socket: %w", ErrGone, err)
	}
	if strings.TrimSpace(out) == "" {
		return fmt.Errorf("%w: no answer on the master socket", ErrGone)
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
