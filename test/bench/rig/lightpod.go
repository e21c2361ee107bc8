package rig

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// lightAnswer is what a light pod says to every request.
const lightAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Type: text/plain\r\n\r\npod"

// ServeLight answers every HTTP/1.1 request without a body on a port of all
// addresses, in the calling goroutine, until accepting fails. It costs less
// than any proxy, so that pods do not bound what is measured before them.
func ServeLight(port int) error {
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("serve light pods: %w", err)
	}
	defer unix.Close(listener)
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("serve light pods: %w", err)
	}
	defer unix.Close(poll)
	err = errors.Join(
		unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.Bind(listener, &unix.SockaddrInet4{Port: port}),
		unix.Listen(listener, 4096),
		unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, listener, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(listener)}),
	)
	if err != nil {
		return fmt.Errorf("serve light pods on port %d: %w", port, err)
	}
	events, buffer := make([]unix.EpollEvent, 256), make([]byte, 64<<10)
	for {
		n, err := unix.EpollWait(poll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("serve light pods: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			switch {
			case int(e.Fd) != listener:
				answerLight(int(e.Fd), buffer)
			default:
				if err := acceptLight(listener, poll); err != nil {
					return err
				}
			}
		}
	}
}

// acceptLight takes the connections that wait.
func acceptLight(listener, poll int) error {
	for {
		conn, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("accept: %w", err)
		}
		_ = unix.SetsockoptInt(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) // slower without, not wrong
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, conn, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(conn)}); err != nil {
			return fmt.Errorf("accept: %w", err)
		}
	}
}

// answerLight answers what has come over a connection. A request comes in one
// piece, as proxies write it.
func answerLight(conn int, buffer []byte) {
	n, err := unix.Read(conn, buffer)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return
	}
	if err != nil || n <= 0 {
		_ = unix.Close(conn) // the other side is gone
		return
	}
	for range bytes.Count(buffer[:n], []byte("\r\n\r\n")) {
		if _, err := unix.Write(conn, []byte(lightAnswer)); err != nil {
			_ = unix.Close(conn) // the other side is gone
			return
		}
	}
}
