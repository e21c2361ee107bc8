package haproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// connection is one to the runtime socket. One that stays open, in HAProxy's interactive mode, makes a line a write and a
// read: half of the time that it takes with a connection of its own, and a quarter where other programs use the
// processors (BenchmarkConnections). But in that mode each command waits until the answer to the one before has been sent,
// and a HAProxy that is busy itself takes 7 ms for two commands in place of 4 (3.4.7, 200 clients without a pause). So a line
// has a connection of its own after one that took long.
type connection struct {
	net.Conn
	// once is true for one that HAProxy closes after a line.
	once bool
	// greeting goes before the first line.
	greeting string
}

// severity has HAProxy number its messages, interactive wait for more after a line.
const severity, interactive = "set severity-output number;", "prompt;"

// endOfAnswer is HAProxy's prompt in interactive mode.
const endOfAnswer = "> "

// A line took long if it took more than busyAnswer, and busyCost for each unit of its cost (line.cost).
const busyAnswer, busyCost = 2 * time.Millisecond, 30 * time.Microsecond

// connect returns the open connection, or makes one.
func (r *Runtime) connect() (*connection, error) {
	if !r.busy && r.held != nil && r.held.usable() {
		return r.held, nil
	}
	conn, err := r.dial()
	if err != nil {
		return nil, err
	}
	if r.busy {
		return &connection{Conn: conn, once: true, greeting: severity}, nil
	}
	r.hangUp()
	r.held = &connection{Conn: conn, greeting: severity + interactive}
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

// usable reports whether HAProxy has neither closed the connection, which it does after two minutes without a
// command ("stats timeout"), nor sent anything unasked. It is looked at before a line, because a line is never sent
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

// ask sends a line, and returns the answers to its units (line.read). An error means that HAProxy has not got
// it. If answers are missing the connection is of no use any more.
func (c *connection) ask(l *line) ([]string, error) {
	err := c.SetDeadline(time.Now().Add(readLimit))
	if err == nil {
		_, err = io.WriteString(c, c.greeting+l.ask(c.once))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	c.greeting = ""
	end := endOfAnswer
	if c.once {
		end = "\n"
	}
	var text []byte
	part := make([]byte, 4<<10)
	from := &bounded{c, maxAnswer}
	for {
		n, err := from.Read(part)
		text = append(text, part[:n]...)
		if err == nil && !bytes.HasSuffix(text, []byte(end)) {
			continue
		}
		if answers := l.read(string(text)); err != nil || len(answers) == len(l.units) {
			return answers, nil //nolint:nilerr // the answers show whether all are there
		}
	}
}
