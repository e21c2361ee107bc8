package l2

import (
	"fmt"
	"net"
	"syscall"

	"github.com/mdlayher/packet"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// receiveBuffer is what a socket asks for, in bytes, so that a burst of requests
// outlasts a moment in which the receiver does not run. The kernel may grant less
// (net.core.rmem_max).
const receiveBuffer = 4 << 20

// socket sends and receives whole frames of one kind on one interface. One
// goroutine reads; frames may be sent from any. The zero socket is closed.
//
// It reads and writes the descriptor of a packet.Conn, whose own methods make
// addresses that are not needed here: five allocations for each answer.
type socket struct {
	conn *packet.Conn
	raw  syscall.RawConn
}

// openSocket needs NET_RAW. The filter is in place before the first frame comes.
func openSocket(l link, kind int, filter []bpf.RawInstruction) (socket, error) {
	conn, err := packet.Listen(&net.Interface{Index: l.index, Name: l.name, HardwareAddr: l.mac.addr()}, packet.Raw, kind, &packet.Config{Filter: filter})
	if err != nil {
		return socket{}, fmt.Errorf("open packet socket (it needs NET_RAW): %w", err)
	}
	s := socket{conn: conn}
	if s.raw, err = conn.SyscallConn(); err == nil {
		err = s.setBuffer(receiveBuffer)
	}
	if err != nil {
		conn.Close() //nolint:gosec // the first error says more
		return socket{}, fmt.Errorf("set receive buffer: %w", err)
	}
	return s, nil
}

func (s socket) setBuffer(bytes int) error {
	var failed error
	if err := s.raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
	}); err != nil {
		return err //nolint:wrapcheck // the caller says what for
	}
	return failed //nolint:wrapcheck // the caller says what for
}

// reader returns a function that reads one frame into buf and returns its length. It
// does not allocate.
func (s socket) reader(buf []byte) func() (int, error) {
	var n int
	var failed error
	read := func(fd uintptr) bool {
		n, failed = unix.Read(int(fd), buf)
		return failed != unix.EAGAIN
	}
	return func() (int, error) {
		if err := s.raw.Read(read); err != nil {
			return 0, err //nolint:wrapcheck // the receiver says what for
		}
		return n, failed
	}
}

func (s socket) write(frame []byte) error {
	var failed error
	if err := s.raw.Write(func(fd uintptr) bool {
		_, failed = unix.Write(int(fd), frame)
		return failed != unix.EAGAIN
	}); err != nil {
		return err //nolint:wrapcheck // the caller says what for
	}
	return failed //nolint:wrapcheck // the caller says what for
}

func (s socket) isOpen() bool { return s.conn != nil }

func (s socket) close() error { return s.conn.Close() } //nolint:wrapcheck // the caller says what for
