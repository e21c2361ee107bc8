package l2

import (
	"fmt"
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// receiveBuffer is what a socket asks for, in bytes, so that a burst of requests
// outlasts a moment in which the receiver does not run. The kernel may grant less
// (net.core.rmem_max).
const receiveBuffer = 4 << 20

// socket sends and receives whole frames of one kind on one interface. Neither
// allocates. Frames may be sent from any goroutine.
type socket struct{ file *os.File }

// openSocket needs NET_RAW. The filter is in place before the first frame comes.
func openSocket(ifindex int, kind uint16, filter []bpf.RawInstruction) (socket, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return socket{}, fmt.Errorf("open packet socket (it needs NET_RAW): %w", err)
	}
	if err := bindSocket(fd, ifindex, kind, filter); err != nil {
		unix.Close(fd) //nolint:gosec // the first error tells more
		return socket{}, err
	}
	return socket{file: os.NewFile(uintptr(fd), "packet socket")}, nil
}

func bindSocket(fd, ifindex int, kind uint16, filter []bpf.RawInstruction) error {
	prog := make([]unix.SockFilter, len(filter))
	for i, in := range filter {
		prog[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	fprog := &unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, fprog); err != nil {
		return fmt.Errorf("attach filter: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer); err != nil {
		return fmt.Errorf("set receive buffer: %w", err)
	}
	network := kind<<8 | kind>>8 // the kernel wants network byte order
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network, Ifindex: ifindex}); err != nil {
		return fmt.Errorf("bind packet socket: %w", err)
	}
	return nil
}

func (s socket) read(buf []byte) (int, error) { return s.file.Read(buf) } //nolint:wrapcheck // the receiver says what for

func (s socket) write(frame []byte) error {
	_, err := s.file.Write(frame)
	return err //nolint:wrapcheck // the caller says what for
}

func (s socket) close() error { return s.file.Close() } //nolint:wrapcheck // the caller says what for
