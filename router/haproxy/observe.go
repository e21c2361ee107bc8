package haproxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fairlead/fairlead/router/render"
)

// ErrNoRing means that HAProxy runs without a ring for records of requests
// (render.Observes).
var ErrNoRing = errors.New("HAProxy before 3.1 cannot show requests while the IngressController has an access log")

// observed returns the process that answers, and the keys of what it observes.
func (r *Runtime) observed() (pid int, keys []string, err error) {
	err = r.streamBytes("show info;show map "+r.layout.ObserveFile(), func(l []byte) {
		if value, ok := bytes.CutPrefix(l, []byte(pidLine)); ok {
			pid = number(value)
		}
		if words := bytes.Fields(l); len(words) == 3 && bytes.HasPrefix(words[0], []byte("0x")) {
			keys = append(keys, string(words[1]))
		}
	})
	if err == nil && pid == 0 {
		err = fmt.Errorf("%w: it does not say which process it is", ErrGone)
	}
	return pid, keys, err
}

// pidLine begins the line of "show info" with the number of the process.
const pidLine = "Pid: "

// Observe makes these the keys of what is observed, and returns the process that does so.
// Keys that are there already are left alone, so that other readers miss nothing.
func (r *Runtime) Observe(keys []string) (pid int, err error) {
	pid, there, err := r.observed()
	if err != nil {
		return 0, err
	}
	var commands []command
	for _, k := range there {
		if !slices.Contains(keys, k) {
			commands = append(commands, say("del map ? ?", r.layout.ObserveFile(), k))
		}
	}
	for i, k := range keys {
		if !slices.Contains(there, k) && !slices.Contains(keys[:i], k) {
			commands = append(commands, say("add map ? ? ?", r.layout.ObserveFile(), k, "1"))
		}
	}
	var line strings.Builder
	for i, c := range commands {
		if c.err != nil {
			return 0, c.err
		}
		line.WriteString(c.text + ";")
		if line.Len() < minCommand/2 && i+1 < len(commands) {
			continue
		}
		if err := r.silent(strings.TrimSuffix(line.String(), ";")); err != nil {
			return 0, err
		}
		line.Reset()
	}
	return pid, nil
}

// silent runs commands that say something only if they fail. Another program may have taken
// away what one of them takes away.
func (r *Runtime) silent(line string) error {
	message := ""
	err := r.streamBytes(line, func(l []byte) {
		if len(l) > 0 && message == "" && !bytes.HasPrefix(l, []byte("Key not found")) {
			message = string(l)
		}
	})
	if err == nil && message != "" {
		return &RefusedError{Message: message}
	}
	return err
}

// recordLine bounds a line of the ring: HAProxy cuts records before.
const recordLine = 64 << 10

// Records reads what HAProxy writes into its ring from now on, until the context ends or the
// process closes the connection. ready is called with the process once it has begun; each gets
// a line that is valid until it returns.
func (r *Runtime) Records(ctx context.Context, ready func(pid int), each func(line []byte)) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(r.layout.RunDir(), "admin.sock"))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close()
	}()
	// HAProxy answers the first command, up to an empty line, before it begins with the second.
	if _, err := io.WriteString(conn, "show info;show events "+render.Ring+" -w -n\n"); err != nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, recordLine), recordLine)
	pid := 0
	for begun := false; lines.Scan(); {
		l := lines.Bytes()
		value, isPID := bytes.CutPrefix(l, []byte(pidLine))
		switch {
		case !begun && isPID:
			pid = number(value)
		case !begun && len(l) == 0 && pid != 0:
			begun = true
			ready(pid)
		case !begun:
		case bytes.HasPrefix(l, []byte("No such event sink")):
			return ErrNoRing
		default:
			each(l)
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}
