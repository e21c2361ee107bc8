package l2

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/arp"
	"github.com/mdlayher/ndp"
	"github.com/prometheus/client_golang/prometheus"
)

// The hosts of these tests, and what is announced at ours.
const (
	vip4 = "198.18.0.9"
	vip6 = "fd00::9:8:7"
)

func ourMAC() mac   { return mac{2, 0, 0, 0, 0, 9} }
func theirMAC() mac { return mac{2, 0, 0, 0, 0, 1} }

// desk is a port without sockets, and an Announcer that announces by it.
type desk struct {
	port  port
	a     *Announcer
	limit *limiter
	out   []byte
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Options{Metrics: metrics, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	claims := map[netip.Addr]Claim{}
	for _, text := range []string{vip4, vip6} {
		addr := netip.MustParseAddr(text)
		claims[addr] = Claim{Interfaces: []string{"eth0"}, counts: metrics.add(addr)}
	}
	a.claims.Store(&claims)
	a.own.Store(&map[mac]bool{ourMAC(): true})
	return &desk{port: port{link: link{name: "eth0", mac: ourMAC()}}, a: a, limit: newLimiter(), out: make([]byte, 0, maxFrame)}
}

// react returns the answer to a frame, and how many claims of others were noted.
func (d *desk) react(frame []byte, by protocol) (answer []byte, conflicts int) {
	answer = d.port.react(d.a, frame, d.out, by, d.limit)
	for {
		select {
		case <-d.a.do:
			conflicts++
		default:
			return answer, conflicts
		}
	}
}

// Offsets in an ARP frame for IPv4 over Ethernet (RFC 826), and its length. The
// tests read and write the bytes themselves: the product leaves that to a library.
const (
	arpSender   = etherLen + 8
	arpSenderIP = etherLen + 14
	arpTarget   = etherLen + 18
	arpTargetIP = etherLen + 24
	arpLen      = etherLen + 28
)

func arpFrame(t testing.TB, to mac, op arp.Operation, sender mac, senderIP string, target mac, targetIP string) []byte {
	t.Helper()
	from4, to4 := netip.MustParseAddr(senderIP).As4(), netip.MustParseAddr(targetIP).As4()
	return slices.Concat(to[:], sender[:], []byte{0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, byte(op)}, sender[:], from4[:], target[:], to4[:])
}

func TestReactToARP(t *testing.T) {
	t.Parallel()
	const client = "198.18.0.1"
	request := arpFrame(t, broadcast(), arp.OperationRequest, theirMAC(), client, mac{}, vip4)
	byARP, _ := protocols()
	for _, c := range []struct {
		name      string
		frame     []byte
		answered  bool
		conflicts int
	}{
		{"broadcast request", request, true, 0},
		{"padded, as on a real wire", append(slices.Clone(request), make([]byte, 18)...), true, 0},
		{"unicast request, as routers refresh", arpFrame(t, ourMAC(), arp.OperationRequest, theirMAC(), client, ourMAC(), vip4), true, 0},
		{"probe whether the address is free", arpFrame(t, broadcast(), arp.OperationRequest, theirMAC(), "0.0.0.0", mac{}, vip4), true, 0},
		{"request for another address", arpFrame(t, broadcast(), arp.OperationRequest, theirMAC(), client, mac{}, "198.18.0.10"), false, 0},
		{"request to another host", arpFrame(t, mac{2, 0, 0, 0, 0, 5}, arp.OperationRequest, theirMAC(), client, mac{}, vip4), false, 0},
		{"reply", arpFrame(t, ourMAC(), arp.OperationReply, theirMAC(), client, ourMAC(), vip4), false, 0},
		{"reply of another owner", arpFrame(t, broadcast(), arp.OperationReply, theirMAC(), vip4, broadcast(), vip4), false, 1},
		{"announcement of another owner", arpFrame(t, broadcast(), arp.OperationRequest, theirMAC(), vip4, mac{}, vip4), false, 1},
		{"request by another owner", arpFrame(t, broadcast(), arp.OperationRequest, theirMAC(), vip4, mac{}, client), false, 1},
		{"our own announcement, heard by another of our interfaces", arpFrame(t, broadcast(), arp.OperationRequest, ourMAC(), vip4, mac{}, vip4), false, 0},
		{"our own request", arpFrame(t, broadcast(), arp.OperationRequest, ourMAC(), client, mac{}, vip4), false, 0},
		{"a sender that is a group", arpFrame(t, broadcast(), arp.OperationRequest, broadcast(), client, mac{}, vip4), false, 0},
		{"a sender without an address", arpFrame(t, broadcast(), arp.OperationRequest, mac{}, client, mac{}, vip4), false, 0},
		{"operation 3", arpFrame(t, broadcast(), arp.Operation(3), theirMAC(), client, mac{}, vip4), false, 0},
		{"too short", request[:arpLen-1], false, 0},
		{"empty", nil, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer, conflicts := newDesk(t).react(c.frame, byARP)
			if conflicts != c.conflicts || (answer != nil) != c.answered {
				t.Fatalf("answer %x, %d conflicts", answer, conflicts)
			}
			if c.answered {
				checkARP(t, c.frame, answer)
			}
		})
	}
}

// checkARP compares an answer with its question, byte by byte.
func checkARP(t testing.TB, question, answer []byte) {
	t.Helper()
	own, vip := ourMAC(), netip.MustParseAddr(vip4).As4()
	if len(question) < arpLen || question[arpOp+1] != byte(arp.OperationRequest) || [4]byte(question[arpTargetIP:]) != vip {
		t.Fatalf("answer to %x", question)
	}
	asker, askerIP := question[arpSender:arpSenderIP], question[arpSenderIP:arpTarget]
	want := slices.Concat(asker, own[:], []byte{0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, byte(arp.OperationReply)}, own[:], vip[:], asker, askerIP)
	if !bytes.Equal(answer, want) {
		t.Errorf("answer to %x\nis   %x\nwant %x", question, answer, want)
	}
}

// packet6 is an IPv6 packet in a frame.
type packet6 struct {
	to, from mac
	src, dst string
	hops     byte
	message  ndp.Message
}

// frame is written by another implementation than ours, but for the headers.
func (p packet6) frame(t testing.TB) []byte {
	t.Helper()
	src, dst := netip.MustParseAddr(p.src), netip.MustParseAddr(p.dst)
	body, err := ndp.MarshalMessageChecksum(p.message, src, dst)
	if err != nil {
		t.Fatal(err)
	}
	b := ether(nil, p.to, p.from, etherTypeIPv6)
	b = append(b, 6<<4, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)))
	b = append(b, protoICMPv6, p.hops)
	return slices.Concat(b, src.AsSlice(), dst.AsSlice(), body)
}

func solicit(target string, options ...ndp.Option) ndp.Message {
	return &ndp.NeighborSolicitation{TargetAddress: netip.MustParseAddr(target), Options: options}
}

func advertise(target string, options ...ndp.Option) ndp.Message {
	return &ndp.NeighborAdvertisement{Override: true, TargetAddress: netip.MustParseAddr(target), Options: options}
}

func lla(d ndp.Direction, m mac) ndp.Option {
	return &ndp.LinkLayerAddress{Direction: d, Addr: net.HardwareAddr(m[:])}
}

func TestReactToNDP(t *testing.T) {
	t.Parallel()
	const client, group, all = "fd00::1", "ff02::1:ff08:7", "ff02::1"
	from := lla(ndp.Source, theirMAC())
	groupHW, allHW := groupMAC(netip.MustParseAddr(group)), groupMAC(netip.MustParseAddr(all))
	ask := packet6{groupHW, theirMAC(), client, group, 255, solicit(vip6, from)}
	with := func(change func(*packet6)) []byte {
		p := ask
		change(&p)
		return p.frame(t)
	}
	corrupt := ask.frame(t)
	corrupt[len(corrupt)-1]++
	zeroOption := ask.frame(t)
	zeroOption[ndOptions+1] = 0
	binary.BigEndian.PutUint16(zeroOption[icmpChecksum:], 0)
	binary.BigEndian.PutUint16(zeroOption[icmpChecksum:], checksum(zeroOption))
	_, byNDP := protocols()
	for _, c := range []struct {
		name      string
		frame     []byte
		answered  bool
		conflicts int
	}{
		{"to the group", ask.frame(t), true, 0},
		{"padded", append(ask.frame(t), 0, 0, 0, 0), true, 0},
		{"to the group without option", with(func(p *packet6) { p.message = solicit(vip6) }), true, 0},
		{"to the address itself, with option", with(func(p *packet6) { p.to, p.dst = ourMAC(), vip6 }), true, 0},
		{"to the address itself, without option", with(func(p *packet6) { p.to, p.dst, p.message = ourMAC(), vip6, solicit(vip6) }), true, 0},
		{"to the group in a unicast frame, as some radio links send it", with(func(p *packet6) { p.to = ourMAC() }), true, 0},
		{"with an unknown option", with(func(p *packet6) {
			p.message = solicit(vip6, &ndp.RawOption{Type: 14, Length: 1, Value: make([]byte, 6)}, from)
		}), true, 0},
		{"whether the address is free", with(func(p *packet6) { p.src, p.message = "::", solicit(vip6) }), true, 0},
		{"whether the address is free, with an option", with(func(p *packet6) { p.src = "::" }), false, 0},
		{"whether the address is free, to the address", with(func(p *packet6) { p.src, p.to, p.dst, p.message = "::", ourMAC(), vip6, solicit(vip6) }), false, 0},
		{"for another address of the group", with(func(p *packet6) { p.message = solicit("fd00::1:8:7", from) }), false, 0},
		{"to all nodes", with(func(p *packet6) { p.to, p.dst = allHW, all }), false, 0},
		{"to the address in a multicast frame", with(func(p *packet6) { p.to, p.dst = groupMAC(netip.MustParseAddr(vip6)), vip6 }), false, 0},
		{"to another host", with(func(p *packet6) { p.to = mac{2, 0, 0, 0, 0, 5} }), false, 0},
		{"from beyond a router", with(func(p *packet6) { p.hops = 254 }), false, 0},
		{"from a group", with(func(p *packet6) { p.src = all }), false, 0},
		{"with a group as hardware address", with(func(p *packet6) { p.message = solicit(vip6, lla(ndp.Source, broadcast())) }), false, 0},
		{"our own", with(func(p *packet6) { p.from, p.message = ourMAC(), solicit(vip6) }), false, 0},
		{"wrong checksum", corrupt, false, 0},
		{"option of length 0", zeroOption, false, 0},
		{"cut", ask.frame(t)[:ndOptions-1], false, 0},
		{"empty", nil, false, 0},
		{"solicitation by another owner", with(func(p *packet6) {
			p.src, p.message = vip6, solicit(client, from)
			p.dst = "ff02::1:ff00:1"
			p.to = groupMAC(netip.MustParseAddr(p.dst))
		}), false, 1},
		{"advertisement of another owner", with(func(p *packet6) { p.to, p.dst, p.message = allHW, all, advertise(vip6, lla(ndp.Target, theirMAC())) }), false, 1},
		{"advertisement of another owner without option", with(func(p *packet6) { p.to, p.dst, p.message = ourMAC(), client, advertise(vip6) }), false, 1},
		{"our own advertisement, heard by another of our interfaces", with(func(p *packet6) {
			p.from, p.to, p.dst, p.message = ourMAC(), allHW, all, advertise(vip6, lla(ndp.Target, ourMAC()))
		}), false, 0},
		{"advertisement of another address", with(func(p *packet6) { p.to, p.dst, p.message = allHW, all, advertise(client, lla(ndp.Target, theirMAC())) }), false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			answer, conflicts := newDesk(t).react(c.frame, byNDP)
			if conflicts != c.conflicts || (answer != nil) != c.answered {
				t.Fatalf("answer %x, %d conflicts", answer, conflicts)
			}
			if c.answered {
				checkNDP(t, c.frame, answer)
			}
		})
	}
}

// checkNDP has another implementation than ours read an answer.
func checkNDP(t testing.TB, question, answer []byte) {
	t.Helper()
	own, target := ourMAC(), netip.MustParseAddr(vip6)
	end := icmpStart + int(binary.BigEndian.Uint16(question[ip6Payload:]))
	fixed, err := ndp.ParseMessage(question[icmpStart:ndOptions])
	if err != nil {
		t.Fatalf("answer to what cannot be read: %v", err)
	}
	ns, ok := fixed.(*ndp.NeighborSolicitation)
	if !ok || ns.TargetAddress != target {
		t.Fatalf("answer to %+v", fixed)
	}
	// The other implementation also refuses malformed options of kinds that
	// solicitations do not have, which RFC 4861 tells to ignore.
	whole, err := ndp.ParseMessage(question[icmpStart:end])
	readable := err == nil
	if readable {
		ns = whole.(*ndp.NeighborSolicitation)
	}
	asker := netip.AddrFrom16([16]byte(question[ip6Src:]))
	src, dst := netip.AddrFrom16([16]byte(answer[ip6Src:])), netip.AddrFrom16([16]byte(answer[ip6Dst:]))
	wantDst, wantTo, solicited := asker, mac(question[hwLen:]), true
	if asker.IsUnspecified() {
		wantDst, wantTo, solicited = allNodes(), mac{0x33, 0x33, 0, 0, 0, 1}, false
	}
	for _, o := range ns.Options {
		if l, ok := o.(*ndp.LinkLayerAddress); ok && l.Direction == ndp.Source && solicited {
			wantTo = mac(l.Addr)
		}
	}
	if !readable {
		wantTo = mac(answer)
	}
	if src != target || dst != wantDst || answer[ip6Hops] != 255 || mac(answer) != wantTo || mac(answer[hwLen:]) != own {
		t.Errorf("from %v to %v, hop limit %d, from %x to %x", src, dst, answer[ip6Hops], answer[hwLen:2*hwLen], answer[:hwLen])
	}
	m, err := ndp.ParseMessage(answer[icmpStart:])
	if err != nil {
		t.Fatal(err)
	}
	sum := binary.BigEndian.Uint16(answer[icmpChecksum:])
	again, err := ndp.MarshalMessageChecksum(m, src, dst)
	if err != nil {
		t.Fatal(err)
	}
	if want := binary.BigEndian.Uint16(again[2:]); sum != want {
		t.Errorf("checksum %x, want %x", sum, want)
	}
	want := &ndp.NeighborAdvertisement{Solicited: solicited, Override: true, TargetAddress: target, Options: []ndp.Option{lla(ndp.Target, own)}}
	if diff := cmp.Diff(want, m, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	addr := netip.MustParseAddr(vip6)
	want, err := ndp.SolicitedNodeMulticast(addr)
	if err != nil {
		t.Fatal(err)
	}
	if got := solicitedNode(addr); got != want {
		t.Errorf("group %v, want %v", got, want)
	}
	if got := groupMAC(want); got != (mac{0x33, 0x33, 0xff, 8, 0, 7}) {
		t.Errorf("hardware address %x", got)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	l := newLimiter()
	addr := netip.MustParseAddr(vip4)
	for i := range limitPerSecond + 10 {
		if got := l.allow(theirMAC(), addr, 1); got != (i < limitPerSecond) {
			t.Fatalf("question %d: %v", i, got)
		}
	}
	if !l.allow(theirMAC(), addr, 2) {
		t.Error("the next second starts with nothing left")
	}
}

// frames are one question of each kind.
func frames(t testing.TB) map[string][]byte {
	group := netip.MustParseAddr("ff02::1:ff08:7")
	return map[string][]byte{
		"ARP": arpFrame(t, broadcast(), arp.OperationRequest, theirMAC(), "198.18.0.1", mac{}, vip4),
		"NDP": packet6{groupMAC(group), theirMAC(), "fd00::1", group.String(), 255, solicit(vip6, lla(ndp.Source, theirMAC()))}.frame(t),
	}
}

// TestReactAllocations: what an answer allocates does not grow. The library for ARP
// makes one slice to read a packet and one to write it.
func TestReactAllocations(t *testing.T) {
	arp, ndp := protocols()
	most := map[string]float64{arp.name: 3, ndp.name: 0}
	for _, by := range []protocol{arp, ndp} {
		d, frame := newDesk(t), frames(t)[by.name]
		if n := testing.AllocsPerRun(1000, func() {
			clear(d.limit.slots)
			if d.port.react(d.a, frame, d.out, by, d.limit) == nil {
				t.Fatal("no answer")
			}
		}); n > most[by.name] {
			t.Errorf("%s: %v allocations per question, at most %v are allowed", by.name, n, most[by.name])
		}
	}
}

func BenchmarkReact(b *testing.B) {
	arp, ndp := protocols()
	for _, by := range []protocol{arp, ndp} {
		b.Run(by.name, func(b *testing.B) {
			d, frame := newDesk(b), frames(b)[by.name]
			d.limit.slots = d.limit.slots[:1]
			b.ReportAllocs()
			for b.Loop() {
				d.limit.slots[0] = limitSlot{} // so that every question is answered
				if d.port.react(d.a, frame, d.out, by, d.limit) == nil {
					b.Fatal("no answer")
				}
			}
		})
	}
}

// FuzzARP holds that no frame crashes the receiver, and that every answer is to
// a request for our address, and right, as another implementation reads both.
func FuzzARP(f *testing.F) {
	frame := frames(f)["ARP"]
	f.Add(frame)
	f.Add(append(slices.Clone(frame), 0, 0, 0, 0))
	f.Add(arpFrame(f, broadcast(), arp.OperationReply, theirMAC(), vip4, mac{}, vip4))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		arp, _ := protocols()
		if answer, _ := newDesk(t).react(frame, arp); answer != nil {
			checkARP(t, frame, answer)
		}
	})
}

// FuzzNDP is the same for neighbour solicitations. So that the fuzzer gets past
// it, the checksum is made right; TestReactToNDP has frames with a wrong one.
func FuzzNDP(f *testing.F) {
	f.Add(frames(f)["NDP"])
	f.Add(packet6{ourMAC(), theirMAC(), "fd00::1", vip6, 255, solicit(vip6)}.frame(f))
	f.Add(packet6{ourMAC(), theirMAC(), "fd00::1", vip6, 255, advertise(vip6, lla(ndp.Target, theirMAC()))}.frame(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) >= ndOptions {
			if end := icmpStart + int(binary.BigEndian.Uint16(frame[ip6Payload:])); end >= ndOptions && end <= len(frame) {
				binary.BigEndian.PutUint16(frame[icmpChecksum:], 0)
				binary.BigEndian.PutUint16(frame[icmpChecksum:], checksum(frame[:end]))
			}
		}
		_, ndp := protocols()
		if answer, _ := newDesk(t).react(frame, ndp); answer != nil {
			checkNDP(t, frame, answer)
		}
	})
}
