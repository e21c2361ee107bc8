package netmonitor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// atOnce is how many requests are sent together at most, after a time in
	// which the monitor did not get to send any. The rest of them is not sent.
	atOnce = 64
	// look is how often to see which requests are overdue, and whether to end.
	look = 50 * time.Millisecond
)

// sender sends requests at a fixed rate, whether or not they are answered, each on
// a connection of its own. It is one thread: to start and wake a goroutine for
// each would take more of the machine than all else that it does.
type sender struct {
	target  unix.Sockaddr
	sources []netip.Addr
	text    []byte // of a request
	// number is that of the next request, and tells its port and source.
	number      int64
	poll, clock int
	open        map[int]*exchange // by socket
	// done is told of each request and of the client's port.
	done func(q Request, port uint16)
}

// exchange is a request under way.
type exchange struct {
	Request
	port  uint16
	until time.Time
	asked bool
	// answer is its beginning.
	answer []byte
}

func newSender(o *Options, target netip.AddrPort, done func(Request, uint16)) (*sender, error) {
	s := &sender{
		target: sockaddr(target), open: map[int]*exchange{}, done: done, number: time.Now().UnixNano() / int64(portTime),
		text: fmt.Appendf(nil, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", cmp.Or(o.Path, "/"), cmp.Or(o.Host, "echo")),
	}
	for _, text := range o.Sources {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("source of requests: %w", err)
		}
		s.sources = append(s.sources, addr)
	}
	if len(s.sources) == 0 {
		s.sources = []netip.Addr{netip.IPv6Unspecified()}
		if target.Addr().Is4() {
			s.sources = []netip.Addr{netip.IPv4Unspecified()}
		}
	}
	return s, s.start(cmp.Or(o.Every, 10*time.Millisecond))
}

func (s *sender) start(every time.Duration) (err error) {
	if s.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("wait for sockets: %w", err)
	}
	if s.clock, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return fmt.Errorf("make a clock: %w", err)
	}
	pace := unix.NsecToTimespec(every.Nanoseconds())
	if err := unix.TimerfdSettime(s.clock, 0, &unix.ItimerSpec{Interval: pace, Value: pace}, nil); err != nil {
		return fmt.Errorf("set a clock: %w", err)
	}
	return s.await(s.clock, unix.EPOLLIN)
}

func (s *sender) await(fd int, events uint32) error {
	if err := unix.EpollCtl(s.poll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Fd: int32(fd), Events: events}); err != nil {
		return fmt.Errorf("wait for a socket: %w", err)
	}
	return nil
}

// run sends until the context ends, and then waits for what is under way.
func (s *sender) run(ctx context.Context) error {
	defer unix.Close(s.poll)
	events := make([]unix.EpollEvent, 2*atOnce)
	for next, sending := time.Now(), true; sending || len(s.open) > 0; {
		n, err := unix.EpollWait(s.poll, events, int(look.Milliseconds()))
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for sockets: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			if fd := int(e.Fd); fd != s.clock {
				s.serve(fd)
			} else if sending {
				s.due()
			}
		}
		now := time.Now()
		if now.Before(next) {
			continue
		}
		next = now.Add(look)
		s.expire(now)
		if sending && ctx.Err() != nil {
			sending = false
			_ = unix.Close(s.clock)
		}
	}
	return nil
}

// due sends the requests whose time has come.
func (s *sender) due() {
	var count [8]byte
	if n, err := unix.Read(s.clock, count[:]); err != nil || n != len(count) {
		return
	}
	for range min(binary.NativeEndian.Uint64(count[:]), atOnce) {
		s.send()
	}
}

// send begins a request.
func (s *sender) send() {
	x := &exchange{Request: Request{At: time.Now()}}
	x.until = x.At.Add(Timeout)
	fd, err := s.connect(x)
	if err != nil {
		x.Error = fmt.Sprintf("connect: %v", err)
		s.done(x.Request, x.port)
		return
	}
	s.open[fd] = x
}

// connect begins a connection from the next port that is free.
func (s *sender) connect(x *exchange) (fd int, err error) {
	network := unix.AF_INET6
	if _, v4 := s.target.(*unix.SockaddrInet4); v4 {
		network = unix.AF_INET
	}
	if fd, err = unix.Socket(network, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, err
	}
	for range atOnce {
		x.port = portOf(s.number)
		source := s.sources[int(s.number/ports)%len(s.sources)]
		s.number++
		if err = unix.Bind(fd, sockaddr(netip.AddrPortFrom(source, x.port))); !errors.Is(err, unix.EADDRINUSE) {
			break
		}
	}
	if err == nil {
		err = s.await(fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET)
	}
	if err == nil {
		err = unix.Connect(fd, s.target)
	}
	if err != nil && !errors.Is(err, unix.EINPROGRESS) {
		_ = unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

// serve goes on with the request whose socket has something to tell.
func (s *sender) serve(fd int) {
	x := s.open[fd]
	if x == nil {
		return
	}
	if !x.asked {
		if code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || code != 0 {
			s.end(fd, fmt.Sprintf("connect: %v", cmp.Or[error](err, unix.Errno(code))))
			return
		}
		if _, err := unix.Write(fd, s.text); err != nil {
			if !errors.Is(err, unix.EAGAIN) {
				s.end(fd, fmt.Sprintf("ask: %v", err))
			}
			return
		}
		x.asked, x.until = true, time.Now().Add(Timeout)
	}
	var buf [1024]byte
	for {
		n, err := unix.Read(fd, buf[:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil:
			s.end(fd, fmt.Sprintf("wait for the answer: %v", err))
			return
		case n == 0: // the server closes first, as nodes and pods expect
			s.end(fd, judge(x.answer))
			return
		case len(x.answer) < len(buf):
			x.answer = append(x.answer, buf[:n]...)
		}
	}
}

// judge returns what is wrong with an answer.
func judge(answer []byte) string {
	first, _, whole := bytes.Cut(answer, []byte("\r\n"))
	switch {
	case !whole:
		return "wait for the answer: it ended too soon"
	case !bytes.Contains(first, []byte(" 200 ")):
		return fmt.Sprintf("answer %q", first)
	}
	return ""
}

// expire gives up the requests that have waited too long.
func (s *sender) expire(now time.Time) {
	for fd, x := range s.open {
		if now.Before(x.until) {
			continue
		}
		what := "connect"
		if x.asked {
			what = "wait for the answer"
		}
		s.end(fd, fmt.Sprintf("%s: nothing for %v", what, Timeout))
	}
}

// end ends a request.
func (s *sender) end(fd int, failure string) {
	x := s.open[fd]
	delete(s.open, fd)
	x.Took, x.Error = time.Since(x.At), failure
	if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
		x.Resent = info.Total_retrans > 0
	}
	_ = unix.Close(fd)
	s.done(x.Request, x.port)
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}
