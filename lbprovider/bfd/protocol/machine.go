package protocol

import "time"

// SlowTx is how far apart packets are at least while a session is not Up
// (RFC 5880 section 6.8.3).
const SlowTx = time.Second

// Config is what one end wants of a session.
type Config struct {
	// DesiredMinTx and RequiredMinRx are the shortest intervals at which this
	// end wants to send and is able to receive.
	DesiredMinTx, RequiredMinRx time.Duration
	// DetectMult is how many packets in a row the peer may miss.
	DetectMult uint8
	// Passive ends send nothing until the peer has sent something.
	Passive bool
}

// Output is what is to be done after an event.
type Output struct {
	// Send says that Packet goes out now.
	Send   bool
	Packet Packet
	// Changed says that State is another than before.
	Changed bool
}

// remote is what the last packet said of the peer.
type remote struct {
	state        State
	diag         Diag
	disc         uint32
	mult         uint8
	minTx, minRx time.Duration
	demand       bool
}

// Machine is one end of a session. It knows the time only by its arguments.
type Machine struct {
	cfg    Config
	local  uint32
	random func() float64

	state  State
	diag   Diag
	remote remote

	// pace and expect are the parts of cfg by which packets go out and are
	// awaited. After a change they follow when the peer has confirmed it, where
	// following at once could make one end miss the other (section 6.8.3).
	pace, expect time.Duration
	polling      bool
	pollAgain    bool

	lastTx, lastRx time.Time
	// jitter is the part of the interval after which the next packet follows lastTx.
	jitter float64
}

// NewMachine returns a session in state Down. The discriminator local must be
// unique on this system and not 0; random returns numbers in [0,1).
func NewMachine(local uint32, cfg Config, random func() float64) *Machine {
	m := &Machine{cfg: cfg, local: local, random: random, state: Down, pace: cfg.DesiredMinTx, expect: cfg.RequiredMinRx}
	m.forget()
	return m
}

// forget makes the peer unknown. RFC 5880 section 6.8.1 starts with 1 µs.
func (m *Machine) forget() {
	m.remote.disc, m.remote.demand, m.remote.minRx = 0, false, time.Microsecond
}

// State returns the state of this end.
func (m *Machine) State() State { return m.state }

// Diag returns why this end left Up for the last time.
func (m *Machine) Diag() Diag { return m.diag }

// Remote returns what the last packet said about the peer.
func (m *Machine) Remote() (State, Diag) { return m.remote.state, m.remote.diag }

// Peer returns the peer's discriminator, 0 while it is unknown.
func (m *Machine) Peer() uint32 { return m.remote.disc }

// TxInterval returns the interval at which packets go out, before jitter.
func (m *Machine) TxInterval() time.Duration {
	own := m.pace
	if m.state != Up {
		own = max(own, SlowTx)
	}
	return max(own, m.remote.minRx)
}

// DetectionTime returns after how long without a packet the peer is taken for
// dead; 0 while nothing was received from it.
func (m *Machine) DetectionTime() time.Duration {
	return time.Duration(m.remote.mult) * max(m.expect, m.remote.minTx)
}

// Due returns when Tick has something to do; false means never.
func (m *Machine) Due() (at time.Time, ever bool) {
	send, sends := m.nextTx()
	expire, expires := m.expiry()
	if !sends || expires && expire.Before(send) {
		return expire, expires
	}
	return send, sends
}

// expiry returns when the peer will be taken for dead if it stays silent; false
// if it is not known anyway.
func (m *Machine) expiry() (at time.Time, ever bool) {
	if m.remote.disc == 0 || m.state == AdminDown {
		return time.Time{}, false
	}
	return m.lastRx.Add(m.DetectionTime()), true
}

// Late says whether the peer's time is over at now, and since when.
func (m *Machine) Late(now time.Time) (since time.Duration, expired bool) {
	at, ever := m.expiry()
	return now.Sub(at), ever && !at.After(now)
}

// nextTx returns when the next periodic packet goes out, by section 6.8.7.
func (m *Machine) nextTx() (at time.Time, ever bool) {
	bothUp := m.state == Up && m.remote.state == Up
	switch {
	case m.cfg.Passive && m.remote.disc == 0,
		m.remote.minRx == 0,
		m.remote.demand && bothUp && !m.polling:
		return time.Time{}, false
	}
	return m.lastTx.Add(time.Duration(m.jitter * float64(m.TxInterval()))), true
}

// Start sends the first packet, unless the end is passive.
func (m *Machine) Start(now time.Time) Output {
	if m.cfg.Passive {
		return Output{}
	}
	return Output{Send: true, Packet: m.packet(now)}
}

// Receive handles a packet that was demultiplexed to this session.
func (m *Machine) Receive(now time.Time, p Packet) Output {
	m.remote = remote{
		state: p.State, diag: p.Diag, disc: p.My, mult: p.DetectMult,
		minTx: p.DesiredMinTx, minRx: p.RequiredMinRx, demand: p.Demand,
	}
	if p.Final && m.polling {
		m.confirmed()
	}
	if m.state == AdminDown {
		return Output{}
	}
	m.lastRx = now
	before := m.state
	m.follow(p.State)
	out := Output{Changed: m.state != before}
	// A change is sent at once, and so is the answer to a poll.
	if out.Send = out.Changed || p.Poll; out.Send {
		out.Packet = m.packet(now)
		if p.Poll {
			out.Packet.Poll, out.Packet.Final = false, true
		}
	}
	return out
}

// follow is the table of section 6.2.
func (m *Machine) follow(peer State) {
	switch {
	case peer == AdminDown:
		if m.state != Down {
			m.enter(Down, NeighborDown)
		}
	case m.state == Down && peer == Down:
		m.enter(Init, m.diag)
	case m.state == Down && peer == Init, m.state == Init && peer != Down:
		m.enter(Up, NoDiag)
	case m.state == Up && peer == Down:
		m.enter(Down, NeighborDown)
	}
}

func (m *Machine) enter(s State, why Diag) {
	m.state, m.diag = s, why
	m.pace, m.expect = m.cfg.DesiredMinTx, m.cfg.RequiredMinRx
	// The interval just became shorter, which the peer must confirm. In other
	// states every packet carries all that counts.
	m.polling, m.pollAgain = s == Up, false
}

// confirmed ends a poll sequence.
func (m *Machine) confirmed() {
	if m.pollAgain {
		m.pollAgain = false // what the peer confirmed is not the latest
		return
	}
	m.polling = false
	m.pace, m.expect = m.cfg.DesiredMinTx, m.cfg.RequiredMinRx
}

// Tick does what is due at now.
func (m *Machine) Tick(now time.Time) Output {
	var out Output
	if at, ever := m.expiry(); ever && !at.After(now) {
		if m.state != Down {
			m.enter(Down, DetectionExpired)
			out = Output{Send: true, Packet: m.packet(now), Changed: true}
		}
		m.forget()
		return out
	}
	if at, ever := m.nextTx(); ever && !at.After(now) {
		out = Output{Send: true, Packet: m.packet(now)}
	}
	return out
}

// Set changes what this end wants. A session that is Up stays Up.
func (m *Machine) Set(now time.Time, cfg Config) Output {
	old := m.cfg
	m.cfg = cfg
	if m.state != Up {
		m.pace, m.expect = cfg.DesiredMinTx, cfg.RequiredMinRx
		return Output{}
	}
	if cfg.DesiredMinTx == old.DesiredMinTx && cfg.RequiredMinRx == old.RequiredMinRx && cfg.DetectMult == old.DetectMult {
		return Output{}
	}
	m.pace, m.expect = min(m.pace, cfg.DesiredMinTx), max(m.expect, cfg.RequiredMinRx)
	m.pollAgain = m.polling
	m.polling = true
	return Output{Send: true, Packet: m.packet(now)}
}

// Disable makes the session administratively down. Packets go on to say so until
// the caller drops the machine.
func (m *Machine) Disable(now time.Time) Output {
	if m.state == AdminDown {
		return Output{}
	}
	m.enter(AdminDown, AdminDownDiag)
	silent := m.cfg.Passive && m.remote.disc == 0
	return Output{Send: !silent, Packet: m.packet(now), Changed: true}
}

// packet returns what is to be said now, and notes that it was.
func (m *Machine) packet(now time.Time) Packet {
	m.lastTx = now
	// Section 6.8.7: 75 to 100 % of the interval, and at most 90 % where a
	// single packet that is late would end the session.
	m.jitter = 1 - 0.25*m.random()
	if m.cfg.DetectMult == 1 {
		m.jitter = 0.9 - 0.15*m.random()
	}
	tx := m.cfg.DesiredMinTx
	if m.state != Up {
		tx = max(tx, SlowTx)
	}
	return Packet{
		State: m.state, Diag: m.diag, Poll: m.polling, DetectMult: m.cfg.DetectMult, My: m.local, Your: m.remote.disc,
		DesiredMinTx: tx, RequiredMinRx: m.cfg.RequiredMinRx,
	}
}
