package witness

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"github.com/mdlayher/packet"
)

// see looks until the input ends, and then writes the Report.
func see(o Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &seer{opts: o}
	var wg sync.WaitGroup
	if len(o.Addresses) > 0 {
		if err := s.listen(ctx, &wg); err != nil {
			return err
		}
	}
	if o.Target != "" {
		wg.Go(func() { s.request(ctx) })
	}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode("looking"); err != nil {
		return fmt.Errorf("say hello: %w", err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("wait for the end: %w", err)
	}
	cancel()
	wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := encoder.Encode(s.report); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

type seer struct {
	opts   Options
	mu     sync.Mutex
	report Report
}

// listen asks for the addresses and notes who answers.
func (s *seer) listen(ctx context.Context, wg *sync.WaitGroup) error {
	ifi, err := net.InterfaceByName("eth0")
	if err != nil {
		return fmt.Errorf("find the interface: %w", err)
	}
	conn, err := packet.Listen(ifi, packet.Raw, 0x0806, nil)
	if err != nil {
		return fmt.Errorf("listen for ARP: %w", err)
	}
	self, err := ownAddress(ifi)
	if err != nil {
		return err
	}
	wanted := map[netip.Addr]bool{}
	for _, text := range s.opts.Addresses {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return fmt.Errorf("address to look at: %w", err)
		}
		wanted[addr] = true
	}
	wg.Go(func() {
		<-ctx.Done()
		_ = conn.Close()
	})
	wg.Go(func() { s.note(conn, wanted) })
	wg.Go(func() {
		tick := time.NewTicker(cmp.Or(s.opts.ARPEvery, 50*time.Millisecond))
		defer tick.Stop()
		for {
			for addr := range wanted {
				ask(conn, ifi, self, addr)
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

func ownAddress(ifi *net.Interface) (netip.Addr, error) {
	addrs, err := ifi.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("own address: %w", err)
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, errors.New("own address: the interface has none")
}

func ask(conn *packet.Conn, ifi *net.Interface, self, addr netip.Addr) {
	p, err := arp.NewPacket(arp.OperationRequest, ifi.HardwareAddr, self, ethernet.Broadcast, addr)
	if err != nil {
		return
	}
	body, err := p.MarshalBinary()
	if err != nil {
		return
	}
	f := ethernet.Frame{Destination: ethernet.Broadcast, Source: ifi.HardwareAddr, EtherType: ethernet.EtherTypeARP, Payload: body}
	if frame, err := f.MarshalBinary(); err == nil {
		_, _ = conn.WriteTo(frame, &packet.Addr{HardwareAddr: ethernet.Broadcast})
	}
}

func (s *seer) note(conn *packet.Conn, wanted map[netip.Addr]bool) {
	buf := make([]byte, 1600)
	for {
		n, _, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var f ethernet.Frame
		var p arp.Packet
		if f.UnmarshalBinary(buf[:n]) != nil || p.UnmarshalBinary(f.Payload) != nil || !wanted[p.SenderIP] {
			continue
		}
		s.mu.Lock()
		s.report.Claims = append(s.report.Claims, Claim{
			At: time.Now(), Address: p.SenderIP.String(), MAC: p.SenderHardwareAddr.String(), Unasked: p.SenderIP == p.TargetIP,
		})
		s.mu.Unlock()
	}
}

// request sends requests at a fixed rate, whether or not they are answered.
func (s *seer) request(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	tick := time.NewTicker(cmp.Or(s.opts.Every, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			wg.Go(func() {
				q := Request{At: time.Now()}
				if err := s.once(); err != nil {
					q.Error = err.Error()
				}
				q.Took = time.Since(q.At)
				s.mu.Lock()
				s.report.Requests = append(s.report.Requests, q)
				s.mu.Unlock()
			})
		}
	}
}

func (s *seer) once() error {
	conn, err := net.DialTimeout("tcp", s.opts.Target, Timeout)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(Timeout)); err != nil {
		return fmt.Errorf("set a deadline: %w", err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", cmp.Or(s.opts.Path, "/"), cmp.Or(s.opts.Host, "echo")); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("wait for the answer: %w", err)
	}
	if !strings.Contains(answer, " 200 ") {
		return fmt.Errorf("answer %q", strings.TrimSpace(answer))
	}
	return nil
}
