package peers

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fairlead/fairlead/router/share"
)

// Bounds.
const (
	mostConnections = 256
	// mostUnsent is how many messages wait to be written to one peer.
	mostUnsent    = 2048
	handshakeTime = 2 * time.Second
	writeTime     = time.Second
	// silence ends a connection: members ask several times in a second.
	silence    = 5 * time.Second
	redialTime = 100 * time.Millisecond
	bindTime   = 100 * time.Millisecond
	// idleTick is how often the node is looked at while no request waits, but tokens are lent.
	idleTick = 20 * time.Millisecond
	// farewellTime is how long a member that ends waits for its last messages.
	farewellTime = 200 * time.Millisecond
)

// Config is what a member has to know.
type Config struct {
	// Self is the address, with the port, at which the others reach this member, and
	// Members are those of all.
	Self         string
	Members      []string
	Certificates *Certificates
}

// Member is this process as one of the members. It is safe for concurrent use. The zero
// value is not usable: see New.
type Member struct {
	log     *slog.Logger
	maxKeys int
	began   time.Time
	// wake is for the first request that waits.
	wake chan struct{}

	mu       sync.Mutex
	node     *share.Node
	config   Config
	links    map[string]*link
	inbound  map[origin]*link
	waiting  map[uint64]chan share.Verdict
	ticket   uint64
	listener net.Listener
	conns    map[net.Conn]struct{}
	end      context.CancelFunc
	running  sync.WaitGroup
	// process is that of the node. ends are told before the first connection.
	process uint64
	ends    Ends
	// answers answers calls of others, and calls has one element for each that is under way.
	answers func(context.Context, []byte) []byte
	calls   chan struct{}
	leaving bool
}

// origin names a process that asks.
type origin struct {
	id      string
	process uint64
}

// New returns a member that refuses everything until it is told of others.
func New(log *slog.Logger, maxKeys int) *Member {
	return &Member{log: log, maxKeys: maxKeys, began: time.Now(), wake: make(chan struct{}, 1), waiting: map[uint64]chan share.Verdict{}, calls: make(chan struct{}, mostCalls)}
}

func (m *Member) now() time.Duration { return time.Since(m.began) }

// Set takes the members in. Another address of its own makes this member a new one; without
// one it stops.
func (m *Member) Set(c Config) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Self != m.config.Self {
		m.stop()
		if c.Self != "" {
			m.start(c)
		}
		return
	}
	m.config.Certificates = c.Certificates // for the next connections
	if !slices.Equal(c.Members, m.config.Members) {
		m.config.Members = c.Members
		m.join()
	}
}

// Close stops the member. Its address is free from then on. The others are told, so that
// they need not find out.
func (m *Member) Close() {
	m.mu.Lock()
	if m.node != nil {
		m.node.Leave(m.now())
		m.linger(farewellTime, m.unsent)
		m.leaving = true
		m.linger(lastCalls, func() bool { return len(m.calls) > 0 })
	}
	m.stop()
	m.mu.Unlock()
	m.running.Wait()
}

// linger waits as long as something goes on, for a time at most. The caller holds mu, others get it meanwhile.
func (m *Member) linger(most time.Duration, goesOn func() bool) {
	for end := time.Now().Add(most); goesOn() && time.Now().Before(end); {
		m.mu.Unlock()
		<-time.After(farewellTime / 20)
		m.mu.Lock()
	}
}

// unsent reports whether messages wait to be written, or may be on their way.
func (m *Member) unsent() bool {
	for _, l := range m.links {
		if len(l.out) > 0 {
			return true
		}
	}
	return false
}

func (m *Member) stop() {
	if m.end != nil {
		m.end()
	}
	if m.node = nil; m.listener != nil {
		_ = m.listener.Close()
		m.listener = nil
	}
	for _, l := range m.links {
		l.end()
	}
	for c := range m.conns {
		_ = c.Close()
	}
	for _, wait := range m.waiting {
		wait <- share.Verdict{Reason: share.NoOwner, Wait: time.Second}
	}
	clear(m.waiting)
	m.links, m.inbound, m.conns, m.config, m.end = nil, nil, nil, Config{}, nil
}

func (m *Member) start(c Config) {
	ctx, cancel := context.WithCancel(context.Background())
	m.config, m.end = c, cancel
	m.links, m.inbound, m.conns = map[string]*link{}, map[origin]*link{}, map[net.Conn]struct{}{}
	m.running.Go(func() { m.run(ctx, c.Self) })
}

// run has the address, and while it has it, it is the only process that is the member.
func (m *Member) run(ctx context.Context, self string) {
	_, port, err := net.SplitHostPort(self)
	if err != nil {
		m.log.Error("shared limits: the address of this router cannot be used", "address", self, "err", err)
		return
	}
	at := self // the port of all addresses where a pod has one of its own
	if host, _, _ := net.SplitHostPort(self); !net.ParseIP(host).IsLoopback() {
		at = ":" + port
	}
	var l net.Listener
	for complained := false; ; {
		var lc net.ListenConfig
		if l, err = lc.Listen(ctx, "tcp", at); err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		if !complained {
			m.log.Error("shared limits: cannot listen for other routers; requests with shared limits are refused", "address", at, "err", err)
			complained = true
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(bindTime):
		}
	}
	if !m.become(ctx, self, l) {
		_ = l.Close()
		return
	}
	m.running.Go(func() { m.accept(ctx, l) })
	m.tick(ctx)
}

// become begins to be the member.
func (m *Member) become(ctx context.Context, self string, l net.Listener) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	var process [8]byte
	_, _ = rand.Read(process[:]) // it never fails
	m.listener, m.process = l, binary.BigEndian.Uint64(process[:])
	m.node = share.New(share.Options{
		ID: self, Process: m.process, MaxKeys: m.maxKeys, Send: m.send, Answer: m.answer,
	}, m.now())
	m.join()
	return true
}

// join tells the node of the members, and keeps a connection to each.
func (m *Member) join() {
	if m.node == nil {
		return
	}
	for id, l := range m.links {
		if !slices.Contains(m.config.Members, id) {
			l.end()
			delete(m.links, id)
		}
	}
	for _, id := range m.config.Members {
		if id != m.config.Self && m.links[id] == nil {
			ctx, cancel := context.WithCancel(context.Background())
			l := &link{out: make(chan *share.Message, mostUnsent), end: cancel}
			m.links[id] = l
			m.running.Go(func() { m.dial(ctx, id, l) })
		}
	}
	m.node.Members(m.now(), m.config.Members)
}

// tick has the node do what is due: soon while requests wait, and no sooner than needed while
// nothing is counted. Processes that wake for nothing take time from those beside them.
func (m *Member) tick(ctx context.Context) {
	t := time.NewTimer(idleTick)
	defer t.Stop()
	for {
		pause := idleTick
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
			pause = share.Tick
		case <-t.C:
			m.mu.Lock()
			if m.node == nil {
				m.mu.Unlock()
				return
			}
			now := m.now()
			m.node.Tick(now)
			if pause = m.node.Idle(now); len(m.waiting) > 0 {
				pause = share.Tick
			} else if pause == 0 {
				pause = idleTick
			}
			m.mu.Unlock()
		}
		t.Reset(pause)
	}
}

// Take decides about a request with a key.
func (m *Member) Take(ctx context.Context, k share.Key, l share.Limit) share.Verdict {
	m.mu.Lock()
	if m.node == nil {
		m.mu.Unlock()
		return share.Verdict{Reason: share.NoOwner, Wait: time.Second}
	}
	m.ticket++
	ticket := m.ticket
	v, waits := m.node.Take(m.now(), k, l, ticket)
	if !waits {
		m.mu.Unlock()
		return v
	}
	wait := make(chan share.Verdict, 1)
	if m.waiting[ticket] = wait; len(m.waiting) == 1 {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
	m.mu.Unlock()
	select {
	case v := <-wait:
		return v
	case <-ctx.Done():
		return share.Verdict{Reason: share.Late, Wait: time.Second}
	}
}

// Counts returns what was counted.
func (m *Member) Counts() share.Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node == nil {
		return share.Counts{}
	}
	return m.node.Counts()
}

// answer is called by the node, under the lock.
func (m *Member) answer(ticket uint64, v share.Verdict) {
	if wait := m.waiting[ticket]; wait != nil {
		wait <- v
		delete(m.waiting, ticket)
	}
}

// send is called by the node, under the lock.
func (m *Member) send(to string, msg *share.Message) {
	l := m.links[to]
	if msg.Kind == share.Reply || msg.Kind == share.Give {
		l = m.inbound[origin{to, msg.Process}]
	}
	if l == nil {
		return
	}
	select {
	case l.out <- msg:
	default: // lost
	}
}

// receive hands the node what came on a connection.
func (m *Member) receive(from string, msg *share.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.node != nil {
		m.node.Receive(m.now(), from, msg)
	}
}

func (m *Member) tlsConfig() *tls.Config {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.config.Certificates == nil {
		return nil
	}
	return m.config.Certificates.tls()
}

// open notes a connection, unless there are too many or the member has stopped.
func (m *Member) open(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conns == nil || len(m.conns) >= mostConnections {
		return false
	}
	m.conns[c] = struct{}{}
	return true
}

func (m *Member) closed(c net.Conn) {
	_ = c.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.conns, c)
}

// read hands on what comes on a connection until it ends.
func (m *Member) read(c net.Conn, in *bufio.Reader, each func(*share.Message) bool) error {
	for {
		_ = c.SetReadDeadline(time.Now().Add(silence))
		msg, err := readFrame(in)
		if err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
		if !each(msg) {
			return errFrame
		}
	}
}
