package haproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// connection is one to the runtime socket that stays open, in HAProxy's interactive mode, so that a
// line is a write and a read. One for each line, which the library's calls make, costs 0.3 ms more, three
// fifths of what a change of a weight takes (BenchmarkConnections).
type connection struct {
	net.Conn
	// greeting goes before the first line.
	greeting string
}

// greeting has HAProxy number its messages, and wait for more after each line.
const greeting = "set severity-output number;prompt;"

// endOfAnswer is HAProxy's prompt.
const endOfAnswer = "> "

// connect returns the open connection, or makes one.
func (r *Runtime) connect() (*connection, error) {
	if r.held != nil && r.held.usable() {
		return r.held, nil
	}
	r.hangUp()
	conn, err := r.dial()
	if err != nil {
		return nil, err
	}
	r.held = &connection{Conn: conn, greeting: greeting}
	return r.held, nil
}

// dial opens a connection to the runtime socket.
func (r *Runtime) dial() (net.Conn, error) {
	path := filepath.Join(r.layout.RunDir(), "admin.sock")
	conn, err := net.DialTimeout("unix", path, readLimit)
	if err != nil {
		// A worker that takes over from another one replaces the socket.
		conn, err = net.DialTimeout("unix", path, readLimit)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	return conn, nil
}

// hangUp closes the connection, which would else lead to the process that it was made to, also when
// another one has taken over.
func (r *Runtime) hangUp() {
	if r.held != nil {
		_ = r.held.Close()
		r.held = nil
	}
}

// usable reports whether HAProxy has neither closed the connection, which it does where nothing was
// asked for two minutes ("stats timeout"), nor sent what nobody waits for. What was sent is never sent
// again: it may be why a process has ended.
func (c *connection) usable() bool {
	raw, err := c.Conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return false
	}
	var one [1]byte
	var seen error
	err = raw.Read(func(fd uintptr) bool {
		_, _, seen = unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return true
	})
	return err == nil && errors.Is(seen, unix.EAGAIN)
}

// ask sends a line, and returns the answers to its units (line.read). An error means that nothing was
// sent. If answers are missing the connection is of no use any more.
func (c *connection) ask(l *line) ([]string, error) {
	if err := c.SetDeadline(time.Now().Add(readLimit)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	if _, err := io.WriteString(c, c.greeting+l.ask()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	c.greeting = ""
	var text []byte
	part := make([]byte, 4<<10)
	from := &bounded{c, maxAnswer}
	for {
		n, err := from.Read(part)
		text = append(text, part[:n]...)
		if err != nil {
			return l.read(string(text)), nil //nolint:nilerr // the answers show whether all are there
		}
		if !strings.HasSuffix(string(text[max(0, len(text)-len(endOfAnswer)):]), endOfAnswer) {
			continue
		}
		if answers := l.read(string(text)); len(answers) == len(l.units) {
			return answers, nil
		}
	}
}
