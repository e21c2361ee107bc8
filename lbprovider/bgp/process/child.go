package process

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"github.com/fairlead/fairlead/api/terminal"
	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/wire"
)

const (
	// checkEvery is how often a process is asked whether it still works, and
	// silence how long it may take to answer. A peer's message may also have it
	// compute for ever.
	checkEvery  = 5 * time.Second
	answerLimit = 20 * time.Second
	// reportRate is how often in a second a process may report what nobody asked
	// for, and reportBurst how often at once. Each report has the speaker look at
	// all sessions, and may have it write to the API server.
	reportRate  = 10
	reportBurst = 100
	// writeLimit is how long a process may take to read a command.
	writeLimit = 10 * time.Second
)

// child is one process.
type child struct {
	*session
	cmd               *exec.Cmd
	commands, reports *os.File
	// ended says that nothing more is reported, and why; readDone is closed then.
	ended    chan error
	readDone chan struct{}
	// stderr is what it writes to its standard error.
	stderr *childLog
	// sent is what it was sent, first that it was sent nothing yet.
	sent  target
	first bool
	// answeredAt is when it last answered, as far as it was looked at.
	answeredAt time.Time
	answers    uint64
}

// runProcess starts a process, sends it what to do, and returns why it ended; nothing
// if the session is to end.
func (s *session) runProcess() (why string) {
	if s.isEnding() {
		return ""
	}
	c, err := s.start()
	if err != nil {
		return terminal.Excerpt(err.Error(), wire.MaxProblem)
	}
	err = c.sendCommands()
	s.mu.Lock()
	s.alive = false
	s.past, s.counters = s.past.Plus(s.counters), bgp.Counters{}
	s.notifyReported()
	s.mu.Unlock()
	if err == nil {
		return ""
	}
	return terminal.Excerpt(cmp.Or(c.stderr.crashReason(), err.Error()), wire.MaxProblem)
}

func (s *session) start() (*child, error) {
	s.mu.Lock()
	raw := s.wanted.peer.Interface != ""
	s.mu.Unlock()
	var files [6]*os.File
	defer func() {
		for _, i := range []int{0, 3, 5} { // the process's ends
			if files[i] != nil {
				_ = files[i].Close() // it has its own
			}
		}
	}()
	for i := 0; i < len(files); i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil { //nolint:gosec // of six, in pairs
			return nil, errors.Join(fmt.Errorf("connect to the process: %w", err), closeAll(files[:]))
		}
	}
	cmd := exec.Command(s.opts.Program, s.opts.Args...)
	cmd.Dir, cmd.Env = "/", append([]string{}, s.opts.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	// A group of its own: what it starts, if it is taken over, ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if raw { // router advertisements need it, and nothing else
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_RAW}
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", s.opts.Program, err), closeAll([]*os.File{files[1], files[2], files[4]}))
	}
	c := &child{
		session: s, cmd: cmd, commands: files[1], reports: files[2], ended: make(chan error, 1), readDone: make(chan struct{}),
		stderr: newChildLog(s.opts.Output, files[4], s.countDropped), first: true, answeredAt: s.opts.Now(),
	}
	s.mu.Lock()
	s.alive, s.answers = true, s.wanted.asked // it does not answer what another was asked
	s.mu.Unlock()
	go c.read()
	go c.stderr.read()
	return c, nil
}

func closeAll(files []*os.File) error {
	var failed []error
	for _, f := range files {
		if f != nil {
			failed = append(failed, f.Close())
		}
	}
	return errors.Join(failed...)
}

// read takes reports until there are no more, or one that must not be.
func (c *child) read() {
	defer close(c.readDone)
	defer c.reports.Close()
	lines := wire.Reports(c.reports)
	unasked := rate.NewLimiter(reportRate, reportBurst)
	for {
		r, err := wire.ReadReport(lines)
		if err == nil {
			err = c.apply(r, unasked.Allow)
		}
		if err != nil {
			c.ended <- err
			return
		}
	}
}

// sendCommands sends the process what to do until it ends. It returns nil if it ended
// because of a command.
func (c *child) sendCommands() error {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	c.wakeUp()
	for {
		select {
		case <-c.wake:
		case <-check.C:
			if err := c.checkAnswers(); err != nil {
				return c.kill(err)
			}
		case err := <-c.ended:
			return c.kill(err)
		}
		order, last := c.next()
		if order == nil {
			continue
		}
		if err := c.send(order); err != nil {
			return c.kill(err)
		}
		if last {
			c.exit(order.End.Limit)
			return nil
		}
	}
}

// checkAnswers asks whether the process works, and whether it answered before.
func (c *child) checkAnswers() error {
	now := c.opts.Now()
	c.mu.Lock()
	answers, asked := c.session.answers, c.wanted.asked
	c.mu.Unlock()
	if answers != c.answers || answers == asked {
		c.answeredAt, c.answers = now, answers
	}
	if now.Sub(c.answeredAt) > answerLimit {
		return fmt.Errorf("it did not answer for %v", answerLimit)
	}
	c.ask()
	return nil
}

// next returns the next command for the process, nil if there is none, and
// whether it is the last one.
func (c *child) next() (o *wire.Command, last bool) {
	c.mu.Lock()
	now, ending := c.wanted, c.ending
	c.mu.Unlock()
	if ending != nil {
		return &wire.Command{End: ending}, true
	}
	o = &wire.Command{}
	gone, changed := bgp.Differences(c.sent.routes, now.routes)
	for _, r := range gone {
		o.Withdraw = append(o.Withdraw, r.Prefix)
	}
	o.Announce = changed
	some := len(gone)+len(changed) > 0
	if c.first || c.sent.peer != now.peer || !slices.Equal(c.sent.node, now.node) {
		peer := now.peer
		o.Peer, o.Node, some = &peer, nonNil(now.node), true
	}
	if c.sent.suspended != now.suspended {
		o.Suspend, some = &now.suspended, true
	}
	if c.sent.asked != now.asked {
		o.Ask, some = now.asked, true
	}
	o.Restarting = c.first && c.restarting
	c.sent, c.first = now, false
	if !some {
		return nil, false
	}
	return o, false
}

func nonNil(addrs []netip.Addr) []netip.Addr {
	if addrs == nil {
		return []netip.Addr{}
	}
	return addrs
}

func (c *child) send(o *wire.Command) error {
	if err := c.commands.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return fmt.Errorf("send a command: %w", err)
	}
	return wire.Write(c.commands, o)
}
