package netmonitor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// netnsFolder is where iproute2 keeps network namespaces.
const netnsFolder = "/run/netns"

// inside runs do on a thread of its own in the network namespace of that name.
// Sockets that do opens stay there.
func inside(netns string, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // not given back: the thread ends with the goroutine
		file, err := os.Open(filepath.Join(netnsFolder, netns))
		if err != nil {
			done <- fmt.Errorf("enter a host: %w", err)
			return
		}
		err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
		_ = file.Close()
		if err != nil {
			done <- fmt.Errorf("enter %s: %w", netns, err)
			return
		}
		done <- do()
	}()
	return <-done
}

// frame is what a tap saw of a packet: TCP, or ARP, where from and to are the
// sender's and the target's address, and owner the sender's card.
type frame struct {
	at       time.Time
	host     string
	ifindex  int
	out      bool
	tcp      bool
	mac      mac // to which it is addressed on this wire
	owner    mac
	from, to netip.AddrPort
	seq, ack uint32
	flags    byte
	reply    bool // of ARP
}

type mac [6]byte

func (m mac) String() string { return net.HardwareAddr(m[:]).String() }

// TCP flags as they stand in the header.
const (
	flagFIN = 1 << iota
	flagSYN
	flagRST
	flagPSH
	flagACK
)

// tap hears a host's wires. Times are the kernel's: they stay right while the
// monitor itself waits for a processor.
type tap struct {
	host  string
	file  *os.File
	names func(ifindex int) string
	card  mac // of eth0
}

// openTap listens in a namespace: on eth0 for what the filter passes, or on all interfaces.
func openTap(netns, host string, everywhere bool, filter []bpf.Instruction) (*tap, error) {
	t := &tap{host: host}
	program, err := bpf.Assemble(filter)
	if err != nil {
		return nil, fmt.Errorf("assemble a filter: %w", err)
	}
	err = inside(netns, func() error {
		ifindex := 0
		if ifi, err := net.InterfaceByName("eth0"); err == nil {
			copy(t.card[:], ifi.HardwareAddr)
			ifindex = ifi.Index
		}
		if everywhere {
			ifindex = 0
		}
		fd, err := listenRaw(ifindex, program)
		if err != nil {
			return fmt.Errorf("listen on %s: %w", host, err)
		}
		t.file = os.NewFile(uintptr(fd), "tap on "+host)
		t.names = interfaceNames(fd)
		return nil
	})
	return t, err
}

// listenRaw opens a packet socket that hears only what passes the filter.
func listenRaw(ifindex int, program []bpf.RawInstruction) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open a packet socket: %w", err)
	}
	code := make([]unix.SockFilter, len(program))
	for i, in := range program {
		code[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	const everyProtocol = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8
	err = errors.Join(
		unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: everyProtocol, Ifindex: ifindex}),
	)
	if err != nil {
		_ = unix.Close(fd)
		return 0, fmt.Errorf("set up a packet socket: %w", err)
	}
	return fd, nil
}

// interfaceNames finds and remembers the names of interfaces in the socket's namespace.
func interfaceNames(fd int) func(int) string {
	var mu sync.Mutex
	known := map[int]string{}
	return func(ifindex int) string {
		mu.Lock()
		defer mu.Unlock()
		if known[ifindex] == "" {
			known[ifindex] = fmt.Sprintf("interface %d", ifindex)
			if req, err := unix.NewIfreq("eth0"); err == nil {
				req.SetUint32(uint32(ifindex))
				if unix.IoctlIfreq(fd, unix.SIOCGIFNAME, req) == nil {
					known[ifindex] = req.Name()
				}
			}
		}
		return known[ifindex]
	}
}

// rest is how often to read what a tap has heard. To wake for each packet would
// take more of the machine than to read it.
const rest = 10 * time.Millisecond

// run hands over what it hears until the tap is closed.
func (t *tap) run(take func(frame)) error {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("read a tap: %w", err)
	}
	tick := time.NewTicker(rest)
	defer tick.Stop()
	for ; ; <-tick.C {
		var failed error
		if err := raw.Read(func(fd uintptr) bool { failed = t.drain(int(fd), take); return true }); err != nil {
			return nil //nolint:nilerr // closed
		}
		if failed != nil {
			return fmt.Errorf("read a tap on %s: %w", t.host, failed)
		}
	}
}

// drain hands over what is there.
func (t *tap) drain(fd int, take func(frame)) error {
	var buf [256]byte
	var control [128]byte
	for {
		n, nc, _, from, err := unix.Recvmsg(fd, buf[:], control[:], unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.ENETDOWN), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		f, ok := parse(buf[:n])
		if !ok {
			continue
		}
		f.host, f.at = t.host, stamp(control[:nc])
		if ll, ok := from.(*unix.SockaddrLinklayer); ok {
			f.ifindex, f.out = ll.Ifindex, ll.Pkttype == unix.PACKET_OUTGOING
		}
		take(f)
	}
}

// missed is how many packets came while the monitor did not get to read them.
func (t *tap) missed() (drops uint32) {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // closed: nothing to tell
		if stats, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			drops = stats.Drops
		}
	})
	return drops
}

// stamp is when the kernel had the packet.
func stamp(control []byte) time.Time {
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS && len(data) >= 16 {
			return time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
		}
		control = rest
	}
	return time.Now()
}

// parse reads the headers of a frame.
func parse(b []byte) (f frame, ok bool) {
	if len(b) < 34 {
		return f, false
	}
	copy(f.mac[:], b)
	four := func(at int) netip.Addr { return netip.AddrFrom4([4]byte(b[at:])) }
	switch binary.BigEndian.Uint16(b[12:]) {
	case unix.ETH_P_ARP:
		if len(b) < 42 {
			return f, false
		}
		copy(f.owner[:], b[22:])
		f.reply = binary.BigEndian.Uint16(b[20:]) == 2
		f.from, f.to = netip.AddrPortFrom(four(28), 0), netip.AddrPortFrom(four(38), 0)
		return f, true
	case unix.ETH_P_IP:
		return parseTCP(f, b, b[23], 14+int(b[14]&0xf)*4, four(26), four(30))
	case unix.ETH_P_IPV6:
		if len(b) < 54 {
			return f, false
		}
		return parseTCP(f, b, b[20], 54, netip.AddrFrom16([16]byte(b[22:])), netip.AddrFrom16([16]byte(b[38:])))
	}
	return f, false
}

// parseTCP reads the header that begins at l4.
func parseTCP(f frame, b []byte, protocol byte, l4 int, from, to netip.Addr) (frame, bool) {
	if protocol != unix.IPPROTO_TCP || len(b) < l4+14 {
		return f, false
	}
	f.tcp = true
	f.from = netip.AddrPortFrom(from, binary.BigEndian.Uint16(b[l4:]))
	f.to = netip.AddrPortFrom(to, binary.BigEndian.Uint16(b[l4+2:]))
	f.seq, f.ack, f.flags = binary.BigEndian.Uint32(b[l4+4:]), binary.BigEndian.Uint32(b[l4+8:]), b[l4+13]
	return f, true
}

// snap is how much of a frame matters.
const snap = 120

// family is where a filter finds what it looks for in a frame. Of an IPv6 address
// it looks at the last four bytes.
type family struct {
	ethernet, protocol, from, to uint32
}

func familyOf(addr netip.Addr) (family, uint32) {
	if addr.Is4() {
		all := addr.As4()
		return family{unix.ETH_P_IP, 23, 26, 30}, binary.BigEndian.Uint32(all[:])
	}
	all := addr.As16()
	return family{unix.ETH_P_IPV6, 20, 34, 50}, binary.BigEndian.Uint32(all[12:])
}

// clientFilter passes ARP and all TCP with the address.
func clientFilter(target netip.Addr) []bpf.Instruction {
	its, want := familyOf(target)
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.ETH_P_ARP, SkipTrue: 7},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: its.ethernet, SkipTrue: 7},
		bpf.LoadAbsolute{Off: its.protocol, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_TCP, SkipTrue: 5},
		bpf.LoadAbsolute{Off: its.from, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: want, SkipTrue: 2},
		bpf.LoadAbsolute{Off: its.to, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: want, SkipTrue: 1},
		bpf.RetConstant{Val: snap},
		bpf.RetConstant{Val: 0},
	}
}

// hostFilter passes packets of TCP from or to one of the ports, in the target's family.
func hostFilter(target netip.Addr, ports []uint16) []bpf.Instruction {
	its, _ := familyOf(target)
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: its.ethernet, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
		bpf.LoadAbsolute{Off: its.protocol, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_TCP, SkipTrue: 1},
		bpf.RetConstant{Val: 0},
	}
	// LoadIndirect adds the length of an IPv4 header, or the fixed one of IPv6.
	if target.Is4() {
		program = append(program, bpf.LoadMemShift{Off: 14})
	} else {
		program = append(program, bpf.LoadConstant{Dst: bpf.RegX, Val: 40})
	}
	for _, at := range []uint32{14, 16} {
		program = append(program, bpf.LoadIndirect{Off: at, Size: 2})
		for _, port := range slices.Compact(slices.Sorted(slices.Values(ports))) {
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(port), SkipTrue: 1}, bpf.RetConstant{Val: snap})
		}
	}
	return append(program, bpf.RetConstant{Val: 0})
}
