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

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/wire"
)

const (
	// checkEvery is how often a process is asked whether it still works, and
	// silence how long it may take to answer. A peer's message may also have it
	// compute for ever.
	checkEvery = 5 * time.Second
	silence    = 20 * time.Second
	// reportRate is how often in a second a process may report what nobody asked
	// for, and reportBurst how often at once. Each report has the speaker look at
	// all sessions, and may have it write to the API server.
	reportRate  = 10
	reportBurst = 100
	// writeLimit is how long a process may take to read an order.
	writeLimit = 10 * time.Second
)

// child is one process.
type child struct {
	*session
	cmd             *exec.Cmd
	orders, reports *os.File
	// gone says that nothing more is reported, and why; silent is closed then.
	gone   chan error
	silent chan struct{}
	// errors is what it writes to its standard error.
	errors *trace
	// told is what it was told, first that it was told nothing yet.
	told  orders
	first bool
	// heard is when it last answered, as far as it was looked at.
	heard   time.Time
	answers uint64
}

// hold starts a process, tells it what to do, and returns why it ended; nothing
// if the session is to end.
func (s *session) hold() (why string) {
	if s.over() {
		return ""
	}
	c, err := s.start()
	if err != nil {
		return wire.Printable(err.Error())
	}
	err = c.feed()
	s.mu.Lock()
	s.alive = false
	s.past, s.counters = s.past.Plus(s.counters), bgp.Counters{}
	s.tellReported()
	s.mu.Unlock()
	if err == nil {
		return ""
	}
	return wire.Printable(cmp.Or(c.errors.reason(), err.Error()))
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
		session: s, cmd: cmd, orders: files[1], reports: files[2], gone: make(chan error, 1), silent: make(chan struct{}),
		errors: newTrace(s.opts.Output, files[4], s.drop), first: true, heard: s.opts.Now(),
	}
	s.mu.Lock()
	s.alive, s.answers = true, s.wanted.asked // it does not answer what another was asked
	s.mu.Unlock()
	go c.read()
	go c.errors.read()
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
	defer close(c.silent)
	defer c.reports.Close()
	lines := wire.Reports(c.reports)
	unasked := rate.NewLimiter(reportRate, reportBurst)
	for {
		r, err := wire.ReadReport(lines)
		if err == nil {
			err = c.take(r, unasked.Allow)
		}
		if err != nil {
			c.gone <- err
			return
		}
	}
}

// feed tells the process what to do until it ends. It returns nil if it ended as
// it was told.
func (c *child) feed() error {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	c.poke()
	for {
		select {
		case <-c.wake:
		case <-check.C:
			if err := c.answering(); err != nil {
				return c.kill(err)
			}
		case err := <-c.gone:
			return c.kill(err)
		}
		order, last := c.next()
		if order == nil {
			continue
		}
		if err := c.say(order); err != nil {
			return c.kill(err)
		}
		if last {
			c.leave(order.End.Limit)
			return nil
		}
	}
}

// answering asks whether the process works, and whether it answered before.
func (c *child) answering() error {
	now := c.opts.Now()
	c.mu.Lock()
	answers, asked := c.session.answers, c.wanted.asked
	c.mu.Unlock()
	if answers != c.answers || answers == asked {
		c.heard, c.answers = now, answers
	}
	if now.Sub(c.heard) > silence {
		return fmt.Errorf("it did not answer for %v", silence)
	}
	c.ask()
	return nil
}

// next returns what the process is to be told, nil if that is nothing, and
// whether it is the last order.
func (c *child) next() (o *wire.Order, last bool) {
	c.mu.Lock()
	now, ending := c.wanted, c.ending
	c.mu.Unlock()
	if ending != nil {
		return &wire.Order{End: ending}, true
	}
	o = &wire.Order{}
	gone, changed := bgp.Differences(c.told.routes, now.routes)
	for _, r := range gone {
		o.Withdraw = append(o.Withdraw, r.Prefix)
	}
	o.Announce = changed
	some := len(gone)+len(changed) > 0
	if c.first || c.told.peer != now.peer || !slices.Equal(c.told.node, now.node) {
		peer := now.peer
		o.Peer, o.Node, some = &peer, nonNil(now.node), true
	}
	if c.told.suspended != now.suspended {
		o.Suspend, some = &now.suspended, true
	}
	if c.told.asked != now.asked {
		o.Ask, some = now.asked, true
	}
	o.Restarting = c.first && c.restarting
	c.told, c.first = now, false
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

func (c *child) say(o *wire.Order) error {
	if err := c.orders.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil {
		return fmt.Errorf("give an order: %w", err)
	}
	return wire.Write(c.orders, o)
}
