package l2

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/packet"
)

// port is an open link. Frames can be sent from any goroutine; one goroutine
// receives.
type port struct {
	link
	conn *packet.Conn
}

func openPort(l link) (*port, error) {
	prog, err := filter()
	if err != nil {
		return nil, fmt.Errorf("assemble ARP filter: %w", err)
	}
	ifi := &net.Interface{Index: l.index, Name: l.name, HardwareAddr: l.mac.addr()}
	conn, err := packet.Listen(ifi, packet.Raw, etherTypeARP, &packet.Config{Filter: prog})
	if err != nil {
		return nil, fmt.Errorf("listen for ARP on %s: %w", l.name, err)
	}
	return &port{link: l, conn: conn}, nil
}

func (p *port) send(frame []byte) error {
	if _, err := p.conn.WriteTo(frame, &packet.Addr{HardwareAddr: net.HardwareAddr(frame[:hwLen])}); err != nil {
		return fmt.Errorf("send ARP on %s: %w", p.name, err)
	}
	return nil
}

// announce sends both forms of gratuitous ARP for addr.
func (p *port) announce(addr netip.Addr) error {
	for _, op := range []arp.Operation{arp.OperationRequest, arp.OperationReply} {
		frame, err := gratuitous(op, addr, p.mac)
		if err != nil {
			return err
		}
		if err := p.send(frame); err != nil {
			return err
		}
	}
	return nil
}

// receive answers requests until the port is closed or its interface goes away.
// It tells of claims of others for addresses that are announced here.
func (p *port) receive(a *Announcer) error {
	buf := make([]byte, maxFrames)
	for {
		n, _, err := p.conn.ReadFrom(buf)
		if err != nil {
			return fmt.Errorf("receive ARP on %s: %w", p.name, err)
		}
		g, err := look(buf[:n])
		if err != nil {
			continue
		}
		claims := *a.claims.Load()
		if own, ours := claims[g.senderIP]; ours && own.on(p.name) && g.sender != p.mac {
			a.conflict(g.senderIP, g.sender, p.name)
		}
		own, ours := claims[g.targetIP]
		if !ours || !own.on(p.name) || g.op != arp.OperationRequest || g.sender == p.mac ||
			g.senderIP == g.targetIP || g.to != broadcast() && g.to != p.mac {
			continue
		}
		a.opts.Metrics.request(g.targetIP)
		frame, err := reply(buf[:n], p.mac)
		if err != nil {
			continue
		}
		if err := p.send(frame); err != nil {
			a.log.Debug("reply", "error", err)
			continue
		}
		a.opts.Metrics.response(g.targetIP)
	}
}
