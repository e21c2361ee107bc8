package process_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/fairlead/fairlead/lbprovider/bgp"
	"github.com/fairlead/fairlead/lbprovider/bgp/engine"
	"github.com/fairlead/fairlead/lbprovider/bgp/process"
	"github.com/fairlead/fairlead/lbprovider/bgp/sandbox"
	"github.com/fairlead/fairlead/test/wait"
)

// asProcess in the environment makes the test binary a process that holds one
// session; other values than "session" make it a broken one.
const asProcess = "FAIRLEAD_BGP_PROCESS"

// patience is how long anything may take before a test fails.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	how, child := os.LookupEnv(asProcess)
	if !child {
		os.Exit(m.Run())
	}
	switch how {
	case "session":
		if err := confined(); err != nil {
			os.Exit(1)
		}
	case "panics", "lies", "floods", "hangs", "stops":
		broken(how)
	default:
		takenOver(how)
	}
}

// confined holds a session as speaker-bgp does.
func confined() error {
	if err := sandbox.Enter(sandbox.Limits{Data: 128 << 20, Files: 64}); err != nil {
		return err
	}
	return engine.Serve(os.Stdin, os.Stdout, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
}

// The types of messages, and the values that both ends use.
const (
	typeOpen = iota + 1
	typeUpdate
	typeNotification
	typeKeepalive
	typeRefresh

	speakerAS = 64512
	routerAS  = 64500
)

// message returns one with a header that is right.
func message(kind byte, body []byte) []byte { return framed(19+len(body), kind, body) }

// framed returns one that says that it has the given length.
func framed(length int, kind byte, body []byte) []byte {
	out := bytes.Repeat([]byte{0xff}, 16)
	out = binary.BigEndian.AppendUint16(out, uint16(length))
	return append(append(out, kind), body...)
}

// openBody returns an OPEN with these capabilities, each a TLV.
func openBody(capabilities ...[]byte) []byte {
	all := bytes.Join(capabilities, nil)
	body := binary.BigEndian.AppendUint16([]byte{4}, routerAS)
	body = binary.BigEndian.AppendUint16(body, 90)
	body = append(body, 198, 18, 0, 1)
	if len(all) == 0 {
		return append(body, 0)
	}
	return append(append(body, byte(len(all)+2), 2, byte(len(all))), all...)
}

// goodOpen is what a router says first.
func goodOpen() []byte {
	return message(typeOpen, openBody([]byte{1, 4, 0, 1, 0, 1}, []byte{2, 0}, []byte{65, 4, 0, 0, routerAS >> 8, routerAS & 0xff}))
}

// updateBody returns an UPDATE of these parts.
func updateBody(withdrawn, attributes, prefixes []byte) []byte {
	out := binary.BigEndian.AppendUint16(nil, uint16(len(withdrawn)))
	out = append(out, withdrawn...)
	out = binary.BigEndian.AppendUint16(out, uint16(len(attributes)))
	return append(append(out, attributes...), prefixes...)
}

// attribute returns one that is as long as it says.
func attribute(flags, code byte, value ...byte) []byte {
	if flags&0x10 != 0 {
		return append([]byte{flags, code, byte(len(value) >> 8), byte(len(value))}, value...)
	}
	return append([]byte{flags, code, byte(len(value))}, value...)
}

// usual are the attributes without which there is no route.
func usual() []byte {
	return bytes.Join([][]byte{
		attribute(0x40, 1, 0), attribute(0x40, 2, 2, 1, 0, 0, routerAS>>8, routerAS&0xff), attribute(0x40, 3, 198, 18, 0, 1),
	}, nil)
}

// router is the other end of a session, on this machine.
type router struct {
	listener net.Listener

	mu sync.Mutex
	// attack says something instead of behaving, once.
	attack *attack
	// done is closed when the connection with the attack is over.
	done chan struct{}
	// accepted is how many connections there were.
	accepted int
}

func newRouter(t testing.TB) *router {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &router{listener: l, done: make(chan struct{})}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go r.talk(conn)
		}
	}()
	return r
}

func (r *router) peer(name string) bgp.Peer {
	return bgp.Peer{
		Name: name, MyASN: speakerAS, PeerASN: routerAS, Address: netip.MustParseAddr("127.0.0.1"),
		Port: uint16(r.listener.Addr().(*net.TCPAddr).Port), RouterID: netip.MustParseAddr("198.18.0.2"), ConnectTime: time.Second,
	}
}

func (r *router) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

// talk attacks on the first connection, if it is to, and behaves on others.
func (r *router) talk(conn net.Conn) {
	defer conn.Close()
	r.mu.Lock()
	r.accepted++
	a, done := r.attack, r.done
	r.attack = nil
	r.mu.Unlock()
	if a == nil {
		_ = behave(conn, nil) // until the other end closes
		return
	}
	_ = a.run(conn) // whatever becomes of it
	close(done)
}

var errEnough = errors.New("enough")

// behave is a session as it should be. At answers each message that was read.
func behave(conn net.Conn, at func(kind byte) error) error {
	for {
		kind, err := readMessage(conn)
		if err != nil {
			return err
		}
		if at != nil {
			if err := at(kind); err != nil {
				return err
			}
		}
		var answer []byte
		switch kind {
		case typeOpen:
			answer = append(goodOpen(), message(typeKeepalive, nil)...)
		case typeKeepalive:
			answer = message(typeKeepalive, nil)
		}
		if _, err := conn.Write(answer); err != nil {
			return err
		}
	}
}

func readMessage(conn net.Conn) (kind byte, err error) {
	header := make([]byte, 19)
	if _, err := io.ReadFull(conn, header); err != nil {
		return 0, err
	}
	_, err = io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint16(header[16:18]))-19)
	return header[18], err
}

// node is a speaker's part that talks to routers.
type node struct {
	*process.Host
	t       testing.TB
	changed chan struct{}

	mu       sync.Mutex
	sessions map[string]bgp.Session
}

func newNode(t testing.TB, how string) *node { return newLoggingNode(t, how, io.Discard) }

func newLoggingNode(t testing.TB, how string, output io.Writer) *node {
	t.Helper()
	n := &node{t: t, changed: make(chan struct{}, 1), sessions: map[string]bgp.Session{}}
	n.Host = process.New(process.Options{
		Program: "/proc/self/exe", Env: []string{asProcess + "=" + how}, Now: time.Now, Changed: func() {},
		Output: output, Log: slog.New(slog.NewJSONHandler(output, nil)),
	})
	t.Cleanup(func() { n.Close(true, 10*time.Second) })
	return n
}

// add adds a session, or replaces it.
func (n *node) add(s bgp.Session) { n.edit(func() { n.sessions[s.Peer.Name] = s }) }

func (n *node) remove(name string) { n.edit(func() { delete(n.sessions, name) }) }

func (n *node) edit(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	var all []bgp.Session
	for _, s := range n.sessions {
		all = append(all, s)
	}
	n.Apply(all, nil)
}

func (n *node) status(name string) bgp.Status {
	for _, st := range n.Status() {
		if st.Peer.Name == name {
			return st
		}
	}
	return bgp.Status{}
}

// becomes polls until the session is as wanted.
func (n *node) becomes(name, what string, want func(bgp.Status) bool) (bgp.Status, error) {
	var st bgp.Status
	err := wait.Poll{Limit: patience}.Until(context.Background(), "session "+name+" is "+what, func() error {
		if st = n.status(name); !want(st) {
			return fmt.Errorf("%+v", st)
		}
		return nil
	})
	return st, err
}

// up waits until the session is established.
func (n *node) up(name string) bgp.Status {
	n.t.Helper()
	st, err := n.becomes(name, "up", bgp.Status.Up)
	if err != nil {
		n.t.Fatal(err)
	}
	return st
}
