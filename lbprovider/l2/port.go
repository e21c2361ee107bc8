package l2

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/mdlayher/arp"
)

// protocol is how addresses of one family are asked for and announced.
type protocol struct {
	name   string
	parse  func(frame []byte, own mac) (claim, error)
	answer func(buf []byte, own mac, c claim) []byte
}

func protocols() (arp, ndp protocol) {
	return protocol{"ARP", parseARP, answerARP}, protocol{"NDP", parseNDP, answerNDP}
}

// port is an open link. Frames can be sent from any goroutine; one goroutine per
// socket receives.
type port struct {
	link
	arp, ndp socket // ndp is not open on a link without IPv6
	groups   *groups
}

func openPort(l link) (*port, error) {
	p := &port{link: l, groups: newGroups(l.index)}
	filter, err := filterARP()
	if err != nil {
		return nil, fmt.Errorf("assemble ARP filter: %w", err)
	}
	if p.arp, err = openSocket(l, etherTypeARP, filter); err != nil {
		return nil, fmt.Errorf("ARP on %s: %w", l.name, err)
	}
	if !l.v6 {
		return p, nil
	}
	if filter, err = filterNDP(); err == nil {
		p.ndp, err = openSocket(l, etherTypeIPv6, filter)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("NDP on %s: %w", l.name, err), p.close())
	}
	return p, nil
}

func (p *port) close() error {
	err := p.arp.close()
	if p.ndp.isOpen() {
		err = errors.Join(err, p.ndp.close())
	}
	p.groups.close()
	if err != nil {
		return fmt.Errorf("close %s: %w", p.name, err)
	}
	return nil
}

// join makes the link a member of the groups in which the claimed addresses are
// asked for.
func (p *port) join(claims map[netip.Addr]Claim) error {
	if !p.v6 {
		return nil
	}
	wanted := map[netip.Addr]bool{}
	for addr, c := range claims {
		if addr.Is6() && c.on(p.name) {
			wanted[solicitedNode(addr)] = true
		}
	}
	return p.groups.set(wanted)
}

// announce sends to all hosts that addr is here, and says whether it could. For IPv4
// both forms of gratuitous ARP go out: some systems learn from requests only, and
// some from replies only.
func (p *port) announce(addr netip.Addr) (bool, error) {
	buf := make([]byte, 0, maxFrame)
	if addr.Is6() {
		if !p.v6 {
			return false, nil
		}
		if err := p.ndp.write(unsolicited(buf, p.mac, addr)); err != nil {
			return false, fmt.Errorf("send advertisement on %s: %w", p.name, err)
		}
		return true, nil
	}
	for _, op := range []arp.Operation{arp.OperationRequest, arp.OperationReply} {
		frame, err := appendARP(buf[:0], op, p.mac, addr, broadcast(), addr)
		if err == nil {
			err = p.arp.write(frame)
		}
		if err != nil {
			return false, fmt.Errorf("send ARP on %s: %w", p.name, err)
		}
	}
	return true, nil
}

// receive answers what comes by a socket until the port is closed or its
// interface goes away. It reports claims of other hosts for addresses announced here.
func (p *port) receive(a *Announcer, s socket, by protocol) error {
	buf, out, limit := make([]byte, maxFrame), make([]byte, 0, maxFrame), newLimiter()
	read := s.reader(buf)
	for {
		n, err := read()
		if err != nil {
			return fmt.Errorf("receive %s on %s: %w", by.name, p.name, err)
		}
		frame := p.react(a, buf[:n], out, by, limit)
		if frame == nil {
			continue
		}
		if err := s.write(frame); err != nil {
			a.log.Debug("answer", "protocol", by.name, "interface", p.name, "err", err)
		}
	}
}

// react returns the answer to a frame, in out; nil if it deserves none.
func (p *port) react(a *Announcer, frame, out []byte, by protocol, limit *limiter) []byte {
	c, err := by.parse(frame, p.mac)
	if err != nil {
		return nil
	}
	claims := *a.claims.Load()
	if c.claimed.IsValid() && !a.ours(c.claimedMAC) {
		if own, announced := claims[c.claimed]; announced && own.on(p.name) {
			a.conflict(c.claimed, c.claimedMAC, p.name)
		}
	}
	if !c.asks || a.ours(c.askerMAC) {
		return nil
	}
	own, announced := claims[c.target]
	if !announced || !own.on(p.name) {
		return nil
	}
	own.counts.requests.Add(1)
	if !limit.allow(c.askerMAC, c.target, time.Now().Unix()) {
		return nil
	}
	own.counts.responses.Add(1)
	return by.answer(out[:0], p.mac, c)
}
