package bfd

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fairlead/fairlead/lbprovider/bfd/protocol"
)

const (
	// maxTTL is what every packet is sent with.
	maxTTL = 255
	// trafficClass is CS6, network control, so that busy links do not drop packets.
	trafficClass = 0xc0
	// Source ports, by RFC 5881 section 4.
	firstSource = 49152
	lastSource  = 65535
	sourceTries = 32
)

// sender is the socket that a session sends by. Its port stays the same.
type sender struct {
	cfg     Config
	conn    *net.UDPConn
	port    int
	ifindex int
	buf     [protocol.PacketLen]byte
}

func (s *sender) opened() bool { return s.conn != nil }

func (s *sender) close() {
	if s.conn != nil {
		s.conn.Close() //nolint:gosec // nothing is buffered
		s.conn = nil
	}
}

func (s *sender) open() error {
	if s.cfg.Interface != "" {
		ifi, err := net.InterfaceByName(s.cfg.Interface)
		if err != nil {
			s.ifindex = 0
			return fmt.Errorf("find interface %s: %w", s.cfg.Interface, err)
		}
		s.ifindex = ifi.Index
	}
	to := SingleHopPort
	if s.cfg.Multihop {
		to = MultihopPort
	}
	peer := net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.cfg.Peer, uint16(to)))
	if s.cfg.Peer.IsLinkLocalUnicast() {
		peer.Zone = s.cfg.Interface
	}
	var err error
	for range sourceTries {
		if s.port == 0 {
			s.port = firstSource + rand.IntN(lastSource-firstSource+1) //nolint:gosec // hides nothing
		}
		if err = s.dial(peer); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
		s.port = 0
	}
	if err != nil {
		return fmt.Errorf("open socket to send to %s: %w", s.cfg.Peer, err)
	}
	return nil
}

func (s *sender) dial(peer *net.UDPAddr) error {
	from := &net.UDPAddr{Port: s.port}
	if s.cfg.Local.IsValid() {
		from.IP = s.cfg.Local.AsSlice()
		if s.cfg.Local.IsLinkLocalUnicast() {
			from.Zone = s.cfg.Interface
		}
	}
	d := net.Dialer{LocalAddr: from, Control: func(network, _ string, c syscall.RawConn) error {
		device, opts := s.options(network == "udp6")
		return control(c, device, opts)
	}}
	conn, err := d.Dial("udp", peer.String())
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it is for
	}
	s.conn = conn.(*net.UDPConn)
	return nil
}

// option is one setting of a socket.
type option struct{ level, name, value int }

func (s *sender) options(v6 bool) (device string, opts []option) {
	if device = s.cfg.Interface; device == "" {
		device = s.cfg.VRF
	}
	if v6 {
		return device, []option{
			{unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS, maxTTL}, {unix.IPPROTO_IPV6, unix.IPV6_TCLASS, trafficClass},
		}
	}
	return device, []option{{unix.IPPROTO_IP, unix.IP_TTL, maxTTL}, {unix.IPPROTO_IP, unix.IP_TOS, trafficClass}}
}

// control sets options of a socket and binds it to a device.
func control(c syscall.RawConn, device string, opts []option) error {
	var err error
	outer := c.Control(func(fd uintptr) {
		if device != "" {
			if err = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, device); err != nil {
				err = fmt.Errorf("bind to device %s: %w", device, err)
				return
			}
		}
		for _, o := range opts {
			if err = unix.SetsockoptInt(int(fd), o.level, o.name, o.value); err != nil {
				err = fmt.Errorf("set socket option %d of level %d: %w", o.name, o.level, err)
				return
			}
		}
	})
	return errors.Join(outer, err)
}

// send sends a packet. After an error the socket is opened again at the next.
func (s *sender) send(p protocol.Packet) error {
	if s.conn == nil {
		return nil // the reason is known already
	}
	frame := p.Append(s.buf[:0])
	_, err := s.conn.Write(frame)
	if errors.Is(err, syscall.ECONNREFUSED) {
		// Nobody listened there when the last packet arrived. The kernel reports
		// that instead of sending this one.
		_, err = s.conn.Write(frame)
	}
	if err == nil || errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	s.close()
	return fmt.Errorf("send to %s: %w", s.cfg.Peer, err)
}

// endpoint is what a listener listens to.
type endpoint struct {
	multihop, v6 bool
	vrf          string
}

// listener receives for all sessions of an endpoint.
type listener struct {
	users   int // sessions; guarded by Engine.mu
	stop    context.CancelFunc
	blocked atomic.Pointer[string]
}

func (l *listener) problem() string {
	if text := l.blocked.Load(); text != nil {
		return *text
	}
	return ""
}

// listen makes sure that packets to at are received. Engine.mu is held.
func (e *Engine) listen(at endpoint) *listener {
	l := e.listeners[at]
	if l == nil {
		ctx, cancel := context.WithCancel(context.Background())
		l = &listener{stop: cancel}
		e.listeners[at] = l
		e.running.Go(func() { e.serve(ctx, at, l) })
	}
	l.users++
	return l
}

// unlisten is the reverse of listen.
func (e *Engine) unlisten(at endpoint) {
	l := e.listeners[at]
	if l.users--; l.users == 0 {
		delete(e.listeners, at)
		l.stop()
	}
}

// serve receives until ctx ends, and tries again when it cannot.
func (e *Engine) serve(ctx context.Context, at endpoint, l *listener) {
	for ctx.Err() == nil {
		conn, err := at.open(ctx)
		if err == nil {
			l.blocked.Store(nil)
			err = e.receive(ctx, at, conn)
		}
		if ctx.Err() != nil {
			return
		}
		text := err.Error()
		if old := l.blocked.Swap(&text); old == nil || *old != text {
			e.log.Error("BFD cannot receive", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reopen):
		}
	}
}

// open returns the socket of the endpoint.
func (at endpoint) open(ctx context.Context) (*net.UDPConn, error) {
	network, port := "udp4", SingleHopPort
	opts := []option{{unix.IPPROTO_IP, unix.IP_RECVTTL, 1}, {unix.IPPROTO_IP, unix.IP_PKTINFO, 1}}
	if at.v6 {
		network = "udp6"
		opts = []option{{unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1}, {unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1}}
	}
	if at.multihop {
		port = MultihopPort
	}
	cfg := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return control(c, at.vrf, opts) }}
	conn, err := cfg.ListenPacket(ctx, network, fmt.Sprintf(":%d", port))
	if err != nil {
		return nil, fmt.Errorf("listen to BFD (does another BFD daemon run on this node?): %w", err)
	}
	return conn.(*net.UDPConn), nil
}

// arrival is a packet and how it came here.
type arrival struct {
	payload  []byte
	src, dst netip.Addr
	ifindex  int
	ttl      int
}

// receive delivers packets until the socket fails or ctx ends.
func (e *Engine) receive(ctx context.Context, at endpoint, conn *net.UDPConn) error {
	defer context.AfterFunc(ctx, func() { conn.Close() })() //nolint:gosec // ends the reading
	defer conn.Close()
	buf, oob := make([]byte, 1500), make([]byte, 128)
	for {
		n, oobn, _, src, err := conn.ReadMsgUDPAddrPort(buf, oob)
		if err != nil {
			return fmt.Errorf("receive BFD: %w", err)
		}
		a := arrival{payload: buf[:n], src: src.Addr().Unmap().WithZone("")}
		a.read(oob[:oobn])
		e.deliver(at, a)
	}
}

// read takes what the kernel says about a packet.
func (a *arrival) read(oob []byte) {
	for len(oob) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return
		}
		oob = rest
		native := func(at int) int { return int(int32(binary.NativeEndian.Uint32(data[at:]))) }
		switch {
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TTL && len(data) >= 4,
			h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_HOPLIMIT && len(data) >= 4:
			a.ttl = native(0)
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_PKTINFO && len(data) >= 12:
			a.ifindex, a.dst = native(0), netip.AddrFrom4([4]byte(data[8:12]))
		case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_PKTINFO && len(data) >= 20:
			a.ifindex, a.dst = native(16), netip.AddrFrom16([16]byte(data[:16]))
		}
	}
}
