package witness

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/test/cluster"
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

// Answering returns the cards that answer now, within the time to wait, for an
// address on the cluster's LAN. Nobody but the caller learns of the answers.
func Answering(c *cluster.Cluster, address string, wait time.Duration) (cards []string, err error) {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return nil, fmt.Errorf("ask for an address: %w", err)
	}
	var conn *packet.Conn
	err = inside(c.Name()+"-"+client, func() error {
		ifi, err := net.InterfaceByName("eth0")
		if err != nil {
			return fmt.Errorf("find the interface: %w", err)
		}
		conn, err = packet.Listen(ifi, packet.Raw, unix.ETH_P_ARP, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for an address: %w", err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, fmt.Errorf("ask for an address: %w", err)
	}
	ask(conn, addr)
	for buf := make([]byte, 128); ; {
		n, _, err := conn.ReadFrom(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return cards, nil
		}
		if err != nil {
			return nil, fmt.Errorf("ask for an address: %w", err)
		}
		f, ok := parse(buf[:n])
		if ok && f.reply && f.from.Addr() == addr && f.to.Addr() != addr && !slices.Contains(cards, f.owner.String()) {
			cards = append(cards, f.owner.String())
		}
	}
}
