package process

import (
	"cmp"
	"errors"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killAfter is how much longer than ordered a process may take to end.
	killAfter = 500 * time.Millisecond
	// lastWords is how long an ended process's output is read: what it started,
	// and what left its group, may hold it open for ever.
	lastWords = 500 * time.Millisecond
)

// exit waits until the process has ended by itself, for a while.
func (c *child) exit(limit time.Duration) {
	_ = c.wait(limit + killAfter) // however it ended: it is not needed any more
	_ = c.commands.Close()
}

// kill ends the process, if it has not ended, and returns the reason.
func (c *child) kill(why error) error {
	c.mu.Lock()
	c.alive = false
	c.mu.Unlock()
	_ = c.commands.Close() // which ends a process that closed its output only
	if ended := errors.Is(why, io.EOF) || errors.Is(why, syscall.EPIPE); ended {
		return cmp.Or(c.wait(killAfter), errors.New("it ended without a reason"))
	}
	_ = c.wait(0) // it was killed
	return why
}

// wait waits until the process has ended, for a while, ends it and what it
// started, and returns how it ended. Nothing of it is read after that.
func (c *child) wait(limit time.Duration) error {
	pid := c.cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// It is left unwaited for, so that its number is still its group's.
		for errors.Is(unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
			continue
		}
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
	_ = c.cmd.Process.Kill()          // it may have ended, or have left its group
	_ = unix.Kill(-pid, unix.SIGKILL) // there may be none left
	err := c.cmd.Wait()
	until := time.Now().Add(lastWords)
	_ = c.reports.SetReadDeadline(until) // it may be closed: all is read
	_ = c.stderr.from.SetReadDeadline(until)
	<-c.readDone
	<-c.stderr.done
	return err
}
