package netmonitor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"github.com/mdlayher/packet"
)

// client is the host that a monitor is on, and router one that may be between it
// and the nodes.
const (
	client = "client"
	router = "tor"
)

// observe watches until the input ends, and then writes the Report.
func observe(o Options, in io.Reader, out io.Writer) error {
	// Packets are read until every request is explained.
	listening, stop := context.WithCancel(context.Background())
	defer stop()
	asking, cancel := context.WithCancel(listening)
	defer cancel()
	s := &observer{opts: o}
	if err := s.begin(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	asked := make(chan error, 1)
	if err := s.listen(listening, &wg); err != nil {
		return err
	}
	if o.Target != "" {
		go func() { asked <- s.request(asking) }()
	} else {
		asked <- nil
	}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode("looking"); err != nil {
		return fmt.Errorf("say hello: %w", err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("wait for the end: %w", err)
	}
	cancel()
	failed := <-asked
	stop()
	wg.Wait()
	if failed != nil {
		return failed
	}
	s.tracer.end(&s.report)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := encoder.Encode(s.report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// observer is the state of the process on the client host.
type observer struct {
	opts   Options
	target netip.AddrPort
	wanted map[netip.Addr]bool
	tracer *tracer
	mu     sync.Mutex
	report Report
}

func (s *observer) begin() (err error) {
	if s.opts.Target != "" {
		if s.target, err = netip.ParseAddrPort(s.opts.Target); err != nil {
			return fmt.Errorf("target of requests: %w", err)
		}
	}
	s.wanted = map[netip.Addr]bool{}
	for _, text := range s.opts.Addresses {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("address to look at: %w", err)
		}
		if !addr.Is4() {
			return fmt.Errorf("address to look at: ARP is for IPv4, and %s is not", addr)
		}
		s.wanted[addr] = true
	}
	return nil
}

// listen asks for the addresses and notes who answers, and hears what passes
// the hosts.
func (s *observer) listen(ctx context.Context, wg *sync.WaitGroup) error {
	var err error
	if s.tracer, err = newTracer(s.opts, s.target, s.note); err != nil {
		return err
	}
	wg.Go(func() { s.tracer.run(ctx) })
	addresses := slices.Collect(maps.Keys(s.wanted))
	if len(addresses) == 0 && s.target.Addr().Is4() { // no host answers for it, but requests are recorded
		addresses = []netip.Addr{s.target.Addr()}
	}
	if len(addresses) == 0 {
		return nil
	}
	ifi, err := net.InterfaceByName("eth0")
	if err != nil {
		return fmt.Errorf("find the interface: %w", err)
	}
	conn, err := packet.Listen(ifi, packet.Raw, 0x0806, nil)
	if err != nil {
		return fmt.Errorf("ask by ARP: %w", err)
	}
	wg.Go(func() {
		defer conn.Close()
		tick := time.NewTicker(cmp.Or(s.opts.ARPEvery, 50*time.Millisecond))
		defer tick.Stop()
		for {
			for _, addr := range addresses {
				ask(conn, addr)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return nil
}

// unusedMAC is the sender of the ARP requests. With the client's own address, the
// client's kernel would receive the answers too, and use the host that answered
// last while two do. Clients do not ask so often.
func unusedMAC() net.HardwareAddr { return net.HardwareAddr{0x02, 0, 0, 0, 0, 0x77} }

// ask sends an ARP probe (RFC 5227), which announces nothing about its sender.
func ask(conn *packet.Conn, addr netip.Addr) {
	p, err := arp.NewPacket(arp.OperationRequest, unusedMAC(), netip.IPv4Unspecified(), net.HardwareAddr{0, 0, 0, 0, 0, 0}, addr)
	if err != nil {
		return
	}
	body, err := p.MarshalBinary()
	if err != nil {
		return
	}
	f := ethernet.Frame{Destination: ethernet.Broadcast, Source: unusedMAC(), EtherType: ethernet.EtherTypeARP, Payload: body}
	if frame, err := f.MarshalBinary(); err == nil {
		_, _ = conn.WriteTo(frame, &packet.Addr{HardwareAddr: ethernet.Broadcast})
	}
}

// note keeps who claims one of the addresses, and to whom the client sends.
func (s *observer) note(f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.tcp && f.out && f.to == s.target {
		if last := len(s.report.Sent) - 1; last < 0 || s.report.Sent[last].MAC != f.mac.String() {
			s.report.Sent = append(s.report.Sent, Sending{At: f.at, MAC: f.mac.String()})
		}
	}
	if f.tcp || f.out || !s.wanted[f.from.Addr()] {
		return
	}
	s.report.Claims = append(s.report.Claims, Claim{
		At: f.at, Address: f.from.Addr().String(), MAC: f.owner.String(), Unasked: f.from.Addr() == f.to.Addr(),
	})
}

// request sends requests until the context ends, and returns when each has ended.
func (s *observer) request(ctx context.Context) error {
	var explaining sync.WaitGroup
	defer explaining.Wait()
	sender, err := newSender(&s.opts, s.target, func(q Request, port uint16) {
		if q.Error == "" && !q.Resent {
			s.add(q)
			return
		}
		explaining.Go(func() {
			s.tracer.explain(&q, port)
			s.add(q)
		})
	})
	if err != nil {
		return err
	}
	return sender.run(ctx)
}

func (s *observer) add(q Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Requests = append(s.report.Requests, q)
}
