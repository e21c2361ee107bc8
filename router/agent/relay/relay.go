package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/router/agent/snapshot"
)

// Options of a Relay.
type Options struct {
	Metrics *Metrics
	Log     *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// Check returns why an address may not be sent to, or nil.
	Check func(netip.Addr) error
	// Lock is a file. Of the processes with the same one, one relays at a time. Empty is for
	// a process that is alone.
	Lock string
	// Limits are the bounds of sessions; those that are zero have defaults.
	Limits Limits
}

const (
	// waitForLock is between two attempts to become the process that relays.
	waitForLock = 100 * time.Millisecond
	// look is how often silent sessions are looked for, and ports that could not be opened
	// are tried again.
	look = 500 * time.Millisecond
	// burst is how many datagrams of a socket are taken before others have their turn.
	burst = 32
	// longestDatagram is what UDP can carry.
	longestDatagram = 65535
	// mostEvents is how many sockets are asked about at a time.
	mostEvents = 128
)

// Relay carries datagrams. Its fields but those that Set uses belong to the goroutine of
// Run.
type Relay struct {
	o Options
	// epoll waits for all sockets, and wake ends its waiting.
	epoll, wake int
	// next is what Set has brought and Run has not taken yet; opening keeps wake from being
	// used after its end.
	next    atomic.Pointer[[]snapshot.Relay]
	opening sync.Mutex
	closed  bool

	lock      *os.File
	leads     bool
	wanted    map[uint16]*route
	listeners map[uint16]*listener
	// sockets are those that clients send to, sessions those to pods, both by descriptor.
	sockets  map[int]*socket
	sessions map[int]*session
	table    *table
	now      time.Time
	looked   time.Time
	buffer   []byte
	control  []byte
}

// New returns a Relay without ports.
func New(o Options) (*Relay, error) {
	o.Limits = o.Limits.completed()
	r := &Relay{
		o: o, wanted: map[uint16]*route{}, listeners: map[uint16]*listener{}, sockets: map[int]*socket{}, sessions: map[int]*session{},
		table: newTable(o.Limits), buffer: make([]byte, longestDatagram), control: make([]byte, 256),
	}
	var err error
	if r.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("relay datagrams: %w", err)
	}
	if r.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = unix.Close(r.epoll)
		return nil, fmt.Errorf("relay datagrams: %w", err)
	}
	if err := r.listen(r.wake); err != nil {
		_ = unix.Close(r.epoll)
		_ = unix.Close(r.wake)
		return nil, err
	}
	return r, nil
}

// Set has other ports relayed from now on. Sessions with pods that are still there stay.
func (r *Relay) Set(all []snapshot.Relay) {
	r.next.Store(&all)
	r.wakeUp()
}

func (r *Relay) wakeUp() {
	r.opening.Lock()
	defer r.opening.Unlock()
	if !r.closed {
		_, _ = unix.Write(r.wake, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

// Run relays until ctx ends. It can be called once.
func (r *Relay) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.wakeUp)
	defer stop()
	defer r.close()
	events := make([]unix.EpollEvent, mostEvents)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(r.epoll, events, r.pause())
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("relay datagrams: %w", err)
		}
		r.now = r.o.Now()
		for _, e := range events[:max(n, 0)] {
			r.handle(int(e.Fd))
		}
		r.keepHouse()
	}
	return nil
}

// pause is how long to wait for datagrams, in milliseconds; -1 is for ever.
func (r *Relay) pause() int {
	switch {
	case len(r.wanted) == 0 && len(r.listeners) == 0:
		return -1
	case !r.leads:
		return int(waitForLock.Milliseconds())
	}
	return int(look.Milliseconds())
}

func (r *Relay) handle(fd int) {
	switch s, l := r.sessions[fd], r.sockets[fd]; {
	case s != nil:
		r.answers(s)
	case l != nil:
		r.receive(l)
	case fd == r.wake:
		_, _ = unix.Read(r.wake, r.buffer[:8])
	}
}

// keepHouse takes in what Set has brought, and ends silent sessions.
func (r *Relay) keepHouse() {
	changed := false
	if next := r.next.Swap(nil); next != nil {
		r.wanted, changed = routesOf(*next, r.wanted), true
	}
	if !r.leads && len(r.wanted) > 0 {
		r.leads = r.lead()
		changed = r.leads
	}
	if !r.leads {
		return
	}
	due := r.now.Sub(r.looked) >= look || r.now.Before(r.looked)
	if changed || due && len(r.listeners) < len(r.wanted) {
		r.replaceListeners()
	}
	if !due {
		return
	}
	r.looked = r.now
	for s := r.table.silent(r.now); s != nil; s = r.table.silent(r.now) {
		r.end(s)
	}
}

// lead reports whether this process is the one that relays.
func (r *Relay) lead() bool {
	if r.o.Lock == "" {
		return true
	}
	if r.lock == nil {
		f, err := os.OpenFile(r.o.Lock, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			r.o.Log.Error("cannot open the lock of the relay", "err", err)
			return false
		}
		r.lock = f
	}
	if unix.Flock(int(r.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return false
	}
	r.o.Log.Info("relaying datagrams")
	return true
}

// end ends a session.
func (r *Relay) end(s *session) {
	r.table.remove(s)
	delete(r.sessions, s.fd)
	_ = unix.Close(s.fd)
	r.o.Metrics.sessions.Set(float64(r.table.len()))
}

func (r *Relay) close() {
	for _, l := range r.listeners {
		r.closeListener(l)
	}
	r.opening.Lock()
	defer r.opening.Unlock()
	r.closed = true
	_, _ = unix.Close(r.wake), unix.Close(r.epoll)
	if r.lock != nil {
		_ = r.lock.Close()
	}
}

// listen has the relay wait for datagrams of a socket.
func (r *Relay) listen(fd int) error {
	if err := unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("wait for a socket: %w", err)
	}
	return nil
}
