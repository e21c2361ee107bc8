package relay

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// family is one of the two kinds of addresses.
type family struct {
	domain int
	// level and option have the kernel say which address a datagram came to.
	level, option int
}

// families are those of a port's sockets.
func families() []family {
	return []family{
		{unix.AF_INET, unix.IPPROTO_IP, unix.IP_PKTINFO},
		{unix.AF_INET6, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO},
	}
}

const socketKind = unix.SOCK_DGRAM | unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC

// Bytes that wait to be read: the kernel takes twice as much, for what it adds to them. All
// that pods send at a time to the sessions of a namespace must fit into the process's memory.
const (
	portBuffer    = 1 << 20
	sessionBuffer = 32 << 10
)

// errNoFamily is a machine without this kind of addresses.
var errNoFamily = errors.New("no addresses of this kind")

// openPort returns a socket for all of the pod's addresses of a family.
func openPort(f family, port uint16) (int, error) {
	fd, err := unix.Socket(f.domain, socketKind, 0)
	if err != nil {
		if errors.Is(err, unix.EAFNOSUPPORT) {
			return 0, errNoFamily
		}
		return 0, fmt.Errorf("open a socket: %w", err)
	}
	fail := func(what string, err error) (int, error) {
		_ = unix.Close(fd)
		if errors.Is(err, unix.EADDRNOTAVAIL) {
			return 0, errNoFamily
		}
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	var all unix.Sockaddr = &unix.SockaddrInet4{Port: int(port)}
	if f.domain == unix.AF_INET6 {
		all = &unix.SockaddrInet6{Port: int(port)}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1); err != nil {
			return fail("keep IPv4 apart", err)
		}
	}
	if err := unix.SetsockoptInt(fd, f.level, f.option, 1); err != nil {
		return fail("ask for the addresses of datagrams", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, portBuffer) // a smaller one drops more
	if err := unix.Bind(fd, all); err != nil {
		return fail(fmt.Sprintf("bind UDP port %d", port), err)
	}
	return fd, nil
}

// dial returns a socket that is connected to a pod.
func dial(pod netip.AddrPort) (int, error) {
	to := sockaddr(pod)
	domain := unix.AF_INET
	if pod.Addr().Unmap().Is6() {
		domain = unix.AF_INET6
	}
	fd, err := unix.Socket(domain, socketKind, 0)
	if err != nil {
		return 0, fmt.Errorf("open a socket: %w", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, sessionBuffer) // the kernel's default is larger
	if err := unix.Connect(fd, to); err != nil {
		_ = unix.Close(fd)
		return 0, fmt.Errorf("connect to %s: %w", pod, err)
	}
	return fd, nil
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if ip := a.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// addressOf returns the address and port of a client.
func addressOf(from unix.Sockaddr) netip.AddrPort {
	switch a := from.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}

// linkOf returns the interface of a client with a link-local address, otherwise 0: answers to
// others go where the table of routes says.
func linkOf(from unix.Sockaddr) uint32 {
	if a, ok := from.(*unix.SockaddrInet6); ok {
		return a.ZoneId
	}
	return 0
}

// askedAddress returns the address that a datagram came to, from the kernel's message.
func askedAddress(control []byte) (netip.Addr, bool) {
	for len(control) > 0 {
		head, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return netip.Addr{}, false
		}
		switch {
		case head.Level == unix.IPPROTO_IP && head.Type == unix.IP_PKTINFO && len(data) >= unix.SizeofInet4Pktinfo:
			return netip.AddrFrom4([4]byte(data[4:8])), true // struct in_pktinfo: index, ours, the header's
		case head.Level == unix.IPPROTO_IPV6 && head.Type == unix.IPV6_PKTINFO && len(data) >= unix.SizeofInet6Pktinfo:
			return netip.AddrFrom16([16]byte(data[:16])), true
		}
		control = rest
	}
	return netip.Addr{}, false
}

// answerPath is how a datagram goes back to a client: from the address that it asked.
type answerPath struct {
	fd      int
	to      unix.Sockaddr
	control []byte
}

func newAnswerPath(fd int, from unix.Sockaddr, asked netip.Addr) answerPath {
	p := answerPath{fd: fd, to: from}
	if asked.Is4() {
		p.control = unix.PktInfo4(&unix.Inet4Pktinfo{Spec_dst: asked.As4()})
	} else {
		p.control = unix.PktInfo6(&unix.Inet6Pktinfo{Addr: asked.As16(), Ifindex: linkOf(from)})
	}
	return p
}

func (p *answerPath) send(datagram []byte) error {
	_, err := unix.SendmsgN(p.fd, datagram, p.control, p.to, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	return err //nolint:wrapcheck // only counted
}
