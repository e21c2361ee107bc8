package witness

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstPort = 1024
	// portTime is how long a port is that of the next request. A witness that
	// sends no more often than that uses none that an earlier one used within
	// eleven minutes.
	portTime = 10 * time.Millisecond
)

// portOf is the client's port for the n-th request. The kernel would choose the
// same ones again within half a minute. Nodes remember the pod that an earlier
// connection from it went to, for two minutes, or for days if they did not see
// its end; if that pod is gone, so are all packets of the new connection.
func portOf(n int64) uint16 { return uint16(firstPort + n%(1<<16-firstPort)) }

// probe is a look at a socket whose dial may fail.
type probe struct {
	port uint16
	fd   int
}

// keep chooses the socket's port, if it is free, and holds on to the socket.
func (p *probe) keep(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		_ = unix.Bind(int(fd), &unix.SockaddrInet4{Port: int(p.port)})
		p.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 3)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("hold on to a socket: %w", err)
	}
	return nil
}

// look returns the socket's port, and whether its first packet was sent again, and lets it go.
func (p *probe) look() (port uint16, resent bool) {
	if p.fd == 0 {
		return 0, false
	}
	defer unix.Close(p.fd)
	if name, err := unix.Getsockname(p.fd); err == nil {
		if v4, ok := name.(*unix.SockaddrInet4); ok {
			port = uint16(v4.Port)
		}
	}
	if info, err := unix.GetsockoptTCPInfo(p.fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
		resent = info.Total_retrans > 0
	}
	return port, resent
}
