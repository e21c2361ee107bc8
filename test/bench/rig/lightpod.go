package rig

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// podsVariable tells a process that it is the light pods.
const podsVariable = "FAIRLEAD_RIG_PODS"

// ServePods is what main calls first: in the process that is the light pods it
// serves, and does not return.
func ServePods() {
	if os.Getenv(podsVariable) == "" {
		return
	}
	fmt.Fprintln(os.Stderr, "light pods:", serveLight(PodPort))
	os.Exit(1)
}

// UseLightPods replaces the pods of PodPort by a process of its own, which
// answers every request with the address that was asked and costs less than
// any proxy, so that pods do not bound what is measured before them. It ends
// with the rig's namespace.
func (r *Rig) UseLightPods() error {
	if err := r.pods[0].Close(); err != nil {
		return fmt.Errorf("stop the pods: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("start the light pods: %w", err)
	}
	r.lightPods = exec.Command(self)
	r.lightPods.Env = append(os.Environ(), podsVariable+"=1", "GOMAXPROCS=1", "GOGC=off")
	r.lightPods.Stderr = os.Stderr
	if err := r.lightPods.Start(); err != nil {
		return fmt.Errorf("start the light pods: %w", err)
	}
	return waitForPort(PodPort)
}

// LightPods returns the process of the light pods.
func (r *Rig) LightPods() int { return r.lightPods.Process.Pid }

func waitForPort(port int) error {
	return Until(20*time.Second, fmt.Sprintf("port %d", port), func() (bool, error) {
		conn, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return false, fmt.Errorf("look at a port: %w", err)
		}
		defer unix.Close(conn)
		return unix.Connect(conn, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) == nil, nil
	})
}

// light are the connections of the light pods: what each is answered.
type light struct {
	listener, poll int
	answers        map[int][]byte
}

// serveLight answers every HTTP/1.1 request without a body on a port of all
// addresses until accepting fails.
func serveLight(port int) error {
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
	}
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
	}
	err = errors.Join(
		unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(listener, &unix.SockaddrInet4{Port: port}),
		unix.Listen(listener, 4096),
		unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, listener, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(listener)}),
	)
	if err != nil {
		return fmt.Errorf("listen on port %d: %w", port, err)
	}
	l := &light{listener: listener, poll: poll, answers: map[int][]byte{}}
	events, buffer := make([]unix.EpollEvent, 256), make([]byte, 64<<10)
	for {
		n, err := unix.EpollWait(poll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for requests: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) != listener {
				l.answer(int(e.Fd), buffer)
			} else if err := l.accept(); err != nil {
				return err
			}
		}
	}
}

// accept takes the connections that wait.
func (l *light) accept() error {
	for {
		conn, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("accept: %w", err)
		}
		_ = unix.SetsockoptInt(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // slower without, not wrong
		address, err := unix.Getsockname(conn)
		own, ok := address.(*unix.SockaddrInet4)
		if err != nil || !ok {
			return fmt.Errorf("accept: what was asked is unknown: %w", err)
		}
		body := netip.AddrFrom4(own.Addr).String()
		l.answers[conn] = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nContent-Type: text/plain\r\n\r\n%s", len(body), body)
		if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, conn, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(conn)}); err != nil {
			return fmt.Errorf("accept: %w", err)
		}
	}
}

// answer answers what has come over a connection. A request comes in one
// piece, as proxies write it.
func (l *light) answer(conn int, buffer []byte) {
	n, err := unix.Read(conn, buffer)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	gone := err != nil || n <= 0
	if !gone {
		for range bytes.Count(buffer[:n], []byte("\r\n\r\n")) {
			_, err := unix.Write(conn, l.answers[conn])
			gone = gone || err != nil
		}
	}
	if gone {
		delete(l.answers, conn)
		_ = unix.Close(conn) // the other side has left
	}
}
